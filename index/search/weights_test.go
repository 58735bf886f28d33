package search

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWeightsOfAnotherQuery(t *testing.T) {
	x, _ := full(t, 300)
	first := &Query{Words: ParseWords("ki lo")}
	find(t, x, first)
	for _, weights := range []Weights{
		{}, first.Weights[1:], append(slices.Clone(first.Weights), 0),
		Weights(strings.Repeat("\xff", WeightsMax)),
	} {
		q := &Query{Words: ParseWords("ki lo"), Weights: weights, Limit: 5}
		if hits, err := x.Search(q); err != ErrWeights || hits != nil {
			t.Errorf("%v: %d hits, error %v", weights, len(hits), err)
		}
	}
	if len(find(t, x, &Query{Words: ParseWords("ki lo")})) == 0 {
		t.Error("nothing is found anymore")
	}
}

// TestWeightsMax searches for as many terms as a query can have.
func TestWeightsMax(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "search"))
	var body strings.Builder
	for n := range 2 * endingsMax {
		fmt.Fprintf(&body, "zebra%s%d ", strings.Repeat("x", n), n)
	}
	write(t, x, 1, fileDocument("a", body.String(), 1), fileDocument(body.String(), "b", 1))
	var text strings.Builder
	for n := range WordsMax - 1 {
		fmt.Fprintf(&text, "w%da_w%db ", n, n)
	}
	q := &Query{Words: ParseWords(text.String() + "zebra")}
	find(t, x, q)
	if length := len(q.Weights); length > WeightsMax || length < WeightsMax/2 {
		t.Errorf("%d bytes, want at most %d", length, WeightsMax)
	}
}
