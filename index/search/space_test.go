package search

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
)

// TestBatchUsesItsMemoryAgain checks what the documents of a batch contain AFTER other ones were in
// it, and that they are little garbage.
func TestBatchUsesItsMemoryAgain(t *testing.T) {
	c, b := newCorpus(1), NewBatch()
	for nth := range 600 {
		d := c.document(nth)
		var fresh space
		want, got := fresh.newEntry(d), b.space.newEntry(d)
		for i, field := range got.fields {
			if field.length != want.fields[i].length ||
				!reflect.DeepEqual(field.terms, want.fields[i].terms) {
				t.Fatalf("document %d: %v, want %v", nth, field.terms, want.fields[i].terms)
			}
		}
		if nth%100 == 99 {
			b.empty()
		}
	}
	documents := make([]*Document, 100)
	for i := range documents {
		documents[i] = fileDocument(fmt.Sprintf("a/%d.md", i), c.text(50), 1, InLanguage("go"))
	}
	most := testing.AllocsPerRun(10, func() {
		for _, d := range documents {
			b.Put(d)
		}
		b.empty()
	})
	if most /= float64(len(documents)); most > 25 {
		t.Errorf("%.0f objects for a document", most)
	}
}

// BenchmarkBatch indexes documents of 50 words in batches of several sizes.
func BenchmarkBatch(b *testing.B) {
	for _, size := range []int{64, 256, 1024, 4096} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			x, c, batch := open(b, filepath.Join(b.TempDir(), "search")), newCorpus(1), NewBatch()
			documents := make([]*Document, 10_000)
			for i := range documents {
				documents[i] = fileDocument(fmt.Sprintf("a/%d.md", i), c.text(50), 1,
					InLanguage("go"))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := range b.N {
				batch.Put(documents[n%len(documents)])
				if batch.Len() < size {
					continue
				}
				if err := x.Write(batch, uint64(n+1), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
