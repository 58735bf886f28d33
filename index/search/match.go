package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// WordsMax is the maximum number of different words in a query.
	WordsMax = 32
	// partsMax limits the number of parts of compound words in a query.
	partsMax = 32
	// beginningMin is the minimum length, in bytes, of a last word that also matches as a prefix.
	beginningMin = 3
)

// Words are the words of a query; all other characters are separators.
type Words struct {
	// Text is the original query.
	Text string
	// Folded has each word once, folded, without stop words unless all words are stop words.
	Folded []string
	// Parts has the parts of each compound word in Folded, nil for simple words. A text that
	// contains all parts contains the word.
	Parts [][]string
	// Beginning is set if the last word also matches words that begin with it.
	Beginning bool
}

// ParseWords returns the words of a query. There are no operators.
func ParseWords(query string) Words {
	w := Words{Text: query}
	found, made := scanner{text: query}, 0
	var last string
	for found.next() && len(w.Folded) < WordsMax {
		raw := query[found.start:found.end]
		last = string(appendFolded(nil, raw))
		if last == "" || slices.Contains(w.Folded, last) {
			continue
		}
		of := partsOf(raw)
		if made += len(of); made > partsMax {
			of = nil
		}
		w.Folded, w.Parts = append(w.Folded, last), append(w.Parts, of)
	}
	if len(w.Folded) == 0 {
		return w
	}
	// A repeated word at the end is moved to the end.
	if at := slices.Index(w.Folded, last); at >= 0 {
		of := w.Parts[at]
		w.Folded = append(slices.Delete(w.Folded, at, at+1), last)
		w.Parts = append(slices.Delete(w.Parts, at, at+1), of)
	}
	w.Beginning = len(last) >= beginningMin
	w.withoutStops()
	return w
}

// withoutStops removes the stop words, unless there are no other words.
func (w *Words) withoutStops() {
	stops := stopWords(w.Folded)
	var words []string
	var of [][]string
	for i, word := range w.Folded {
		if !stops[word] {
			words, of = append(words, word), append(of, w.Parts[i])
		}
	}
	if len(words) == 0 || len(words) == len(w.Folded) {
		return
	}
	w.Beginning = w.Beginning && !stops[w.Folded[len(w.Folded)-1]]
	w.Folded, w.Parts = words, of
}

// partsOf returns the folded parts of a compound word, nil for a simple word.
func partsOf(raw string) (of []string) {
	if simple(raw) {
		return nil
	}
	parts(raw, func(part string) {
		if folded := string(appendFolded(nil, part)); folded != "" {
			of = append(of, folded)
		}
	})
	return of
}

// Needed returns the number of words of a query that a document must contain: all of one or two,
// otherwise two thirds.
func Needed(words int) int {
	if words <= 2 {
		return words
	}
	return (2*words + 2) / 3
}

// matcher matches the terms of a text against the words of a query.
type matcher struct {
	words Words
	// atoms are the words, followed by the parts of all of them.
	atoms []string
	// first has the first bytes of all atoms, in both cases, to skip most terms quickly.
	first [256]bool
}

func newMatcher(words Words) *matcher {
	m := &matcher{words: words, atoms: slices.Clone(words.Folded)}
	for _, of := range words.Parts {
		m.atoms = append(m.atoms, of...)
	}
	for _, word := range m.atoms {
		m.first[word[0]] = true
		if c := word[0]; c >= 'a' && c <= 'z' {
			m.first[c-'a'+'A'] = true
		}
	}
	return m
}

// which returns a bit for each atom that a term matches.
func (m *matcher) which(term []byte) (seen uint64) {
	if len(term) == 0 || !m.first[term[0]] {
		return 0
	}
	for i, word := range m.atoms {
		if string(term) == word {
			seen |= 1 << i
		}
	}
	last := len(m.words.Folded) - 1
	beginning := m.words.Folded[last]
	if m.words.Beginning && len(term) > len(beginning) &&
		string(term[:len(beginning)]) == beginning {
		seen |= 1 << last
	}
	return seen
}

