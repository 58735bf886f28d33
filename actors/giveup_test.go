package actors

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pws/api"
	"pws/blobs"
	"pws/internal/datadir"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/journal"
)

// giveUpGroup is a group of three servers, of which the first one leads. The others ask the one
// that leads to give contents up.
type giveUpGroup struct {
	*damagedGroup
	kept, alone string
	record      api.UploadRecord
}

// newGiveUpGroup has an import fail that has shared two contents, one of which a project has.
func newGiveUpGroup(t *testing.T) *giveUpGroup {
	t.Helper()
	g := &giveUpGroup{
		damagedGroup: newDamagedGroup(t, 1),
		kept:         strings.Repeat("kept ", 90), alone: strings.Repeat("alone ", 90),
	}
	g.confirms = true
	for _, n := range g.nodes {
		n.config.SharedJournal, n.e.config.SharedJournal = true, true
		n.config.AskGiveUp = func(upload id.ID, hashes []byte) {
			for _, one := range g.nodes {
				if one.reign != 0 {
					if _, err := one.e.GiveUp(upload, hashes); err != nil {
						t.Error(err)
					}
				}
			}
		}
		n.e.config.AskGiveUp = n.config.AskGiveUp
	}
	mustPut(t, g.nodes[0].e, g.projects[0], g.owner, "kept.txt", g.kept)
	g.record = beginUpload(t, g.nodes[0].e, g.owner, "text")
	g.failImport(0)
	return g
}

// failImport shares the contents, and makes no project.
func (g *giveUpGroup) failImport(server int) {
	g.t.Helper()
	running := beginImport(g.t, g.nodes[server].e, g.record)
	if err := running.Store(blobOf(g.kept).Hash, []byte(g.kept)); err != nil {
		g.t.Fatal(err)
	}
	store(g.t, running, g.alone)
	running.End(fault.New(fault.QuotaExceeded, "Full."))
}

// check waits until each server has dropped what was given up.
func (g *giveUpGroup) check(what string, servers ...int) {
	g.t.Helper()
	for _, server := range servers {
		e := g.nodes[server].e
		if err := e.erasing.dropGivenUp(); err != nil {
			g.t.Errorf("%s: server %d: %v", what, server, err)
		}
		if e.holds(g.alone) || !e.holds(g.kept) {
			g.t.Errorf("%s: contents on server %d: %v %v", what, server, e.holds(g.alone), e.holds(g.kept))
		}
	}
}

// TestMembersDropWhatIsGivenUp has an import fail AFTER its contents were shared. All servers drop
// what no project names, also one that finds the entries in its log when it starts, and one that
// has a snapshot behind them and has not dropped yet.
func TestMembersDropWhatIsGivenUp(t *testing.T) {
	g := newGiveUpGroup(t)
	for server, n := range g.nodes {
		if !n.e.holds(g.alone) {
			t.Errorf("server %d does not have the contents", server)
		}
	}
	for _, n := range g.nodes {
		// The loop would drop BEFORE the test looks.
		n.e.erasing.running.Lock()
	}
	g.nodes[0].e.uploading.sweepUploads()
	saveAll(t, g.nodes[2].e)
	copies, firsts := map[int]string{}, map[int]uint64{}
	for _, server := range []int{1, 2} {
		copies[server], firsts[server] = crashCopy(t, g.nodes[server].config.Dir), g.nodes[server].first
	}
	for _, n := range g.nodes {
		n.e.erasing.running.Unlock()
	}
	g.check("live", 0, 1, 2)
	for server, dir := range copies {
		n := g.nodes[server]
		g.restart(server, func() { n.config.Dir, n.first = dir, firsts[server] })
	}
	g.check("started", 1, 2)
	g.restart(1, func() {})
	g.check("started again", 1)
	if err := g.nodes[0].e.DeleteUpload(g.owner, g.record.ID); err != nil {
		t.Error(err)
	}
	if left := g.nodes[0].e.uploading.store.Bytes(); left != 0 {
		t.Errorf("%d bytes are left", left)
	}
}

// TestDeposedServerHasContentsGivenUp has an import fail on a server that does not lead any more.
func TestDeposedServerHasContentsGivenUp(t *testing.T) {
	g := newGiveUpGroup(t)
	g.lead(1)
	for range 2 {
		g.nodes[0].e.uploading.sweepUploads()
	}
	g.check("live", 0, 1, 2)
	if err := g.nodes[0].e.DeleteUpload(g.owner, g.record.ID); err != nil {
		t.Error(err)
	}
	if left := g.nodes[0].e.uploading.store.Bytes(); left != 0 {
		t.Errorf("%d bytes are left", left)
	}
}

