package blobs

import (
	"errors"
	"fmt"
	"testing"
)

// TestDrop drops blobs that were answered for BEFORE, and keeps one that is stored again meanwhile.
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
	if _, err := s.Merge(func(h Hash) bool { return h == Sum(content(2)) }); err != nil {
		t.Fatal(err)
	}
	if yields == 0 {
		t.Error("no pause while merging")
	}
}