// note sets the bits of the atoms that a raw word of a text matches; it reports whether there are
// any.
func (m *matcher) note(raw string, seen *uint64) bool {
	whole := simple(raw)
	if whole && !m.first[raw[0]] {
		return false
	}
	var room [rawBytesMax]byte
	found := m.which(appendFolded(room[:0], raw))
	if !whole {
		parts(raw, func(part string) { found |= m.which(appendFolded(room[:0], part)) })
	}
	*seen |= found
	return found != 0
}

// count returns the number of words found, from the bits of the atoms.
func (m *matcher) count(seen uint64) (count int) {
	at := len(m.words.Folded)
	for word := range m.words.Folded {
		has := seen&(1<<word) != 0
		if of := len(m.words.Parts[word]); of > 0 {
			every := uint64(1)<<of - 1
			has = has || seen>>at&every == every
			at += of
		}
		if has {
			count++
		}
	}
	return count
}

// Found reports whether texts contain as many of the words as a document needs.
func (w Words) Found(texts ...string) bool {
	m, seen := newMatcher(w), uint64(0)
	needed := Needed(len(w.Folded))
	for _, text := range texts {
		found := scanner{text: text}
		for found.next() {
			before := seen
			if m.note(text[found.start:found.end], &seen); seen != before {
				if m.count(seen) >= needed {
					return true
				}
			}
		}
	}
	return m.count(seen) >= needed
}

func ones(bits uint64) (count int) {
	for ; bits != 0; bits &= bits - 1 {
		count++
	}
	return count
}

const (
	// SnippetChars is the approximate length of a snippet, in characters.
	SnippetChars = 200
	// snippetLead is the number of bytes before the first word found.
	snippetLead = 60
	// snippetFar is the range after the first match in which other matches are considered, in
	// bytes.
	snippetFar = 32 << 10
	// snippetPlaces limits the number of matches considered.
	snippetPlaces = 64
)

// Snippet returns the passage of a text with the most words, on one line: white space is replaced
// by single spaces, and omitted text by an ellipsis. Without a match it is the beginning of the
// text.
func (w Words) Snippet(text string) string {
	return passage(text, w.bestPlace(text))
}

// bestPlace returns the offset of the first passage with the most different words.
func (w Words) bestPlace(text string) (best int) {
	if len(w.Folded) == 0 {
		return 0
	}
	type place struct {
		at   int
		seen uint64
	}
	m, first, most := newMatcher(w), -1, 0
	// places has the matches of the passage that ends at the current position.
	places := make([]place, 0, 16)
	found := scanner{text: text}
	for weighed := 0; weighed < snippetPlaces && most < len(m.atoms) && found.next(); {
		if first >= 0 && found.start > first+snippetFar {
			break
		}
		here := place{at: found.start}
		if !m.note(text[found.start:found.end], &here.seen) {
			continue
		}
		if weighed++; first < 0 {
			first = here.at
		}
		places = append(places, here)
		for places[0].at+SnippetChars-snippetLead < here.at {
			places = places[1:]
		}
		var seen uint64
		for _, one := range places {
			seen |= one.seen
		}
		if count := ones(seen); count > most {
			best, most = places[0].at, count
		}
	}
	return best
}

// passage returns the text around an offset.
func passage(text string, at int) string {
	var room [SnippetChars + snippetLead]byte
	out, start := room[:0], at-snippetLead
	if start <= 0 {
		start = 0
	} else {
		for !utf8.RuneStart(text[start]) {
			start++
		}
		// Begin at a word boundary if there is one before the match.
		if blank := strings.IndexFunc(text[start:at], unicode.IsSpace); blank >= 0 {
			start += blank
		}
		out = append(out, "…"...)
	}
	chars, blank, any := 0, false, false
	for _, r := range text[start:] {
		if plain := r > ' ' && r < 0x7f; !plain && (unicode.IsSpace(r) || unicode.IsControl(r)) {
			blank = true
			continue
		}
		if chars >= SnippetChars || chars >= SnippetChars*3/4 && blank {
			out = append(out, "…"...)
			break
		}
		if blank && any {
			out = append(out, ' ')
			chars++
		}
		blank, any = false, true
		out = utf8.AppendRune(out, r)
		chars++
	}
	return string(out)
}
