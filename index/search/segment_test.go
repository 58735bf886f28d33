package search

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// TestSearchFindsWhatTextsHold compares search results with a scan of the texts, in segments large
// enough that lists are cached, before and after changes and deletions.
func TestSearchFindsWhatTextsHold(t *testing.T) {
	x, c := open(t, filepath.Join(t.TempDir(), "search")), newCorpus(5)
	there := map[string]*Document{}
	put := func(from, to int) {
		b := NewBatch()
		for n := from; n < to; n++ {
			d := c.document(n)
			b.Put(d)
			there[d.Key.Path] = d
		}
		if err := x.Write(b, uint64(to), nil); err != nil {
			t.Fatal(err)
		}
	}
	compare := func() {
		t.Helper()
		for n := range sampled(60, 16) {
			q := &Query{Words: ParseWords(c.text(n % 4)), Limit: 10_000}
			if q.Words.Beginning = false; n%2 == 0 || n%4 == 0 {
				q.Filters = [][]string{{InLanguage("go"), InLanguage("rust")}, {OfKind(File)}}
			}
			var want []string
			for path, d := range there {
				if d.Passes(q.Filters) && q.Words.Found(d.Title, d.Body) {
					want = append(want, path)
				}
			}
			slices.Sort(want)
			first := find(t, x, q)
			again := find(t, x, q)
			if !slices.Equal(first, again) {
				t.Fatalf("%v: the second result differs", q.Words)
			}
			if got := slices.Sorted(slices.Values(pathsOf(first))); !slices.Equal(got, want) {
				t.Fatalf("%v: %d found, want %d", q.Words, len(got), len(want))
			}
		}
	}
	count := sampled(2000, 700)
	put(0, count)
	compare()
	b := NewBatch()
	for n, path := range slices.Sorted(maps.Keys(there)) {
		switch d := there[path]; n % 5 {
		case 0:
			b.Drop(d.Key)
			delete(there, path)
		case 1:
			next := &Document{Key: d.Key, Title: d.Title, Body: fmt.Sprint("again ", c.text(30))}
			b.Put(next.complete())
			there[path] = next
		}
	}
	if err := x.Write(b, uint64(count+1), nil); err != nil {
		t.Fatal(err)
	}
	compare()
	put(count+1, count+700)
	compare()
	if x.cache.places.Load() == 0 {
		t.Error("no list was cached")
	}
}
