package search

import (
	"unsafe"

	index "github.com/blevesearch/bleve_index_api"
)

// space is memory for the terms of the documents in a batch. The next batch uses it again: without
// that, the terms of a text of 300 bytes were 8 KB of garbage, twice what a write makes.
type space struct {
	// chunks are terms; all before the last one are used, and so many of the last one.
	chunks [][]index.TokenFreq
	used   int
	// spare are chunks that are not used.
	spare [][]index.TokenFreq
	// text is memory for the bytes of terms. It is not used again, because the keys of a map point
	// to it.
	text []byte
	// room is for the term that is looked at.
	room termRoom
	// sets are empty, taken are those that documents use.
	sets, taken []index.TokenFrequencies
}

const (
	// spaceChunk is the number of terms in a chunk, spaceText the size of a chunk of texts.
	spaceChunk = 256
	spaceText  = 16 << 10
	// spaceChunksMax chunks and spaceSetsMax sets of at most spaceSetMax terms are kept for the next
	// batch: 1 MB and as much again.
	spaceChunksMax = 64
	spaceSetsMax   = 256
	spaceSetMax    = 128
	// setTerms is for how many terms a new set has room.
	setTerms = 64
)

// set returns an empty set of terms.
func (s *space) set() index.TokenFrequencies {
	var set index.TokenFrequencies
	if last := len(s.sets) - 1; last >= 0 {
		set, s.sets = s.sets[last], s.sets[:last]
	} else {
		set = make(index.TokenFrequencies, setTerms)
	}
	s.taken = append(s.taken, set)
	return set
}

// term returns the term of a set, and adds it with the frequency 0 if it is not there.
func (s *space) term(set index.TokenFrequencies, term []byte) *index.TokenFreq {
	if known, ok := set[string(term)]; ok {
		return known
	}
	if len(s.chunks) == 0 || s.used == spaceChunk {
		s.grow()
	}
	one := &s.chunks[len(s.chunks)-1][s.used]
	s.used++
	if cap(s.text)-len(s.text) < len(term) {
		s.text = make([]byte, 0, max(spaceText, len(term)))
	}
	from := len(s.text)
	s.text = append(s.text, term...)
	one.Term = s.text[from:len(s.text):len(s.text)]
	set[unsafe.String(unsafe.SliceData(one.Term), len(one.Term))] = one
	return one
}

func (s *space) grow() {
	chunk := []index.TokenFreq(nil)
	if last := len(s.spare) - 1; last >= 0 {
		chunk, s.spare = s.spare[last], s.spare[:last]
	} else {
		chunk = make([]index.TokenFreq, spaceChunk)
	}
	s.chunks, s.used = append(s.chunks, chunk), 0
}

// release makes the space free for other documents. None of those before is used from then on.
func (s *space) release() {
	for _, chunk := range s.chunks {
		clear(chunk)
		if len(s.spare) < spaceChunksMax {
			s.spare = append(s.spare, chunk)
		}
	}
	for _, set := range s.taken {
		if len(set) <= spaceSetMax && len(s.sets) < spaceSetsMax {
			clear(set)
			s.sets = append(s.sets, set)
		}
	}
	clear(s.chunks)
	clear(s.taken)
	s.chunks, s.taken = s.chunks[:0], s.taken[:0]
}
