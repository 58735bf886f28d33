// Package glob matches paths against patterns with the semantics of doublestar:
//
//   - any characters of one segment, also none
//     ?        one character of a segment
//     [a-z]    one character of a class; [^a-z] and [!a-z] negate it
//     {a,b}    either of the alternatives, which may be nested
//     **       as a whole segment: any number of segments, also none
//     \x       the character x itself
//
// Everything else matches itself. "**" that is not a whole segment is "*".
//
// Alternatives are expanded when a pattern is compiled, up to a limit, so matching never tries
// combinations of them. Within one alternative both levels of stars remember only the last star,
// so a match takes at most as many steps as the product of the two lengths. Steps are counted for
// callers that bound their work.
package glob

import (
	"strings"
	"unicode/utf8"
)

// The limits of a pattern: its length, and the number and total length of its alternatives.
const (
	LengthBytesMax      = 512
	AlternativesMax     = 64
	AlternativeBytesMax = 4096
)

// The sentences about invalid patterns.
const (
	problemLength   = "must be 1 to 512 bytes long"
	problemUTF8     = "must be UTF-8"
	problemBrace    = "has a brace without its partner"
	problemClass    = "has an invalid character class"
	problemEscape   = "ends with a backslash"
	problemTooMany  = "has more than 64 alternatives"
	problemTooLarge = "has alternatives of more than 4096 bytes in total"
)

// Glob is a compiled pattern. It is safe for concurrent use.
type Glob struct {
	alternatives [][]segment
	prefix       string
}

// segment is a segment of a pattern. One of the fields is set.
type segment struct {
	// any is "**".
	any bool
	// literal is a segment without special characters. It is never empty, so that an empty segment
	// of a pattern, which has no tokens, matches nothing.
	literal string
	tokens  []token
}

type tokenKind uint8

const (
	character tokenKind = iota
	star
	one
	class
)

type token struct {
	kind tokenKind
	char rune
	// ranges are pairs of characters, for a class.
	ranges  []rune
	negated bool
}

// Compile compiles a pattern. It returns what is wrong with it, empty for a valid one.
func Compile(pattern string) (*Glob, string) {
	if pattern == "" || len(pattern) > LengthBytesMax {
		return nil, problemLength
	}
	if !utf8.ValidString(pattern) {
		return nil, problemUTF8
	}
	texts, problem := expand(pattern)
	if problem != "" {
		return nil, problem
	}
	g := &Glob{}
	for nth, text := range texts {
		segments, problem := parse(text)
		if problem != "" {
			return nil, problem
		}
		g.alternatives = append(g.alternatives, segments)
		prefix := literalPrefix(segments)
		if nth == 0 {
			g.prefix = prefix
		}
		for !strings.HasPrefix(prefix, g.prefix) {
			g.prefix = g.prefix[:len(g.prefix)-1]
		}
	}
	return g, ""
}

// Prefix is what every path that matches begins with. It may end within a character.
func (g *Glob) Prefix() string { return g.prefix }

// literalPrefix returns what all paths that match begin with.
func literalPrefix(segments []segment) string {
	prefix := ""
	for i, one := range segments {
		if i > 0 && (one.any || prefix == "") {
			// "a/**" matches "a".
			return prefix
		}
		if i > 0 {
			prefix += "/"
		}
		if one.any {
			return prefix
		}
		if one.literal != "" {
			prefix += one.literal
			continue
		}
		for _, t := range one.tokens {
			if t.kind != character {
				break
			}
			prefix += string(t.char)
		}
		return prefix
	}
	return prefix
}

// expand returns the alternatives of a pattern without their braces.
func expand(pattern string) (texts []string, problem string) {
	// Alternatives that still have braces wait, in order, behind those that have none.
	waiting, bytes := []string{pattern}, 0
	for len(waiting) > 0 {
		text := waiting[0]
		waiting = waiting[1:]
		open, between, end, problem := firstBraces(text)
		if problem != "" {
			return nil, problem
		}
		if open < 0 {
			texts = append(texts, text)
			if bytes += len(text); bytes > AlternativeBytesMax {
				return nil, problemTooLarge
			}
			continue
		}
		if len(texts)+len(waiting)+len(between)+1 > AlternativesMax {
			return nil, problemTooMany
		}
		from := open + 1
		var made []string
		for _, to := range append(between, end) {
			made = append(made, text[:open]+text[from:to]+text[end+1:])
			from = to + 1
		}
		waiting = append(made, waiting...)
	}
	return texts, ""
}

// firstBraces finds the first group of alternatives: its braces and the commas between them. Open
// is negative if there is none.
func firstBraces(text string) (open int, commas []int, end int, problem string) {
	open = -1
	depth, inClass := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
		case c == '{':
			if depth++; depth == 1 {
				open = i
			}
		case c == ',' && depth == 1:
			commas = append(commas, i)
		case c == '}' && depth == 0:
			return 0, nil, 0, problemBrace
		case c == '}':
			if depth--; depth == 0 {
				return open, commas, i, ""
			}
		}
	}
	if depth > 0 {
		return 0, nil, 0, problemBrace
	}
	return -1, nil, 0, ""
}

