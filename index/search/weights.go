package search

import (
	"errors"
	"math"
)

// Weights are what the first page of a query decided about its terms: how rare they are, and which
// longer words are searched. These depend on all documents. Later pages use the same ones, so that
// a score computed for one page can be compared with a score computed for another.
//
// It is a sequence of decisions in the order in which a query opens its terms: a byte for the
// rarity of a term of texts, a byte for a yes or no, and a length byte with the text for the rest
// of a longer word; an empty one ends the list. A query has always the same sequence.
type Weights []byte

// WeightsMax is the maximum length of weights, in bytes: a rarity for each word, each part and each
// longer word, and a yes and a list of longer words, for texts and for names.
const WeightsMax = WordsMax + partsMax + endingsMax + 2*(1+endingsMax+endingsBytes+1)

// ErrWeights is returned for weights of another query.
var ErrWeights = errors.New("search: the weights belong to another query")

// weighing records decisions for the first page, and repeats them for later pages.
type weighing struct {
	all Weights
	// repeats is set for later pages; at is the next decision, beyond the end if there were not
	// enough.
	repeats bool
	at      int
}

func newWeighing(of Weights) weighing { return weighing{all: of, repeats: of != nil} }

// complete reports whether all decisions, and no others, were repeated.
func (w *weighing) complete() bool { return !w.repeats || w.at == len(w.all) }

func (w *weighing) byte(decided byte) byte {
	if !w.repeats {
		w.all = append(w.all, decided)
		return decided
	}
	if w.at++; w.at > len(w.all) {
		return 0
	}
	return w.all[w.at-1]
}

func (w *weighing) flag(decided bool) bool {
	bit := byte(0)
	if decided {
		bit = 1
	}
	return w.byte(bit) != 0
}

func (w *weighing) text(decided string) string {
	length := int(w.byte(byte(len(decided))))
	if !w.repeats {
		w.all = append(w.all, decided...)
		return decided
	}
	from := min(w.at, len(w.all))
	w.at += length
	return string(w.all[from:max(from, min(w.at, len(w.all)))])
}

// rarity returns the weight of a word: higher if fewer documents contain it. It has steps of a
// half, so that it fits a byte.
func (w *weighing) rarity(documents, having uint64) float64 {
	ratio := float64(documents+1) / float64(having+1)
	return 1 + float64(w.byte(byte(2*math.Log2(max(1, ratio)))))/2
}

// endings yields the given endings, or those of the first page.
func (w *weighing) endings(decided []string, yield func(ending string) error) error {
	for i := 0; ; i++ {
		ending := ""
		if i < len(decided) {
			ending = decided[i]
		}
		if ending = w.text(ending); ending == "" {
			return nil
		}
		if err := yield(ending); err != nil {
			return err
		}
	}
}
