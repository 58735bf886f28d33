package blobs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"pws/internal/disk/disktest"
)

// TestDrop drops blobs that were answered for BEFORE, and keeps one that is stored again while it
// drops.
func TestDrop(t *testing.T) {
	s := mustOpen(t, Options{Dir: t.TempDir()})
	content := func(n int) []byte { return fmt.Appendf(nil, "content %d", n) }
	for n := range 20 {
		s.Add(uint64(n+1), Sum(content(n)), content(n))
		if n%5 == 4 {
			mustPack(t, s, uint64(n+1))
		}
	}
	for n := range 20 {
		if !s.Has(Sum(content(n))) {
			t.Fatalf("%d is missing", n)
		}
	}
	err := s.Drop(func() (gone []Hash, err error) {
		for n := range 9 {
			gone = append(gone, Sum(content(n)))
		}
		s.Add(21, gone[7], content(7))
		return gone, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		if n < 9 && n != 7 {
			if _, err := s.Get(Sum(content(n))); !errors.Is(err, ErrNotFound) && s.Has(Sum(content(n))) {
				t.Errorf("%d is still there: %v", n, err)
			}
			continue
		}
		mustGet(t, s, content(n))
	}
	if stats := s.Stats(); stats.PackedBlobs != 12 {
		t.Errorf("%+v", stats)
	}
	fault := errors.New("it fails")
	if err := s.Drop(func() ([]Hash, error) { return nil, fault }); !errors.Is(err, fault) {
		t.Error(err)
	}
}

// TestDropKeepsWhatIsNeededAgain stores a blob again while the pack without it is being put in
// place.
func TestDropKeepsWhatIsNeededAgain(t *testing.T) {
	s := mustOpen(t, Options{Dir: t.TempDir()})
	one, two := []byte("one"), []byte("two")
	s.Add(1, Sum(one), one)
	s.Add(2, Sum(two), two)
	mustPack(t, s, 2)
	asked := 0
	p := s.list.Load().packs[0]
	keep := func(h *Hash) bool {
		if *h == Sum(one) {
			// It is decided, and needed right AFTER that.
			if asked++; asked == 2 {
				defer s.Has(Sum(one))
			}
		}
		return s.isTouched(h)
	}
	if err := s.dropFrom(p, []Hash{Sum(one), Sum(two)}, keep); err != nil {
		t.Fatal(err)
	}
	mustGet(t, s, one)
	if s.Has(Sum(two)) {
		t.Error("two is still there")
	}
}

// TestDropAndPurgeMakeNoPauses drops and purges in a store whose Pack and Merge make pauses. Drop
// and Purge run beside a Pack, and somebody waits for them.
func TestDropAndPurgeMakeNoPauses(t *testing.T) {
	yields := 0
	s := mustOpen(t, Options{Dir: t.TempDir(), Yield: func() { yields++ }})
	content := func(n int) []byte { return fmt.Appendf(nil, "content %d", n) }
	for n := range 6 {
		s.Add(uint64(n+1), Sum(content(n)), content(n))
	}
	mustPack(t, s, 6)
	if yields == 0 {
		t.Error("no pause while packing")
	}
	yields = 0
	if err := s.Drop(func() ([]Hash, error) { return []Hash{Sum(content(0))}, nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Purge([]Hash{Sum(content(1))}); err != nil {
		t.Fatal(err)
	}
	if yields > 0 {
		t.Errorf("%d pauses", yields)
	}
	if stats := s.Stats(); stats.PackedBlobs != 4 {
		t.Errorf("%+v", stats)
	}
	for n := range tierPacks {
		s.Add(uint64(n+7), Sum(content(n+6)), content(n+6))
		mustPack(t, s, uint64(n+7))
	}
	yields = 0
	if err := s.TryMerge(); err != nil {
		t.Fatal(err)
	}
	if yields == 0 {
		t.Error("no pause while merging")
	}
}

// TestPurgeBesideDamage purges and drops blobs of a pack in which a block is damaged: one that they
// are not in, and then the block itself. Its other blobs stay damaged.
func TestPurgeBesideDamage(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, Options{Dir: dir})
	large := func(n int) []byte { return bytes.Repeat(fmt.Appendf(nil, "xylo%d ", n), smallBytes) }
	contents := [][]byte{large(0), large(1), large(2), []byte("damaged one"), []byte("damaged two")}
	for n, content := range contents {
		s.Add(uint64(n+1), Sum(content), content)
	}
	mustPack(t, s, uint64(len(contents)))
	name := s.list.Load().packs[0].name
	pack, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(pack, []byte("damaged one"))
	if at < 0 {
		t.Fatal("the small blobs are compressed")
	}
	pack[at] ^= 1
	if err := os.WriteFile(name, pack, 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(gone, sound, damaged [][]byte) {
		t.Helper()
		for _, content := range gone {
			if _, err := s.Get(Sum(content)); !errors.Is(err, ErrNotFound) {
				t.Errorf("%.12q: %v", content, err)
			}
		}
		for _, content := range sound {
			mustGet(t, s, content)
		}
		for _, content := range damaged {
			if _, err := s.Get(Sum(content)); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%.12q: %v", content, err)
			}
		}
	}
	again := func() {
		t.Helper()
		s.Close()
		s = mustOpen(t, Options{Dir: dir})
	}
	again()
	if err := s.Purge([]Hash{Sum(contents[0])}); err != nil {
		t.Fatal(err)
	}
	check(contents[:1], contents[1:3], contents[3:])
	again()
	err = s.Drop(func() ([]Hash, error) { return []Hash{Sum(contents[1])}, nil })
	if err != nil {
		t.Fatal(err)
	}
	check(contents[:2], contents[2:3], contents[3:])
	if err := s.Purge([]Hash{Sum(contents[4])}); err != nil {
		t.Fatal(err)
	}
	again()
	check([][]byte{contents[0], contents[1], contents[4]}, contents[2:3], contents[3:4])
	if name, err := disktest.Holding(dir, "damaged two"); err != nil || name != "" {
		t.Errorf("it is still in %s, %v", name, err)
	}
	if err := s.TryMerge(); err != nil {
		t.Error(err)
	}
	s.Close()
	if _, err := Verify(dir, nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a check says %v", err)
	}
}
