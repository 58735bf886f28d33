package jsonschema

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// verdict is what a scan found.
type verdict uint8

const (
	// fits means strict JSON that can be decoded into its type within the bounds of its lists.
	fits verdict = iota
	// unfit means strict JSON with an unknown member, a wrong type, or too many elements.
	unfit
	// broken means a syntax error at the place of the scan.
	broken
	// duplicate means an object with two equal names; the scan is at the second one.
	duplicate
	// tooDeep means nesting that is too deep; the scan is after the bracket.
	tooDeep
	// tooMany means an object with too many members; the scan is at the first one too many.
	tooMany
)

// scanner reads a whole text BEFORE any of it is decoded. It checks the syntax, and it compares the
// structure with a plan, so that decoding allocates only what the bounds of the plan permit. It
// allocates memory only for the names of objects with many members.
type scanner struct {
	body     []byte
	at       int
	depthMax int
	verdict  verdict
}

// scan reads a text to its end. A nil use permits any value.
func scan(body []byte, u *use) scanner {
	s := scanner{body: body, depthMax: DepthMax}
	s.run(u)
	return s
}

func (s *scanner) run(u *use) {
	s.skipBlank()
	valid := s.value(u, 0)
	s.skipBlank()
	if s.verdict <= unfit && (!valid || s.at < len(s.body)) {
		s.verdict = broken
	}
}

// peek is the next byte, zero at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.body) {
		return s.body[s.at]
	}
	return 0
}

