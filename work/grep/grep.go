// Package grep finds the lines of texts that match a word or a regular expression.
//
// A line ends with "\n" or "\r\n", which are not part of it. A regular expression has the syntax of
// RE2 and is matched against one line at a time, so ^ and $ are the ends of the line. It takes time
// linear in the length of the line, times the size of the compiled expression, which is bounded.
//
// Most lines are never cut. A pattern has needles where possible: texts of which each match
// contains one. They are searched in the whole text, and only lines with a needle are matched
// (needle.go).
package grep

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	// PatternCharsMax bounds a pattern.
	PatternCharsMax = 1000
	// programMax bounds a compiled expression, in instructions.
	programMax = 1000
	// ExpressionLineBytesMax is how much of a line is matched against a regular expression. It bounds
	// the time for one line.
	ExpressionLineBytesMax = 16 << 10
	// TextCharsMax is how much of a line a match shows.
	TextCharsMax = 400
	// ContextMax is the maximum number of lines before and after a match that it shows.
	ContextMax = 5
	// checkBytes is after how many bytes of lines a search asks whether to stop.
	checkBytes = 16 << 10
)

// Pattern is what to search. It is safe for concurrent use.
type Pattern struct {
	needles []needle
	// expression is nil if a needle is the match itself.
	expression *regexp.Regexp
	// folded says that the only needle is the match itself in texts without characters that fold to
	// ASCII.
	folded bool
}

// Compile compiles a word or a regular expression. It returns what is wrong with it, empty for a
// valid one.
func Compile(pattern string, isExpression, ignoreCase bool) (*Pattern, string) {
	switch {
	case pattern == "" || utf8.RuneCountInString(pattern) > PatternCharsMax:
		return nil, "must be 1 to 1000 characters long"
	case !utf8.ValidString(pattern):
		return nil, "must be UTF-8"
	case !isExpression && strings.ContainsAny(pattern, "\r\n"):
		return nil, "must be within one line"
	}
	if !isExpression {
		return compileWord(pattern, ignoreCase), ""
	}
	flags := syntax.Perl
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, "is not a regular expression of RE2: " + err.Error()
	}
	if size(tree) > programMax {
		return nil, "is too large when its repetitions are written out"
	}
	if ignoreCase {
		pattern = "(?i)" + pattern
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, "is not a regular expression of RE2: " + err.Error()
	}
	return &Pattern{needles: needlesOf(tree), expression: expression}, ""
}

func compileWord(word string, ignoreCase bool) *Pattern {
	if !ignoreCase {
		return &Pattern{needles: []needle{newNeedle(word, false)}}
	}
	expression := regexp.MustCompile("(?i)" + regexp.QuoteMeta(word))
	if !isASCII(word) {
		return &Pattern{expression: expression}
	}
	return &Pattern{
		needles: []needle{newNeedle(word, true)}, expression: expression,
		folded: len(word) <= foldBytesMax,
	}
}

// size returns about how many instructions a regular expression compiles to.
func size(tree *syntax.Regexp) int {
	inner := 0
	for _, sub := range tree.Sub {
		if inner += size(sub); inner > programMax {
			return programMax + 1
		}
	}
	switch tree.Op {
	case syntax.OpLiteral:
		return len(tree.Rune)
	case syntax.OpRepeat:
		return min(programMax+1, (inner+1)*max(1, tree.Min, tree.Max))
	}
	return inner + 1
}

// Line is a line of a text that matches.
type Line struct {
	// Number is the number of the line, from 1. Column is the place of the first match in it, in
	// characters, from 1.
	Number, Column int
	// Text is the line. Of a long line it is TextCharsMax characters, with the beginning of the match.
	Text string
	// Before and After are the lines around it, each cut to TextCharsMax characters.
	Before, After []string
}

// Place is where a search continues in a text: at the begin of a line.
type Place struct {
	// Offset is in bytes, and Lines the number of lines before it.
	Offset, Lines int
}

