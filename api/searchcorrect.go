package api

import (
	"encoding/binary"
	"math"

	"pws/api/cursor"
	"pws/index/search"
)

const (
	// correctionsMax is the maximum number of words of a query for which similar words are
	// looked up.
	correctionsMax = 4
	// correctedHitsMax is the maximum number of documents of a word that are read to find one
	// that may be shown.
	correctedHitsMax = 16
)

// correct searches once more if no PUBLIC document has a word of the query, but one has a
// similar word. It is called AFTER the first page was collected: words in its results need no
// lookup. The index may still hold documents that are not PUBLIC now, so both words are checked
// in the live view.
func (s *searching) correct() error {
	words := s.query.Words
	text := words
	for i := range words.Folded {
		if s.covered&(1<<i) != 0 || !words.MayBeWrong(i) || s.lookups == correctionsMax {
			continue
		}
		only := words.Only(i)
		matches, err := s.matches(only)
		if err != nil {
			return err
		}
		if matches {
			continue
		}
		wrong := only.Folded
		if len(only.Parts[0]) > 0 {
			wrong = only.Parts[0]
		}
		for _, word := range wrong {
			if text.Text, err = s.correctWord(text, word, len(wrong) > 1); err != nil {
				return err
			}
		}
	}
	if text.Text == words.Text || len(text.Text) > cursor.PayloadMax-placeBytes-search.WeightsMax {
		return nil
	}
	s.corrected = text.Text
	s.query.Words = search.ParseWords(s.corrected)
	s.query.After, s.query.Weights = nil, nil
	s.data.Results, s.data.NextCursor = s.data.Results[:0], nil
	return s.collect()
}

// correctWord returns the text with a word replaced by a similar one, or the same text if there
// is none. A part of a compound may match on its own.
func (s *searching) correctWord(text search.Words, wrong string, part bool) (string, error) {
	if s.lookups == correctionsMax || !search.MayBeWrong(wrong) {
		return text.Text, nil
	}
	if part {
		if matches, err := s.matches(wholeWord(wrong)); err != nil || matches {
			return text.Text, err
		}
	}
	s.lookups++
	near, err := s.call.Service.Engine.WordsNear(wrong)
	if err != nil {
		return "", err
	}
	for _, word := range near {
		matches, err := s.matches(wholeWord(word))
		if err != nil {
			return "", err
		}
		if matches {
			return text.Correct(wrong, word), nil
		}
	}
	return text.Text, nil
}

// wholeWord returns a query for the word itself, not for longer words that begin with it.
func wholeWord(word string) search.Words {
	words := search.ParseWords(word)
	words.Beginning = false
	return words
}

// matches reports whether a document that may be shown has a word.
func (s *searching) matches(word search.Words) (bool, error) {
	hits, err := s.call.Service.Engine.Search(&search.Query{
		Words: word, Limit: correctedHitsMax, Any: true,
	})
	for i := 0; err == nil && i < len(hits); i++ {
		var shown bool
		if shown, err = s.shows(&hits[i], word); shown {
			return true, nil
		}
	}
	return false, err
}

// shows reports whether a found document may be shown and has the word now.
func (s *searching) shows(hit *search.Hit, word search.Words) (bool, error) {
	d, err := s.document(hit.Key)
	if err != nil || d == nil || d.Version == hit.Version {
		return d != nil && err == nil, err
	}
	if err := d.Load(s.call.Service.Engine.Blob); err != nil {
		// The error was logged, and reading the file reports it.
		return false, nil
	}
	return word.Found(d.Title, d.Body), nil
}

// place returns the position in the cursor of the next page: the end of this one, and the weights
// and the corrected query, so that all pages are for the same query with the same scores.
func (s *searching) place() []byte {
	after, weights := s.query.After, s.query.Weights
	out := make([]byte, 0, placeBytes+len(weights)+len(s.corrected))
	out = append(out, weightedPlace)
	out = binary.BigEndian.AppendUint64(out, math.Float64bits(after.Score))
	out = binary.BigEndian.AppendUint64(out, uint64(after.UpdatedAt))
	out = binary.BigEndian.AppendUint64(out, after.Version)
	out = binary.BigEndian.AppendUint16(out, uint16(len(weights)))
	return append(append(out, weights...), s.corrected...)
}

const (
	// weightedPlace is the first byte of a place with weights. A place of an earlier version begins
	// with a score, which is never negative, so its first byte is smaller.
	weightedPlace = 0x80
	// placeBytes is the length of a place without the weights and the corrected query.
	placeBytes = 1 + 24 + 2
)

// resume continues after a place. It reports whether the data is valid.
func (s *searching) resume(data []byte) bool {
	weighted := len(data) > 0 && data[0] == weightedPlace
	if weighted {
		data = data[1:]
	}
	if len(data) < 24 {
		return false
	}
	s.query.After = &search.Place{
		Score:     math.Float64frombits(binary.BigEndian.Uint64(data)),
		UpdatedAt: int64(binary.BigEndian.Uint64(data[8:])),
		Version:   binary.BigEndian.Uint64(data[16:]),
	}
	if data = data[24:]; weighted {
		if len(data) < 2 {
			return false
		}
		length := int(binary.BigEndian.Uint16(data))
		if data = data[2:]; len(data) < length {
			return false
		}
		s.query.Weights, data = data[:length:length], data[length:]
	}
	if s.corrected = string(data); s.corrected != "" {
		s.query.Words = search.ParseWords(s.corrected)
	}
	return true
}
