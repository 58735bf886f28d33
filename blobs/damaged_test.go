package blobs

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// damagedStore is a store with a pack in which blobs lie in two blocks, one of them damaged: two
// small blobs, then a large one.
type damagedStore struct {
	t *testing.T
	*Store
	dir          string
	first, other []byte // in the damaged block
	sound        []byte
}

func newDamagedStore(t *testing.T) *damagedStore {
	t.Helper()
	w := &damagedStore{
		t: t, dir: t.TempDir(), first: []byte("damaged one"), other: []byte("damaged two"),
		sound: bytes.Repeat([]byte("sound "), smallBytes),
	}
	w.Store = mustOpen(t, Options{Dir: w.dir})
	for n, content := range [][]byte{w.first, w.other, w.sound} {
		w.Add(uint64(n+1), Sum(content), content)
	}
	mustPack(t, w.Store, 3)
	name := w.list.Load().packs[0].name
	pack, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(pack, w.first)
	if at < 0 {
		t.Fatal("the small blobs are compressed")
	}
	pack[at] ^= 1
	if err := os.WriteFile(name, pack, 0o600); err != nil {
		t.Fatal(err)
	}
	w.again()
	return w
}

// again closes the store and opens it: what is recent is only in the log from then on.
func (w *damagedStore) again() {
	w.t.Helper()
	w.Close()
	w.Store = mustOpen(w.t, Options{Dir: w.dir})
	w.t.Cleanup(func() { w.Close() })
}

func (w *damagedStore) isDamaged(content []byte) {
	w.t.Helper()
	if _, err := w.Get(Sum(content)); !errors.Is(err, ErrCorrupt) {
		w.t.Errorf("%q is read: %v", content, err)
	}
}

// TestDamagedIsStoredAgain adds a blob whose packed copy is damaged. The next pack has it, and it
// is read from there, also where the damaged pack is written again later.
func TestDamagedIsStoredAgain(t *testing.T) {
	w := newDamagedStore(t)
	h := Sum(w.first)
	if !w.Has(h) || w.Damaged(h) {
		t.Error("nothing has met the damage yet")
	}
	w.isDamaged(w.first)
	if w.Has(h) || !w.Damaged(h) {
		t.Error("a read has met the damage")
	}
	if held, err := w.Holds(Sum(w.other)); !held || err != nil {
		t.Error(held, err)
	}
	w.Add(4, h, bytes.Clone(w.first))
	mustGet(t, w.Store, w.first)
	if !w.Has(h) || w.Damaged(h) {
		t.Error("the log has the blob")
	}
	if packed := mustPack(t, w.Store, 4); packed != 1 {
		t.Errorf("%d are packed", packed)
	}
	if !w.Has(h) || w.Damaged(h) {
		t.Error("a pack has the blob")
	}
	w.again()
	mustGet(t, w.Store, w.first)
	w.isDamaged(w.other)
	if err := w.Purge([]Hash{Sum(w.sound)}); err != nil {
		t.Fatal(err)
	}
	w.again()
	mustGet(t, w.Store, w.first)
	w.Close()
	sound := map[Hash]bool{}
	report, err := Verify(w.dir, func(h Hash, _ int64) { sound[h] = true })
	if !errors.Is(err, ErrCorrupt) || len(sound) != 1 || !sound[h] {
		t.Errorf("%+v, %v: %v", report, err, sound)
	}
}

// TestBatchReplacesDamaged writes a damaged blob with a batch.
func TestBatchReplacesDamaged(t *testing.T) {
	w := newDamagedStore(t)
	w.isDamaged(w.first)
	if err := batchOf(t, w.Store, [][]byte{w.first}).Commit(); err != nil {
		t.Fatal(err)
	}
	if h := Sum(w.first); !w.Has(h) || w.Damaged(h) {
		t.Error("a pack has the blob")
	}
	w.again()
	mustGet(t, w.Store, w.first)
}

// TestReplayStoresDamagedAgain starts with a log that has blobs of a damaged block. Those stay for
// the next pack, and what a pack has intact is not written again.
func TestReplayStoresDamagedAgain(t *testing.T) {
	w := newDamagedStore(t)
	empty := []byte{}
	for range 2 {
		replay := w.Replay()
		for n, content := range [][]byte{w.first, w.sound, w.first, empty} {
			replay.Add(uint64(n+4), Sum(content), content)
		}
		// A crash BEFORE the pack loses nothing.
		if st := w.Stats(); st.recentBlobs != 2 {
			t.Errorf("%+v", st)
		}
		w.again()
	}
	replay := w.Replay()
	for n, content := range [][]byte{w.first, w.sound, empty} {
		replay.Add(uint64(n+4), Sum(content), content)
	}
	if packed := mustPack(t, w.Store, 6); packed != 2 {
		t.Errorf("%d are packed", packed)
	}
	w.again()
	replay = w.Replay()
	for n, content := range [][]byte{w.first, w.sound, empty} {
		replay.Add(uint64(n+4), Sum(content), content)
	}
	if st := w.Stats(); st.recentBlobs != 0 {
		t.Errorf("%+v", st)
	}
	w.again()
	mustGet(t, w.Store, w.first)
	w.isDamaged(w.other)
}

// TestCheckFindsDamage adds blobs that a start has in a pack and nothing has read: they can be
// checked, once, and what is damaged is stored again while the cache has it.
func TestCheckFindsDamage(t *testing.T) {
	w := newDamagedStore(t)
	for range 2 {
		for i, content := range [][]byte{w.first, w.sound} {
			w.Add(uint64(i+4), Sum(content), bytes.Clone(content))
		}
	}
	var damaged []Unread
	for len(w.Unread()) > 0 {
		if u := <-w.Unread(); w.Check(u) {
			damaged = append(damaged, u)
		}
	}
	if len(damaged) != 1 || damaged[0].Hash != Sum(w.first) || w.Has(Sum(w.first)) {
		t.Fatalf("damaged: %x", damaged)
	}
	if !w.Keep(damaged[0]) || w.Damaged(Sum(w.first)) {
		t.Error("it is not stored again")
	}
	if w.Keep(Unread{Hash: Sum(w.other)}) {
		t.Error("what the cache does not have is stored")
	}
	if packed := mustPack(t, w.Store, 5); packed != 1 {
		t.Errorf("%d are packed", packed)
	}
	w.again()
	mustGet(t, w.Store, w.first)
	w.isDamaged(w.other)
}