// TestSharedAgainIsNotGivenUp shares contents that were given up. They stay on all servers, for the
// project that names them only later, also where a server starts in between.
func TestSharedAgainIsNotGivenUp(t *testing.T) {
	g := newGiveUpGroup(t)
	for _, n := range g.nodes {
		n.e.erasing.running.Lock()
	}
	g.nodes[0].e.uploading.sweepUploads()
	running := beginImport(t, g.nodes[0].e, g.record)
	store(t, running, g.alone)
	for _, n := range g.nodes {
		n.e.erasing.running.Unlock()
	}
	g.restart(2, func() {})
	for _, n := range g.nodes {
		if err := n.e.erasing.dropGivenUp(); err != nil {
			t.Error(err)
		}
	}
	for server, n := range g.nodes {
		if !n.e.holds(g.alone) {
			t.Errorf("server %d has dropped what was shared again", server)
		}
	}
	if done, err := g.nodes[0].e.GiveUp(g.record.ID, nil); done || err != nil {
		t.Errorf("given up during an import: %v, %v", done, err)
	}
}

// TestGiveUpRefusesBadHashesAndKeepsNamedContents gives up what is no list of hashes, and what a
// project names.
func TestGiveUpRefusesBadHashesAndKeepsNamedContents(t *testing.T) {
	g := newGiveUpGroup(t)
	if _, err := g.nodes[0].e.GiveUp(g.record.ID, []byte{1}); err == nil {
		t.Error("half a hash is given up")
	}
	hash := blobOf(g.kept).Hash
	if done, err := g.nodes[0].e.GiveUp(g.record.ID, hash[:]); !done || err != nil {
		t.Errorf("%v, %v", done, err)
	}
	for server, n := range g.nodes {
		err := n.e.erasing.dropGivenUp()
		if err != nil || !n.e.holds(g.kept) || !g.has(server, 0, "kept.txt") {
			t.Errorf("server %d: %v", server, err)
		}
	}
}

