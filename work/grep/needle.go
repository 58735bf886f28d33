package grep

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	// needlesMax is how many needles are searched. A pattern that needs more has none.
	needlesMax = 8
	// needleBytesMin is the least length of a needle of a regular expression. Shorter ones are in
	// too many lines.
	needleBytesMin = 2
	// foldBytesMax is how much of a text is searched without regard to case. It bounds the time for a
	// text that almost has a long word in many places.
	foldBytesMax = 32
)

// needle is a text that is searched.
type needle struct {
	text []byte
	// fold ignores the case of ASCII letters; text is then in lower case. Lower and upper are the
	// forms of its rarest letter, which is at the place rare.
	fold         bool
	rare         int
	lower, upper byte
	// outside says that characters outside of ASCII fold to letters of the text.
	outside bool
}

func newNeedle(text string, fold bool) needle {
	if !fold {
		return needle{text: []byte(text)}
	}
	n := needle{text: []byte(strings.ToLower(text[:min(len(text), foldBytesMax)])), fold: true}
	for i, c := range n.text {
		if commonness(c) < commonness(n.text[n.rare]) {
			n.rare = i
		}
		n.outside = n.outside || c == 'k' || c == 's'
	}
	n.lower = n.text[n.rare]
	n.upper = upper(n.lower)
	return n
}

// common lists the characters of texts and programs, the most common first.
const common = " etaoinsrlcdpumfg.hb_(),=yv\"w;:k0x-/1'*>{}j<q2z[]&!+|`3456789$#%?@\\~^\t"

// commonness is higher for characters that occur more often.
func commonness(c byte) int {
	if at := strings.IndexByte(common, c); at >= 0 {
		return len(common) - at
	}
	return 0
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// index returns the first place of the needle at or behind an offset, -1 if there is none.
func (n *needle) index(content []byte, from int) int {
	if !n.fold {
		if at := bytes.Index(content[from:], n.text); at >= 0 {
			return from + at
		}
		return -1
	}
	// The next places of both forms of the rarest letter.
	at := from + n.rare
	low, high := at-1, at-1
	for at < len(content) {
		if low < at {
			low = indexByte(content, n.lower, at)
		}
		if high < at {
			high = low
			if n.upper != n.lower {
				high = indexByte(content, n.upper, at)
			}
		}
		at = min(low, high)
		begin := at - n.rare
		if begin+len(n.text) > len(content) {
			return -1
		}
		if foldEqual(content[begin:], n.text) {
			return begin
		}
		at++
	}
	return -1
}

// indexByte returns the length of the content if there is no such byte at or behind an offset.
func indexByte(content []byte, c byte, from int) int {
	if at := bytes.IndexByte(content[from:], c); at >= 0 {
		return from + at
	}
	return len(content)
}

// foldEqual reports whether a content begins with a text in lower case.
func foldEqual(content, text []byte) bool {
	for i, c := range text {
		d := content[i]
		if 'A' <= d && d <= 'Z' {
			d += 'a' - 'A'
		}
		if c != d {
			return false
		}
	}
	return true
}

// finder searches one text.
type finder struct {
	pattern *Pattern
	content []byte
	// needles are those of the pattern, or none if they do not apply to the text.
	needles []needle
	// exact says that a needle is the match.
	exact bool
	// nexts are the next places of the needles.
	nexts [needlesMax]int
}

// folding are the characters outside of ASCII that fold to k and s.
var folding = [][]byte{[]byte("\u212a"), []byte("\u017f")}

func (p *Pattern) finder(content []byte) finder {
	f := finder{pattern: p, content: content, needles: p.needles}
	f.exact = p.expression == nil || p.folded
	for i := range p.needles {
		f.nexts[i] = -1
		if p.needles[i].outside &&
			(bytes.Contains(content, folding[0]) || bytes.Contains(content, folding[1])) {
			f.needles, f.exact = nil, false
		}
	}
	return f
}

// next returns the next line that may match, from an offset at the begin of a line, and the place
// of the match in it, negative if it does not match. All are negative if there is no such line.
func (f *finder) next(from int) (begin, end, column int) {
	if len(f.needles) == 0 {
		end = lineEnd(f.content, from)
		return from, end, f.match(from, end)
	}
	hit := len(f.content)
	for i := range f.needles {
		if f.nexts[i] < from {
			f.nexts[i] = f.needles[i].index(f.content, from)
			if f.nexts[i] < 0 {
				f.nexts[i] = len(f.content)
			}
		}
		hit = min(hit, f.nexts[i])
	}
	if hit == len(f.content) {
		return -1, -1, -1
	}
	begin = bytes.LastIndexByte(f.content[from:hit], '\n') + 1 + from
	end = lineEnd(f.content, hit)
	if f.exact {
		return begin, end, hit - begin
	}
	return begin, end, f.match(begin, end)
}

func (f *finder) match(begin, end int) int {
	text := lineText(f.content, begin, end)
	if len(text) > ExpressionLineBytesMax {
		end := ExpressionLineBytesMax
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	found := f.pattern.expression.FindIndex(text)
	if found == nil {
		return -1
	}
	return found[0]
}

// needlesOf returns texts of which each match of a regular expression contains one; none if no
// useful ones are known.
func needlesOf(tree *syntax.Regexp) []needle {
	switch tree.Op {
	case syntax.OpLiteral:
		text, fold := string(tree.Rune), tree.Flags&syntax.FoldCase != 0
		if len(text) < needleBytesMin || fold && !isASCII(text) {
			return nil
		}
		return []needle{newNeedle(text, fold)}
	case syntax.OpCapture, syntax.OpPlus:
		return needlesOf(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return needlesOf(tree.Sub[0])
		}
	case syntax.OpConcat:
		var best []needle
		for _, sub := range tree.Sub {
			if found := needlesOf(sub); better(found, best) {
				best = found
			}
		}
		return best
	case syntax.OpAlternate:
		var all []needle
		for _, sub := range tree.Sub {
			found := needlesOf(sub)
			if found == nil || len(all)+len(found) > needlesMax {
				return nil
			}
			all = append(all, found...)
		}
		return all
	}
	return nil
}

// better reports whether needles are longer than others.
func better(a, b []needle) bool {
	shortest := func(list []needle) int {
		least := 0
		for i := range list {
			if n := len(list[i].text); i == 0 || n < least {
				least = n
			}
		}
		return least
	}
	return shortest(a) > shortest(b)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