// parse splits an alternative into segments. A slash in a class belongs to the class.
func parse(text string) (segments []segment, problem string) {
	var tokens []token
	stars, bytes := 0, 0
	end := func() {
		segments = append(segments, segmentOf(tokens, stars == 2 && bytes == 2))
		tokens, stars, bytes = nil, 0, 0
	}
	for text != "" {
		size := 1
		switch text[0] {
		case '/':
			end()
			text = text[1:]
			continue
		case '*':
			if stars++; len(tokens) == 0 || tokens[len(tokens)-1].kind != star {
				tokens = append(tokens, token{kind: star})
			}
		case '?':
			tokens = append(tokens, token{kind: one})
		case '[':
			var t token
			if t, size = parseClass(text); size == 0 {
				return nil, problemClass
			}
			tokens = append(tokens, t)
		case '\\':
			if text = text[1:]; text == "" {
				return nil, problemEscape
			}
			fallthrough
		default:
			var char rune
			char, size = utf8.DecodeRuneInString(text)
			tokens = append(tokens, token{char: char})
		}
		bytes += size
		text = text[size:]
	}
	end()
	return segments, ""
}

func segmentOf(tokens []token, any bool) segment {
	if any {
		return segment{any: true}
	}
	literal := make([]byte, 0, len(tokens))
	for _, t := range tokens {
		if t.kind != character {
			return segment{tokens: tokens}
		}
		literal = utf8.AppendRune(literal, t.char)
	}
	return segment{literal: string(literal)}
}

// parseClass parses a class at the beginning of a text. Size is zero if it is invalid.
func parseClass(text string) (t token, size int) {
	t.kind = class
	at := 1
	if at < len(text) && (text[at] == '^' || text[at] == '!') {
		t.negated = true
		at++
	}
	next := func() (char rune, ok bool) {
		if at < len(text) && text[at] == '\\' {
			at++
		}
		if at >= len(text) {
			return 0, false
		}
		char, size := utf8.DecodeRuneInString(text[at:])
		at += size
		return char, true
	}
	for at < len(text) && text[at] != ']' {
		low, ok := next()
		high := low
		if ok && at+1 < len(text) && text[at] == '-' && text[at+1] != ']' {
			at++
			high, ok = next()
		}
		if !ok {
			return t, 0
		}
		t.ranges = append(t.ranges, low, high)
	}
	if at >= len(text) || len(t.ranges) == 0 {
		return t, 0
	}
	return t, at + 1
}

// Match reports whether a canonical path matches, and how many steps that took.
func (g *Glob) Match(path string) (matches bool, steps int) {
	for _, segments := range g.alternatives {
		m := matcher{steps: steps + 1}
		matches = m.path(segments, path)
		if steps = m.steps; matches {
			return true, steps
		}
	}
	return false, steps
}

type matcher struct{ steps int }

// path matches the segments of a path. "**" first takes none, and one more whenever what follows
// does not match. Only the last "**" is tried again: what an earlier one could take, it can.
func (m *matcher) path(pattern []segment, path string) bool {
	at := 0
	rest, ended := path, false
	lastAny, lastRest, lastEnded := -1, "", false
	for {
		m.steps++
		if at < len(pattern) && pattern[at].any {
			lastAny, lastRest, lastEnded = at, rest, ended
			at++
			continue
		}
		if ended && at == len(pattern) {
			return true
		}
		if !ended && at < len(pattern) {
			name, after, more := strings.Cut(rest, "/")
			if m.segment(&pattern[at], name) {
				rest, ended = after, !more
				at++
				continue
			}
		}
		if lastAny < 0 || lastEnded {
			return false
		}
		_, after, more := strings.Cut(lastRest, "/")
		lastRest, lastEnded = after, !more
		at, rest, ended = lastAny+1, lastRest, lastEnded
	}
}

// segment matches one name. Only the last star is tried again.
func (m *matcher) segment(pattern *segment, name string) bool {
	if pattern.tokens == nil {
		return pattern.literal == name
	}
	tokens := pattern.tokens
	at, last, lastName := 0, -1, ""
	for {
		m.steps++
		if at < len(tokens) && tokens[at].kind == star {
			last, lastName = at, name
			at++
			continue
		}
		if name == "" && at == len(tokens) {
			return true
		}
		if name != "" && at < len(tokens) {
			char, size := utf8.DecodeRuneInString(name)
			if tokens[at].takes(char) {
				name = name[size:]
				at++
				continue
			}
		}
		if last < 0 || lastName == "" {
			return false
		}
		_, size := utf8.DecodeRuneInString(lastName)
		lastName = lastName[size:]
		at, name = last+1, lastName
	}
}

func (t *token) takes(char rune) bool {
	switch t.kind {
	case character:
		return t.char == char
	case class:
		for i := 0; i < len(t.ranges); i += 2 {
			if t.ranges[i] <= char && char <= t.ranges[i+1] {
				return !t.negated
			}
		}
		return t.negated
	case star, one:
	}
	return t.kind == one
}
