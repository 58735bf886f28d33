package actors

import (
	"runtime"
	"strings"
	"testing"

	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
)

// TestImportedContentsReachOtherServers imports contents on the server that leads, in entries of
// contents alone, and finds them on the other one, and on one that reads the log when it starts.
func TestImportedContentsReachOtherServers(t *testing.T) {
	g := newGroup(t, 2)
	g.atOnce = true
	for _, n := range g.nodes {
		n.config.SharedJournal, n.e.config.SharedJournal = true, true
	}
	leader, other := g.nodes[0], g.nodes[1]
	g.elect(leader)
	g.deliverAll()
	owner := id.New(1, [10]byte{9})
	large, small := strings.Repeat("large ", sharedEntryBytes/6), strings.Repeat("small ", 90)
	running := beginImport(t, leader.e, beginUpload(t, leader.e, owner, "text"))
	if err := running.Store(blobOf(large).Hash, []byte(large)); err != nil {
		t.Fatal(err)
	}
	store(t, running, small)
	if entries := len(g.agreed) - 1; entries != 2 {
		t.Errorf("%d entries", entries)
	}
	running.End(nil)
	again := other.config
	again.Dir = t.TempDir()
	for what, one := range map[string]*Engine{
		"leader": leader.e, "other": other.e, "started": start(t, again),
	} {
		for _, content := range []string{large, small} {
			got, err := one.Blob(blobOf(content).Hash)
			if err != nil || string(got) != content {
				t.Errorf("%s: a content of %d bytes: %d, %v", what, len(content), len(got), err)
			}
		}
	}
	leader.depose()
	running = beginImport(t, leader.e, beginUpload(t, leader.e, owner, "text"))
	err := running.Store(blobOf("other").Hash, []byte("other"))
	if err == nil {
		err = running.Commit()
	}
	if fault.CodeOf(err) != fault.StorageUnavailable {
		t.Errorf("without a reign: %v", err)
	}
	running.End(err)
}

// TestSessionsAreSeenByTheLeader uses a session at a server that does not lead.
func TestSessionsAreSeenByTheLeader(t *testing.T) {
	g := newGroup(t, 2)
	seen := make(chan identity.Caller, 1)
	other := g.nodes[1].e
	other.config.SeeSession = func(caller identity.Caller) { seen <- caller }
	want := identity.Caller{Agent: id.New(1, [10]byte{1}), Session: id.New(1, [10]byte{2})}
	for range 2 {
		other.SeeSession(&identity.Session{ID: want.Session, AgentID: want.Agent})
		if got := <-seen; got != want {
			t.Errorf("%v", got)
		}
		for {
			if _, underWay := other.identity.seeing.Load(want.Session); !underWay {
				break
			}
			runtime.Gosched()
		}
	}
}