// Search is a search in texts. Its strings are copies, so that they keep no text in memory.
type Search struct {
	Pattern *Pattern
	// Context is the number of lines shown before and after a match.
	Context int
	// Stop is asked now and then whether the search stops. It may be nil.
	Stop func() bool
	// Found gets the lines. If it refuses one, the search stops before that line.
	Found func(Line) bool
}

// Text searches a text from a place. It returns where it has stopped; done says that this is the
// end of the text.
func (s *Search) Text(content []byte, from Place) (at Place, done bool) {
	l := lines{content: content, at: from, offset: from.Offset}
	f := s.Pattern.finder(content)
	checked := l.offset
	for l.offset < len(content) {
		if s.Stop != nil && l.offset-checked >= checkBytes {
			checked = l.offset
			if s.Stop() {
				return l.place(), false
			}
		}
		begin, end, column := f.next(l.offset)
		if begin < 0 {
			break
		}
		if column >= 0 {
			l.offset = begin
			if !s.Found(s.line(&l, begin, end, column)) {
				return l.place(), false
			}
		}
		l.offset = end + 1
	}
	return Place{Offset: len(content)}, true
}

// line returns a line that matches at an offset within it.
func (s *Search) line(l *lines, begin, end, offset int) Line {
	content := l.content
	text := lineText(content, begin, end)
	found := Line{
		Number: l.place().Lines + 1, Column: utf8.RuneCount(text[:offset]) + 1,
		Text: cutAround(text, offset),
	}
	if s.Context == 0 {
		return found
	}
	at := begin
	for range s.Context {
		if at == 0 {
			break
		}
		from := bytes.LastIndexByte(content[:at-1], '\n') + 1
		found.Before = append(found.Before, cut(lineText(content, from, at-1)))
		at = from
	}
	reverse(found.Before)
	at = end + 1
	for range s.Context {
		if at >= len(content) {
			break
		}
		to := lineEnd(content, at)
		found.After = append(found.After, cut(lineText(content, at, to)))
		at = to + 1
	}
	return found
}

func reverse(texts []string) {
	for a, b := 0, len(texts)-1; a < b; a, b = a+1, b-1 {
		texts[a], texts[b] = texts[b], texts[a]
	}
}

// lines counts the lines before an offset.
type lines struct {
	content []byte
	at      Place
	offset  int
}

func (l *lines) place() Place {
	l.at.Lines += bytes.Count(l.content[l.at.Offset:l.offset], newline)
	l.at.Offset = l.offset
	return l.at
}

var newline = []byte("\n")

// lineEnd returns the end of the line at an offset.
func lineEnd(content []byte, at int) int {
	if end := bytes.IndexByte(content[at:], '\n'); end >= 0 {
		return at + end
	}
	return len(content)
}

// lineText returns a line without its carriage return.
func lineText(content []byte, begin, end int) []byte {
	if end < len(content) && end > begin && content[end-1] == '\r' {
		end--
	}
	return content[begin:end]
}

// cut returns the first characters of a line.
func cut(text []byte) string { return string(text[:charsEnd(text, TextCharsMax)]) }

// contextChars is how many characters are shown before a match behind the first TextCharsMax.
const contextChars = 100

// cutAround returns the first characters of a line, or those around an offset if it is behind them.
func cutAround(text []byte, offset int) string {
	if end := charsEnd(text, TextCharsMax); offset < end || end == len(text) {
		return string(text[:end])
	}
	begin := offset
	for range contextChars {
		_, size := utf8.DecodeLastRune(text[:begin])
		begin -= size
	}
	return cut(text[begin:])
}

// charsEnd returns the end of the first characters of a text.
func charsEnd(text []byte, chars int) int {
	if len(text) <= chars {
		return len(text)
	}
	at := 0
	for ; chars > 0 && at < len(text); chars-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}
