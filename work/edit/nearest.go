package edit

import (
	"strings"
	"unicode/utf8"
)

// Line is one line of a text, without its line feed.
type Line struct {
	// Number counts from 1.
	Number int `json:"line"`
	// Text is at most lineCharsMax characters of it.
	Text string `json:"text"`
}

// Difference says how a text that does not occur differs from one that does.
type Difference string

// The differences. EarlierEdit means that the text occurred before the edits before this one.
const (
	OtherText        Difference = ""
	OtherLineEndings Difference = "LINE_ENDINGS"
	OtherWhiteSpace  Difference = "WHITE_SPACE"
	EarlierEdit      Difference = "EARLIER_EDIT"
)

const (
	// linesMax and lineCharsMax limit the lines that are shown.
	linesMax     = 10
	lineCharsMax = 200
	// probesMax is the number of lines of the missing text that are compared, comparedMax the
	// number of bytes of a line that are.
	probesMax   = 6
	comparedMax = 400
	// likenessMin is the least mean likeness of lines that are shown, of 1.
	likenessMin = 0.35
)

// Nearest returns the lines of the text, as it was before the failed edit, that are nearest to the
// missing one, and how they differ. There are none if nothing in the text is like it.
func (e *NotFoundError) Nearest() ([]Line, Difference) {
	if at, end, found := findWithout(e.text, e.old, isReturn); found {
		return linesOf(e.text, at, end), OtherLineEndings
	}
	if at, end, found := findWithout(e.text, e.old, isSpace); found {
		return linesOf(e.text, at, end), OtherWhiteSpace
	}
	difference := OtherText
	if e.Index > 0 && newFinder(e.old).find(e.original) >= 0 {
		difference = EarlierEdit
	}
	return alike(e.text, e.old), difference
}

func isReturn(c byte) bool { return c == '\r' }

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// findWithout finds a text while some characters of both are ignored.
func findWithout(text, old string, ignored func(byte) bool) (at, end int, found bool) {
	wanted := without(old, ignored)
	if wanted == "" {
		return 0, 0, false
	}
	begin := newFinder(wanted).find(without(text, ignored))
	if begin < 0 {
		return 0, 0, false
	}
	at = -1
	for seen := 0; seen < begin+len(wanted); end++ {
		if ignored(text[end]) {
			continue
		}
		if seen == begin {
			at = end
		}
		seen++
	}
	return at, end, true
}

func without(text string, ignored func(byte) bool) string {
	var out strings.Builder
	out.Grow(len(text))
	for i := range len(text) {
		if !ignored(text[i]) {
			out.WriteByte(text[i])
		}
	}
	return out.String()
}

// linesOf returns the first lines of a part of a text.
func linesOf(text string, at, end int) []Line {
	number := 1 + strings.Count(text[:at], "\n")
	begin := 1 + strings.LastIndexByte(text[:at], '\n')
	lines := 1 + strings.Count(text[at:end], "\n")
	return linesFrom(text[begin:], number, lines)
}

func linesFrom(text string, number, count int) []Line {
	var lines []Line
	for i := range min(count, linesMax) {
		line, rest, more := strings.Cut(text, "\n")
		lines = append(lines, Line{Number: number + i, Text: shortened(line)})
		if text = rest; !more {
			break
		}
	}
	return lines
}

// shortened returns the first lineCharsMax characters of a line.
func shortened(line string) string {
	chars := 0
	for i := range line {
		if chars++; chars > lineCharsMax {
			return line[:i]
		}
	}
	return line
}

// alike returns the lines of a text that are most like those of another one. The first lines of
// the other one are compared with as many lines at each place. The likeness of two lines is the
// share of sequences of three bytes that both have (Dice's coefficient), and 1 if they differ in
// outer white space alone.
func alike(text, old string) []Line {
	c := newComparison(old)
	if c.informative == 0 {
		return nil
	}
	number, rest := 0, text
	for more := true; more; {
		var line string
		line, rest, more = strings.Cut(rest, "\n")
		c.line(line, number)
		number++
	}
	if c.best < likenessMin*float64(c.informative) {
		return nil
	}
	begin, rest := 0, text
	for ; begin < c.bestAt; begin++ {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return linesFrom(rest, begin+1, 1+strings.Count(strings.TrimSuffix(old, "\n"), "\n"))
}

// comparison compares the lines of a text with a few probes.
type comparison struct {
	probes []string
	// sizes are the numbers of different sequences of the probes.
	sizes []int
	// informative is the number of probes that are not blank.
	informative int
	// of has a bit for each probe that contains a sequence, by the hash of the sequence.
	of [1 << sequenceBits]uint8
	// seen is the number of the last line that contained a sequence, from 1.
	seen [1 << sequenceBits]uint32
	// sums are the likenesses of the last places, by the number of the first line.
	sums   [probesMax]float64
	best   float64
	bestAt int
}

const sequenceBits = 16

// sequence returns the hash of three bytes.
func sequence(text string, at int) uint32 {
	word := uint32(text[at]) | uint32(text[at+1])<<8 | uint32(text[at+2])<<16
	return word * 2654435761 >> (32 - sequenceBits)
}

// compared returns the part of a line that is compared.
func compared(line string) string {
	line = strings.TrimSpace(line[:min(len(line), comparedMax)])
	if !utf8.ValidString(line) {
		return strings.ToValidUTF8(line, "")
	}
	return line
}

func newComparison(old string) *comparison {
	c := new(comparison)
	for more := true; more && len(c.probes) < probesMax; {
		var line string
		line, old, more = strings.Cut(old, "\n")
		probe := compared(line)
		bit, size := uint8(1)<<len(c.probes), 0
		for i := range max(0, len(probe)-2) {
			if slot := &c.of[sequence(probe, i)]; *slot&bit == 0 {
				*slot |= bit
				size++
			}
		}
		c.probes, c.sizes = append(c.probes, probe), append(c.sizes, size)
		if probe != "" {
			c.informative++
		}
	}
	return c
}

// line compares the next line, whose number counts from 0. The place that begins with a line is
// complete when the lines of all probes were compared; an incomplete place at the end of the text
// has fewer of them.
func (c *comparison) line(line string, number int) {
	line = compared(line)
	size, common := 0, [probesMax]int{}
	for i := range max(0, len(line)-2) {
		hash := sequence(line, i)
		if c.seen[hash] == uint32(number)+1 {
			continue
		}
		c.seen[hash] = uint32(number) + 1
		size++
		for probe, bits := 0, c.of[hash]; bits != 0; probe, bits = probe+1, bits>>1 {
			common[probe] += int(bits & 1)
		}
	}
	c.sums[number%probesMax] = 0
	for nth, probe := range c.probes {
		if nth > number || probe == "" {
			continue
		}
		likeness := 1.0
		if probe != line {
			if size+c.sizes[nth] == 0 {
				continue
			}
			likeness = 2 * float64(common[nth]) / float64(size+c.sizes[nth])
		}
		first := number - nth
		sum := &c.sums[first%probesMax]
		if *sum += likeness; *sum > c.best {
			c.best, c.bestAt = *sum, first
		}
	}
}