// TestSharingOtherContentsLeavesTheNote shares contents that have nothing to do with what was given
// up. The note of that is not written again.
func TestSharingOtherContentsLeavesTheNote(t *testing.T) {
	g := newGiveUpGroup(t)
	running := beginImport(t, g.nodes[0].e, g.record)
	for i := range 30 {
		text := strings.Repeat("text ", i+1)
		if err := running.Store(blobOf(text).Hash, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	store(t, running, g.alone)
	running.End(fault.New(fault.QuotaExceeded, "Full."))
	for _, n := range g.nodes {
		// The loop would drop BEFORE the test looks.
		n.e.erasing.running.Lock()
		defer n.e.erasing.running.Unlock()
	}
	g.nodes[0].e.uploading.sweepUploads()
	written := time.UnixMilli(1_000_000)
	name := func(server int) string {
		return filepath.Join(g.nodes[server].config.Dir, datadir.ErasureName)
	}
	for server := range g.nodes {
		if err := os.Chtimes(name(server), written, written); err != nil {
			t.Fatal(err)
		}
	}
	running = beginImport(t, g.nodes[0].e, beginUpload(t, g.nodes[0].e, g.owner, "text"))
	store(t, running, "unrelated")
	running.End(fault.New(fault.QuotaExceeded, "Full."))
	for server := range g.nodes {
		if info, err := os.Stat(name(server)); err != nil || !info.ModTime().Equal(written) {
			t.Errorf("server %d has written the note again: %v", server, err)
		}
	}
}

// TestGivenUpBesideDamage gives contents up where a project is damaged on a follower. That one
// keeps them and the note without saving a snapshot, and is done with it until its next start.
func TestGivenUpBesideDamage(t *testing.T) {
	g := newGiveUpGroup(t)
	g.damage(2, 0)
	if !g.isDamaged(2, 0) {
		t.Fatal("the project is not damaged")
	}
	for _, n := range g.nodes {
		// The loop would drop BEFORE the test looks.
		n.e.erasing.running.Lock()
	}
	g.nodes[0].e.uploading.sweepUploads()
	for _, n := range g.nodes {
		n.e.erasing.running.Unlock()
	}
	g.check("intact", 0, 1)
	e := g.nodes[2].e
	saved := e.snapshot.Generation()
	if err := e.erasing.dropGivenUp(); err != nil {
		t.Error(err)
	}
	if now := e.snapshot.Generation(); now != saved {
		t.Errorf("generation %d was saved AFTER %d", now, saved)
	}
	noted, _, err := e.erasing.givenUp()
	if err != nil || !noted[blobOf(g.alone).Hash] || !e.holds(g.alone) {
		t.Errorf("noted: %d, stored: %v, %v", len(noted), e.holds(g.alone), err)
	}
	// The project gets intact again.
	flipped := []byte(markOf(0))
	flipped[0] ^= 0x40
	g.restart(2, func() { flipMark(t, g.nodes[2].config.Dir, string(flipped)) })
	g.check("mended", 2)
}

// appendHook is a journal that does something once, BEFORE an entry is appended.
type appendHook struct {
	journal.Journal
	hook atomic.Pointer[func()]
}

func (h *appendHook) Append(
	reign journal.Reign, entry journal.Entry, done journal.Committed,
) error {
	if hook := h.hook.Swap(nil); hook != nil {
		(*hook)()
	}
	return h.Journal.Append(reign, entry, done)
}

// TestImportIsRepeatedDuringDrop repeats an import while what its first attempt has left is being
// dropped. All servers keep all of its contents, which are shared by several entries.
func TestImportIsRepeatedDuringDrop(t *testing.T) {
	g := newGiveUpGroup(t)
	during := new(appendHook)
	g.restart(0, func() {
		c := &g.nodes[0].config
		// No content is found in the cache.
		c.CacheBytes = 1 << 10
		open := c.OpenJournal
		c.OpenJournal = func(o journal.Options) (journal.Journal, *journal.Recovery, error) {
			log, found, err := open(o)
			during.Journal = log
			return during, found, err
		}
	})
	g.lead(0)
	e := g.nodes[0].e
	texts := []string{strings.Repeat("one ", 700_000), strings.Repeat("two ", 700_000)}
	begin := func() api.UploadImport {
		running := beginImport(t, e, g.record)
		for _, text := range texts {
			if err := running.Store(blobOf(text).Hash, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		return running
	}
	running := begin()
	if err := running.Commit(); err != nil {
		t.Fatal(err)
	}
	running.End(fault.New(fault.QuotaExceeded, "Full."))
	for _, n := range g.nodes {
		// The loops would drop BEFORE the import is repeated.
		n.e.erasing.running.Lock()
	}
	e.uploading.sweepUploads()
	running = begin()
	drop := func() {
		e.erasing.running.Unlock()
		if err := e.erasing.dropGivenUp(); err != nil {
			t.Error(err)
		}
	}
	during.hook.Store(&drop)
	if err := running.Commit(); err != nil {
		t.Error(err)
	}
	for server, n := range g.nodes {
		if server > 0 {
			n.e.erasing.running.Unlock()
		}
		if err := n.e.erasing.dropGivenUp(); err != nil {
			t.Error(err)
		}
		for i, text := range texts {
			if !n.e.holds(text) {
				t.Errorf("server %d has dropped content %d", server, i)
			}
		}
	}
	running.End(nil)
}

// TestSharingNeedsContents shares a content that was dropped AFTER it was stored.
func TestSharingNeedsContents(t *testing.T) {
	g := newGiveUpGroup(t)
	err := g.nodes[0].e.shareContents(g.owner, func(yield func(blobs.Hash) bool) {
		yield(blobs.Hash(blobOf("dropped").Hash))
	})
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Code != fault.RateLimited ||
		!strings.Contains(fmt.Sprint(refusal.Details), "CONTENTS_REMOVED") {
		t.Errorf("got %v", err)
	}
}

// TestRestOfANoteIsGivenUpByAnotherEntry gives up a part of what an upload has noted, by an entry
// of another server. The rest is given up by another entry.
func TestRestOfANoteIsGivenUpByAnotherEntry(t *testing.T) {
	g := newGiveUpGroup(t)
	g.lead(1)
	hash := blobOf(g.kept).Hash
	if done, err := g.nodes[1].e.GiveUp(g.record.ID, hash[:]); !done || err != nil {
		t.Fatal(done, err)
	}
	for range 2 {
		g.nodes[0].e.uploading.sweepUploads()
	}
	g.check("part", 0, 1, 2)
	if err := g.nodes[0].e.DeleteUpload(g.owner, g.record.ID); err != nil {
		t.Error(err)
	}
	if left := g.nodes[0].e.uploading.store.Bytes(); left != 0 {
		t.Errorf("%d bytes are left", left)
	}
}

// TestGivenUpInAnotherOrder gives up what an upload has noted by an entry whose hashes are in no
// order.
func TestGivenUpInAnotherOrder(t *testing.T) {
	g := newGiveUpGroup(t)
	g.lead(1)
	one, two := blobOf(g.kept).Hash, blobOf(g.alone).Hash
	g.nodes[0].config.AskGiveUp, g.nodes[0].e.config.AskGiveUp = nil, nil
	for _, hashes := range [][]byte{append(one[:], two[:]...), append(two[:], one[:]...)} {
		if done, err := g.nodes[1].e.GiveUp(g.record.ID, hashes); !done || err != nil {
			t.Fatal(done, err)
		}
		u := g.nodes[0].e.uploading.mu.of[g.record.ID]
		if done, err := g.nodes[0].e.uploading.giveUpNoted(u); !done || err != nil {
			t.Errorf("%v, %v", done, err)
		}
	}
}
