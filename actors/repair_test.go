package actors

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"pws/blobs"
	"pws/internal/fault"
	"pws/work"
)

// repairGroup is a group of three servers. A content is damaged on one of them, which asks the
// others for contents.
type repairGroup struct {
	*damagedGroup
	content string
	hash    work.Hash
	damaged int
	// ask is what the server asks, which its loop does, too.
	ask atomic.Pointer[asking]
}

type asking struct {
	of func(hash []byte) ([]byte, error)
}

// newRepairGroup damages a content on a server, which has not met that yet.
func newRepairGroup(t *testing.T, damaged int) *repairGroup {
	t.Helper()
	g := &repairGroup{
		damagedGroup: newDamagedGroup(t, 2), content: "content of " + markOf(0), damaged: damaged,
	}
	g.hash = blobOf(g.content).Hash
	n := g.nodes[damaged]
	n.config.AskContent = func(_ context.Context, hash []byte) ([]byte, error) {
		return g.ask.Load().of(hash)
	}
	g.ask.Store(&asking{func(hash []byte) ([]byte, error) {
		var failed error
		for other, one := range g.nodes {
			if other == damaged {
				continue
			}
			content, err := one.e.ContentOf(hash)
			if err == nil {
				return bytes.Clone(content), nil
			}
			failed = errors.Join(failed, err)
		}
		return nil, failed
	}})
	if err := n.e.Save(); err != nil {
		t.Fatal(err)
	}
	g.restart(damaged, func() { flipContent(t, filepath.Join(n.config.Dir, "blobs"), g.content) })
	return g
}

func (g *repairGroup) e() *Engine { return g.nodes[g.damaged].e }

// meet reads the content, which is damaged.
func (g *repairGroup) meet() {
	g.t.Helper()
	if _, err := g.e().Blob(g.hash); fault.CodeOf(err) != fault.BlobCorrupt {
		g.t.Fatal(err)
	}
}

// TestContentIsRepairedByOthers reads a damaged content: the server gets it from another one, and
// has it AFTER its next start, too. A follower does, and so does the server that leads.
func TestContentIsRepairedByOthers(t *testing.T) {
	for _, server := range []int{1, 0} {
		g := newRepairGroup(t, server)
		g.lead(0)
		g.meet()
		if err := g.e().repairContents(); err != nil {
			t.Error(err)
		}
		for range 2 {
			if !g.has(server, 0, "a.txt") || g.e().Damaged() != 0 {
				t.Errorf("server %d: the content is still damaged", server)
			}
			if err := g.e().Save(); err != nil {
				t.Error(err)
			}
			g.restart(server, func() {})
		}
	}
}

// TestEntryLeavesOutWhatIsDamaged follows an entry that leaves out a content, which the leader has.
func TestEntryLeavesOutWhatIsDamaged(t *testing.T) {
	g := newRepairGroup(t, 1)
	g.meet()
	for _, text := range []string{"other", g.content} {
		mustPut(t, g.nodes[0].e, g.projects[0], g.owner, "a.txt", text)
	}
	if err := g.e().repairContents(); err != nil {
		t.Error(err)
	}
	if !g.has(1, 0, "a.txt") || g.e().Damaged() != 0 {
		t.Error("the content is still damaged")
	}
}

// TestRepairIsChecked has other servers send something else, or nothing. What was purged is neither
// sent nor stored.
func TestRepairIsChecked(t *testing.T) {
	g := newRepairGroup(t, 1)
	others := g.ask.Load()
	for _, want := range []error{errOtherContent, blobs.ErrNotFound} {
		g.ask.Store(&asking{func([]byte) ([]byte, error) {
			if want == errOtherContent {
				return []byte("another"), nil
			}
			return nil, want
		}})
		g.meet()
		if err := g.e().repairContents(); !errors.Is(err, want) {
			t.Errorf("%v: %v", want, err)
		}
		if g.meet(); g.e().Damaged() != 1 {
			t.Errorf("%v: %d are damaged", want, g.e().Damaged())
		}
	}
	for _, n := range []int{0, 2} {
		if _, err := g.nodes[n].e.ContentOf(g.hash[:4]); !errors.Is(err, errHashesCut) {
			t.Errorf("a part of a hash: %v", err)
		}
	}
	if err := g.nodes[0].e.PurgeContent(g.hash, "leaked"); err != nil {
		t.Fatal(err)
	}
	if _, err := g.nodes[0].e.ContentOf(g.hash[:]); !errors.Is(err, blobs.ErrNotFound) {
		t.Errorf("what was purged is sent: %v", err)
	}
	g.ask.Store(&asking{func([]byte) ([]byte, error) { return []byte(g.content), nil }})
	if err := g.e().repairContents(); err != nil {
		t.Error(err)
	}
	if content, err := g.e().Blob(g.hash); err == nil {
		t.Errorf("what was purged is stored: %q", content)
	}
	g.ask.Store(others)
}
