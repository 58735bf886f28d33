package search

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	index "github.com/blevesearch/bleve_index_api"
)

const (
	// oneError and twoErrors are the minimum word lengths, in letters, for one and two typing
	// errors.
	oneError, twoErrors = 5, 8
	// correctableMax is the maximum length of a corrected word, because an automaton is built from
	// it.
	correctableMax = 32
	// nearMax is the number of similar words examined, NearMax the number returned.
	nearMax = 256
	NearMax = 8
)

// errorsIn returns the number of typing errors to try for a word. Terms with other characters than
// letters are numbers or identifiers and are not corrected.
func errorsIn(word string) int {
	for _, r := range word {
		if !unicode.IsLetter(r) {
			return 0
		}
	}
	switch letters := utf8.RuneCountInString(word); {
	case letters > correctableMax:
		return 0
	case letters >= twoErrors:
		return 2
	case letters >= oneError:
		return 1
	}
	return 0
}

// MayBeWrong reports whether the word at an index is long and simple enough to be corrected.
func (w Words) MayBeWrong(at int) bool {
	if len(w.Parts[at]) > 0 {
		return slices.ContainsFunc(w.Parts[at], MayBeWrong)
	}
	return MayBeWrong(w.Folded[at])
}

// MayBeWrong reports whether a word is long and simple enough to be corrected.
func MayBeWrong(word string) bool { return errorsIn(word) > 0 }

// Only returns a query of the word at an index alone.
func (w Words) Only(at int) Words {
	return Words{
		Text: w.Folded[at], Folded: w.Folded[at : at+1], Parts: w.Parts[at : at+1],
		Beginning: w.Beginning && at == len(w.Folded)-1,
	}
}

// Correct returns the query with one word replaced by another.
func (w Words) Correct(wrong, right string) string {
	var out strings.Builder
	done := 0
	replace := func(from, to int) {
		out.WriteString(w.Text[done:from])
		out.WriteString(right)
		done = to
	}
	for found := (scanner{text: w.Text}); found.next(); {
		raw := w.Text[found.start:found.end]
		if string(appendFolded(nil, raw)) == wrong {
			replace(found.start, found.end)
			continue
		}
		at := found.start
		parts(raw, func(part string) {
			from := at + strings.Index(w.Text[at:found.end], part)
			at = from + len(part)
			if string(appendFolded(nil, part)) == wrong {
				replace(from, at)
			}
		})
	}
	return out.String() + w.Text[done:]
}

// Near returns words of the index that a mistyped word may stand for: those with the fewest errors
// first, then those in the most documents. It does not check whether a document may be shown.
func (x *Index) Near(word string) (near []string, err error) {
	err = x.read(func(reader index.IndexReader) error {
		fuzzy, ok := reader.(index.IndexReaderFuzzy)
		for errors := 1; ok && errors <= errorsIn(word) && len(near) < NearMax; errors++ {
			found, err := nearTerms(fuzzy, word, errors)
			if err != nil {
				return err
			}
			for _, term := range found {
				if len(near) < NearMax && !slices.Contains(near, term) {
					near = append(near, term)
				}
			}
		}
		return nil
	})
	return near, err
}

// nearTerms returns the words within the given number of errors, the most frequent first.
func nearTerms(reader index.IndexReaderFuzzy, word string, errors int) ([]string, error) {
	found, err := reader.FieldDictFuzzy(fieldWords, word, errors, "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = found.Close() }()
	type entry struct {
		term  string
		count uint64
	}
	var entries []entry
	for range nearMax {
		next, err := found.Next()
		if err != nil {
			return nil, err
		}
		if next == nil {
			break
		}
		if next.Term != word && errorsIn(next.Term) > 0 {
			entries = append(entries, entry{term: next.Term})
		}
	}
	for i := range entries {
		if entries[i].count, err = frequency(reader, entries[i].term); err != nil {
			return nil, err
		}
	}
	// A dictionary contains words of deleted documents until its segment is merged.
	entries = slices.DeleteFunc(entries, func(one entry) bool { return one.count == 0 })
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.term, b.term))
	})
	terms := make([]string, len(entries))
	for i, one := range entries {
		terms[i] = one.term
	}
	return terms, nil
}

// frequency returns the number of documents that contain a word.
func frequency(reader any, word string) (uint64, error) {
	r, ok := reader.(index.IndexReader)
	if !ok {
		return 0, nil
	}
	found, err := r.TermFieldReader(context.Background(), []byte(word), fieldWords,
		false, false, false)
	if err != nil {
		return 0, err
	}
	return found.Count(), found.Close()
}
