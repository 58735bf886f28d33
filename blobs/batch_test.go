package blobs

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

func batchOf(t testing.TB, s *Store, contents [][]byte) *Batch {
	t.Helper()
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range contents {
		for range 2 {
			if err := b.Add(Sum(content), content); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

// TestBatchIsReadAfterReopen commits contents while others are recent, and reads them after another
// start.
func TestBatchIsReadAfterReopen(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, Options{Dir: dir, CacheBytes: 1})
	r := rand.New(rand.NewPCG(1, 2))
	contents := [][]byte{text(r, 40), text(r, 9000), noise(r, 70_000), {}, text(r, 700)}
	s.Add(1, Sum(contents[0]), contents[0])
	b := batchOf(t, s, contents)
	count, size := 0, int64(0)
	for h := range b.Hashes {
		count++
		for _, content := range contents {
			if Sum(content) == h {
				size += int64(len(content))
			}
		}
	}
	if count != len(contents) || b.Bytes() != size {
		t.Errorf("%d contents with %d bytes, and %d bytes", count, size, b.Bytes())
	}
	if s.Has(Sum(contents[1])) {
		t.Error("a content is stored BEFORE the commit")
	}
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	b.Abort()
	mustPack(t, s, 1)
	if err := s.TryMerge(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, Options{Dir: dir, CacheBytes: 1})
	for _, content := range contents {
		mustGet(t, s, content)
	}
}

// TestBatchAbandoned checks that contents of a batch that is given up, empty, or committed after
// the store was closed, are not stored.
func TestBatchAbandoned(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, Options{Dir: dir})
	content := []byte("content of a batch")
	batchOf(t, s, [][]byte{content}).Abort()
	if err := batchOf(t, s, nil).Commit(); err != nil {
		t.Error(err)
	}
	late := batchOf(t, s, [][]byte{content})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := late.Commit(); !errors.Is(err, ErrClosed) {
		t.Errorf("a commit to a closed store: %v", err)
	}
	if _, err := s.Begin(); !errors.Is(err, ErrClosed) {
		t.Errorf("a batch of a closed store: %v", err)
	}
	if s = mustOpen(t, Options{Dir: dir}); s.Has(Sum(content)) || s.Stats().Packs != 0 {
		t.Error("a content of an abandoned batch is stored")
	}
}

// TestMergeKeepsOneCopy merges packs that have the same contents: the new one has one copy, also of
// those whose blocks have other contents beside them, and nothing is lost.
func TestMergeKeepsOneCopy(t *testing.T) {
	s := mustOpen(t, Options{Dir: t.TempDir(), CacheBytes: 1})
	r := rand.New(rand.NewPCG(3, 4))
	var shared [][]byte
	for range 40 {
		shared = append(shared, noise(r, 300), noise(r, 5000), noise(r, 70_000))
	}
	all := slices.Clone(shared)
	var once int64
	for range 8 {
		own := [][]byte{noise(r, 200), noise(r, 6000)}
		if err := batchOf(t, s, append(own, shared...)).Commit(); err != nil {
			t.Fatal(err)
		}
		all = append(all, own...)
	}
	for _, content := range all {
		once += int64(len(content))
	}
	for s.NeedsMerge() {
		if err := s.TryMerge(); err != nil {
			t.Fatal(err)
		}
	}
	var stored int64
	for _, p := range s.list.Load().packs {
		stored += p.size
	}
	if stored > once+once/10 {
		t.Errorf("%d bytes of contents take %d", once, stored)
	}
	for _, content := range all {
		mustGet(t, s, content)
	}
}
