package search

import (
	"path/filepath"
	"testing"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// TestFactsOutliveMerges reads the facts of all documents of a merged segment.
func TestFactsOutliveMerges(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "search"))
	c := newCorpus(3)
	count := sampled(3000, 1200)
	documents := make([]*Document, 0, count)
	for n := range count {
		documents = append(documents, c.document(n))
	}
	keys := make([]Key, count)
	for from := 0; from < count; from += count / 2 {
		b, durable := NewBatch(), make(chan struct{})
		for _, d := range documents[from : from+count/2] {
			b.Put(d)
		}
		if err := x.Write(b, uint64(from+1), func() { close(durable) }); err != nil {
			t.Fatal(err)
		}
		<-durable
	}
	merging, ok := x.scorch.(*scorch.Scorch)
	if !ok {
		t.Fatal("the index reader is not a scorch snapshot")
	}
	if err := merging.ForceMerge(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for i, d := range documents {
		keys[i] = d.Key
	}
	versions, err := x.Versions(keys)
	if err != nil {
		t.Fatal(err)
	}
	missed := 0
	for i, d := range documents {
		if versions[i] != d.Version {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("%d of %d versions are wrong", missed, count)
	}
}
