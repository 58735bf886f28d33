package blobs

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestHeldIndexesFindTheSame finds the same with indexes in memory as without, whatever has a place
// in it.
func TestHeldIndexesFindTheSame(t *testing.T) {
	s := mustOpen(t, Options{Dir: t.TempDir()})
	r := rand.New(rand.NewPCG(1, 2))
	var contents [][]byte
	for pack := range uint64(3) {
		for range 300 {
			content := text(r, 20+r.IntN(200))
			contents = append(contents, content)
			s.Add(pack+1, Sum(content), content)
		}
		mustPack(t, s, pack+1)
	}
	packs := s.list.Load().packs
	if len(packs) != 3 {
		t.Fatalf("%d packs", len(packs))
	}
	check := func(what string, held int) {
		t.Helper()
		for _, content := range contents {
			mustGet(t, s, content)
			if !s.hasPacked(new(Sum(content))) {
				t.Fatalf("%s: a content of %d bytes is not found", what, len(content))
			}
		}
		for n := range 1000 {
			if h := Sum(fmt.Append(nil, "absent", n)); s.Has(h) {
				t.Fatalf("%s: what is not there is found", what)
			}
		}
		there := 0
		for _, p := range packs {
			if p.held.Load() != nil {
				there++
			}
		}
		if there != held {
			t.Errorf("%s: %d indexes are in memory", what, there)
		}
	}
	newest := packs[0].footer.pages() * pageBytes
	for held, bytes := range []int64{newest - 1, newest, newest + packs[1].footer.pages()*pageBytes} {
		release, err := s.HoldIndexes(bytes)
		if err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprint(held, " held"), held)
		release()
		check("released", 0)
	}
}
