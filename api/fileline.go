package api

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"pws/internal/fault"
	"pws/work"
)

// LineRange says which lines of a file a content has.
type LineRange struct {
	// First line, starting at 1; 0 for an empty file.
	From int `json:"from"`
	// Last line.
	To int `json:"to"`
	// Lines of the file.
	Total int `json:"total"`
}

// wantedLines are the lines that a caller asks for, before they are clamped to those of a file. The
// zero value means all.
type wantedLines struct{ from, to int }

func (w wantedLines) all() bool { return w == wantedLines{} }

// The query parameters for lines.
const (
	linesName    = "lines"
	fromLineName = "from_line"
	toLineName   = "to_line"
)

var lineParams = []Param{
	{
		Name: linesName, HTTPOnly: true,
		Doc: "Only these lines, as FROM-TO: starting at 1, inclusive, clamped to those of the file. " +
			"TO may be absent.",
	},
	{
		Name: fromLineName, Integer: true, Check: "min=0", Default: 1,
		Doc: "First line to return, 1 if absent. Clamped to the lines of the file.",
	},
	{
		Name: toLineName, Integer: true, Check: "min=0", Default: work.FileBytesMax,
		Doc: fmt.Sprintf("Last line to return, %d if absent, which is behind the end. Clamped to "+
			"the lines of the file.", work.FileBytesMax),
	},
}

const problemLines = "must be FROM-TO, for example 1-100, with TO not less than FROM"

// parseLines reads FROM-TO or FROM-. It reports whether the text is valid.
func parseLines(text string) (wantedLines, bool) {
	first, last, two := strings.Cut(text, "-")
	from, ok := lineNumber(first)
	to := math.MaxInt
	if ok && last != "" {
		to, ok = lineNumber(last)
	}
	if !two || !ok || to < from {
		return wantedLines{}, false
	}
	return wantedLines{from: max(from, 1), to: max(to, 1)}, true
}

// lineNumber reads digits. Numbers that are too large are clamped.
func lineNumber(digits string) (int, bool) {
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
	}
	number, err := strconv.Atoi(digits)
	if err != nil && digits != "" {
		number = math.MaxInt
	}
	return number, digits != ""
}

// wantedLines reads the query parameters: VALIDATION_FAILED.
func (c *Call) wantedLines() (wantedLines, error) {
	if len(c.Query) == 0 {
		return wantedLines{}, nil
	}
	text, asRange := c.Query[linesName]
	first, hasFirst := c.Query[fromLineName]
	last, hasLast := c.Query[toLineName]
	switch {
	case asRange && (hasFirst || hasLast):
		return wantedLines{}, fault.Invalid(fault.Field{
			Field: linesName, Problem: "must not be sent together with from_line or to_line",
		})
	case asRange:
		wanted, ok := parseLines(text)
		if !ok {
			return wanted, fault.Invalid(fault.Field{Field: linesName, Problem: problemLines})
		}
		return wanted, nil
	case !hasFirst && !hasLast:
		return wantedLines{}, nil
	}
	wanted := wantedLines{from: 1, to: math.MaxInt}
	if hasFirst {
		from, _ := lineNumber(first)
		wanted.from = max(from, 1)
	}
	if hasLast {
		to, _ := lineNumber(last)
		wanted.to = max(to, 1)
	}
	if wanted.to < wanted.from {
		return wanted, fault.Invalid(fault.Field{
			Field: toLineName, Problem: "must not be less than from_line",
		})
	}
	return wanted, nil
}

// validateLines validates the query parameters of a read of lines: VALIDATION_FAILED.
func validateLines(_ *None, c *Call) []error {
	_, err := c.wantedLines()
	return []error{err}
}

// of returns the lines of a content, with their line ends.
func (w wantedLines) of(content []byte) ([]byte, LineRange) {
	total := bytes.Count(content, lineFeed)
	if len(content) > 0 && content[len(content)-1] != '\n' {
		total++
	}
	lines := LineRange{From: min(w.from, total), To: min(w.to, total), Total: total}
	if total == 0 {
		return content, lines
	}
	begin := behindLines(content, lines.From-1)
	part := content[begin:]
	return part[:behindLines(part, lines.To-lines.From+1)], lines
}

var lineFeed = []byte("\n")

// behindLines returns the place behind that many lines.
func behindLines(content []byte, count int) int {
	at := 0
	for ; count > 0; count-- {
		end := bytes.IndexByte(content[at:], '\n')
		if end < 0 {
			return len(content)
		}
		at += end + 1
	}
	return at
}

// appendLines writes the member lines of a file.
func appendLines(dst []byte, lines *LineRange) []byte {
	dst = appendInt(append(dst, `,"lines":{"from":`...), int64(lines.From))
	dst = appendInt(append(dst, `,"to":`...), int64(lines.To))
	dst = appendInt(append(dst, `,"total":`...), int64(lines.Total))
	return append(dst, '}')
}
