package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis/char/asciifolding"
	"golang.org/x/text/unicode/norm"
)

const (
	// wordBytesMax is the maximum length of a word; a longer one is truncated.
	wordBytesMax = 64
	// rawBytesMax is the part of a longer word that is read before folding.
	rawBytesMax = 4 * wordBytesMax
)

// class is the class of a character for splitting words.
type class uint8

const (
	// between is a character between words.
	between class = iota
	// inWord is a character of words.
	inWord
	// alone is a character that is a word by itself, with its marks, in scripts without word
	// separators.
	alone
	// wide marks bytes of non-ASCII characters.
	wide
)

var byteClass = func() (table [256]class) {
	for c := range table {
		lower := c | 0x20
		switch {
		case c >= utf8.RuneSelf:
			table[c] = wide
		case lower >= 'a' && lower <= 'z' || c >= '0' && c <= '9' || c == '_':
			table[c] = inWord
		}
	}
	return table
}()

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		return byteClass[r]
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar) && !unicode.IsMark(r):
		return alone
	case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
		return inWord
	}
	return between
}

// scanner iterates over the words of a text.
type scanner struct {
	text string
	at   int
	// start and end are the offsets of the current word.
	start, end int
}

func (s *scanner) next() bool {
	for s.at < len(s.text) {
		kind, size := s.look()
		s.start = s.at
		s.at += size
		switch kind {
		case alone:
			for s.at < len(s.text) {
				r, size := utf8.DecodeRuneInString(s.text[s.at:])
				if !unicode.IsMark(r) {
					break
				}
				s.at += size
			}
			s.end = s.at
			return true
		case inWord:
			for s.at < len(s.text) {
				if kind, size = byteClass[s.text[s.at]], 1; kind == wide {
					kind, size = s.look()
				}
				if kind != inWord {
					break
				}
				s.at += size
			}
			s.end = s.at
			if s.trim() {
				return true
			}
		}
	}
	return false
}

func (s *scanner) look() (class, int) {
	if kind := byteClass[s.text[s.at]]; kind != wide {
		return kind, 1
	}
	r, size := utf8.DecodeRuneInString(s.text[s.at:])
	return classOf(r), size
}

// trim excludes the underscores at both ends of a word; it reports whether anything is left.
func (s *scanner) trim() bool {
	for s.start < s.end && s.text[s.start] == '_' {
		s.start++
	}
	for s.start < s.end && s.text[s.end-1] == '_' {
		s.end--
	}
	return s.start < s.end
}

// appendFolded appends the form of a word used for comparison: in lower case, in the normal form
// NFKC, without accents, at most wordBytesMax bytes.
func appendFolded(dst []byte, word string) []byte {
	if len(word) > rawBytesMax {
		word = cut(word, rawBytesMax)
	}
	from := len(dst)
	for i := range len(word) {
		c := word[i]
		if c >= utf8.RuneSelf {
			return appendFoldedRunes(dst[:from], word)
		}
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if dst = append(dst, c); len(dst)-from == wordBytesMax {
			break
		}
	}
	return dst
}

// appendFoldedRunes also removes accents: é becomes e, ß becomes ss.
func appendFoldedRunes(dst []byte, word string) []byte {
	from := len(dst)
	bare := strings.Map(func(r rune) rune {
		if r >= combiningFirst && r <= combiningLast {
			return -1
		}
		// The form of the letter at the end of a Greek word.
		if r == 'ς' {
			return 'σ'
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(word))
	for _, r := range string(accents.Filter(norm.NFC.Bytes([]byte(bare)))) {
		if len(dst)-from+utf8.UTFMax > wordBytesMax {
			break
		}
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
	}
	return dst
}

// The combining diacritical marks. The vowel signs of other scripts are not included.
const combiningFirst, combiningLast = 0x0300, 0x036f

// accents folds Latin letters without a decomposition, such as ø and ß.
var accents = asciifolding.New()

// parts yields the parts of a compound word: parse_http and parseHTTP consist of parse and http.
func parts(word string, yield func(part string)) {
	if len(word) > rawBytesMax {
		return
	}
	start, found := 0, false
	end := func(at int) {
		if part := strings.Trim(word[start:at], "_"); part != "" {
			yield(part)
		}
		start, found = at, true
	}
	before, beforeThat := rune(0), rune(0)
	lastAt := 0
	for i, r := range word {
		switch {
		case r == '_' || before == '_':
			if r == '_' && before != '_' {
				end(i)
			}
		case unicode.IsUpper(r) && unicode.IsLower(before):
			end(i)
		case unicode.IsLower(r) && unicode.IsUpper(before) && unicode.IsUpper(beforeThat):
			// The last of several capitals begins the next word.
			end(lastAt)
		}
		beforeThat, before, lastAt = before, r, i
	}
	if found {
		end(len(word))
	}
}

// simple reports whether a word has no parts, as most words.
func simple(word string) bool {
	for i := range len(word) {
		if c := word[i]; c == '_' || c >= utf8.RuneSelf || i > 0 && c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return true
}

// cut returns the beginning of a text, of at most bytesMax bytes and of whole characters.
func cut(text string, bytesMax int) string {
	if len(text) <= bytesMax {
		return text
	}
	for bytesMax > 0 && !utf8.RuneStart(text[bytesMax]) {
		bytesMax--
	}
	return text[:bytesMax]
}

// termRoom is memory for one term.
type termRoom [rawBytesMax]byte

// eachTerm yields the terms of a text: its words and their parts. The bytes are in the room, valid
// until the next call.
func eachTerm(room *termRoom, text string, yield func(term []byte)) {
	found := scanner{text: text}
	for found.next() {
		word := text[found.start:found.end]
		yield(appendFolded(room[:0], word))
		if simple(word) {
			continue
		}
		parts(word, func(part string) { yield(appendFolded(room[:0], part)) })
	}
}