func (s *scanner) skipBlank() {
	for s.at < len(s.body) {
		switch s.body[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) refuse() {
	if s.verdict == fits {
		s.verdict = unfit
	}
}

// value reads one value, which begins here. It reports false at the first error of the syntax.
func (s *scanner) value(u *use, depth int) bool {
	c := s.peek()
	if u != nil && !u.takes(c) {
		s.refuse()
		u = nil
	}
	switch c {
	case '{':
		return s.object(u, depth)
	case '[':
		return s.list(u, depth)
	case '"':
		return s.text()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	from := s.at
	if !s.number() {
		return false
	}
	if u.isLongInteger(s.at - from) {
		s.refuse()
	}
	return true
}

// integerMax is the longest integer that is read, in bytes; int64 has fewer digits.
const integerMax = 32

// isLongInteger reports whether a number of that size is too long for an integer.
func (u *use) isLongInteger(size int) bool {
	return size > integerMax && u != nil && u.plan.kind == kindInteger
}

// takes reports whether the library decodes a value that begins with a byte. It takes null for
// every type.
func (u *use) takes(first byte) bool {
	switch u.plan.kind {
	case kindObject, kindMap:
		return first == '{' || first == 'n'
	case kindList:
		return first == '[' || first == 'n'
	case kindText:
		return first == '"' || first == 'n'
	case kindBoolean:
		return first == 't' || first == 'f' || first == 'n'
	case kindInteger, kindNumber:
		return first == '-' || first >= '0' && first <= '9' || first == 'n'
	case kindOpen:
	}
	return true
}

// enter reads the bracket of an object or a list. It reports whether the value may be so deep.
func (s *scanner) enter(depth int) bool {
	s.at++
	if depth >= s.depthMax {
		s.verdict = tooDeep
		return false
	}
	s.skipBlank()
	return true
}

func (s *scanner) list(u *use, depth int) bool {
	if !s.enter(depth) {
		return false
	}
	if s.peek() == ']' {
		s.at++
		return true
	}
	elem := u.element()
	for count := int64(1); ; count++ {
		if elem != nil && u.check.items.exceeded(count) {
			s.refuse()
			elem = nil
		}
		if !s.value(elem, depth+1) {
			return false
		}
		if more, ok := s.next(']'); !more {
			return ok
		}
	}
}

// element is the use of the elements of a list or a map, nil if any value may be there.
func (u *use) element() *use {
	if u == nil {
		return nil
	}
	return u.plan.elem
}

// exceeded reports whether a count is beyond the bounds.
func (b bounds) exceeded(n int64) bool { return b.set && n > b.max }

// next reads a comma or the closing bracket. It reports whether an element follows, and otherwise
// whether that is the end of the value.
func (s *scanner) next(end byte) (more, ok bool) {
	s.skipBlank()
	switch s.peek() {
	case ',':
		s.at++
		s.skipBlank()
		return true, true
	case end:
		s.at++
		return false, true
	}
	return false, false
}

func (s *scanner) object(u *use, depth int) bool {
	if !s.enter(depth) {
		return false
	}
	if s.peek() == '}' {
		s.at++
		return true
	}
	seen := names{body: s.body}
	known := -1
	for count := int64(1); ; count++ {
		start := s.at
		if count > MembersMax {
			s.verdict = tooMany
			return false
		}
		if s.peek() != '"' || !s.text() {
			return false
		}
		var member *use
		if u != nil && u.plan.kind == kindObject {
			if at := u.plan.find(s.body[start:s.at], known+1); at >= 0 {
				known, member = at, &u.plan.members[at].use
			}
		} else if u != nil && u.plan.kind == kindMap && !u.check.items.exceeded(count) {
			member = u.plan.elem
		}
		if member == nil && u != nil && u.plan.kind != kindOpen {
			s.refuse()
		}
		if !seen.add(start, s.at) {
			s.at, s.verdict = start, duplicate
			return false
		}
		s.skipBlank()
		if s.peek() != ':' {
			return false
		}
		s.at++
		s.skipBlank()
		if !s.value(member, depth+1) {
			return false
		}
		if more, ok := s.next('}'); !more {
			return ok
		}
	}
}

// nameMax is the longest quoted name with escapes that is compared with the declared names.
const nameMax = 512

// find is the position of the member of a quoted name, -1 if there is none. It is looked for at the
// expected place first.
func (p *plan) find(quoted []byte, expected int) int {
	if expected < len(p.members) && bytes.Equal(p.members[expected].quoted, quoted) {
		return expected
	}
	name := quoted[1 : len(quoted)-1]
	if len(name) < nameMax && bytes.IndexByte(name, '\\') >= 0 {
		var room [nameMax]byte
		name = appendUnquoted(room[:0], name)
	}
	if at, known := p.byName[string(name)]; known {
		return at
	}
	return -1
}

func (s *scanner) literal(word string) bool {
	if !bytes.HasPrefix(s.body[s.at:], unsafe.Slice(unsafe.StringData(word), len(word))) {
		return false
	}
	s.at += len(word)
	return s.delimited()
}

// delimited reports whether a literal or a number ends here.
func (s *scanner) delimited() bool {
	switch s.peek() {
	case 0:
		return s.at == len(s.body)
	case ' ', '\t', '\r', '\n', ',', ']', '}':
		return true
	}
	return false
}

func (s *scanner) digits() bool {
	from := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > from
}

func (s *scanner) number() bool {
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !s.digits() {
		return false
	}
	if s.peek() == '.' {
		s.at++
		if !s.digits() {
			return false
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if !s.digits() {
			return false
		}
	}
	return s.delimited()
}

// text reads a string, a word at a time where nothing is special.
func (s *scanner) text() bool {
	body, at := s.body, s.at+1
	for {
		for len(body)-at >= 8 {
			word := binary.LittleEndian.Uint64(body[at:])
			if mark := unsafeWord(word) | word&highBits; mark != 0 {
				at += bits.TrailingZeros64(mark) / 8
				break
			}
			at += 8
		}
		if at >= len(body) {
			s.at = at
			return false
		}
		size := 1
		switch c := body[at]; {
		case c == '"':
			s.at = at + 1
			return true
		case c == '\\':
			size = escapeSize(body[at:])
		case c < ' ':
			size = 0
		case c >= utf8.RuneSelf:
			var r rune
			if r, size = utf8.DecodeRune(body[at:]); r == utf8.RuneError && size == 1 {
				size = 0
			}
		}
		if size == 0 {
			s.at = at
			return false
		}
		at += size
	}
}

// escapeSize is the size of the escape that a text begins with, zero if it is invalid. A surrogate
// pair is one escape.
func escapeSize(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
	default:
		return 0
	}
	code, ok := escapedCode(text)
	if !ok || !utf16.IsSurrogate(code) {
		if ok {
			return 6
		}
		return 0
	}
	low, ok := escapedCode(text[6:])
	if !ok || utf16.DecodeRune(code, low) == utf8.RuneError {
		return 0
	}
	return 12
}

// escapedCode is the code of an escape \uXXXX that a text begins with.
func escapedCode(text []byte) (code rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f') {
			return 0, false
		}
	}
	return hex4(text[2:]), true
}

// Strict checks that a text is strict JSON: RFC 8259 in UTF-8, without duplicate names and with at
// most that nesting. Errors: INVALID_JSON.
func Strict(text []byte, depth int) error {
	s := scanner{body: text, depthMax: depth}
	if s.run(nil); s.verdict == fits {
		return nil
	}
	return s.fault()
}
