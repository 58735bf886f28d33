package jsonschema

import (
	"bytes"
	"hash/maphash"
	"unicode/utf16"
	"unicode/utf8"
)

// names are the names of one object, to find the first that comes again. A few are compared with
// one another. Many are in a hash table, which takes 8 to 16 bytes for each and as much again while
// it grows. The seed is random, so that a client cannot choose names that collide.
type names struct {
	body  []byte
	few   [8]span
	count int
	// slots are the starts of names, plus one.
	slots []uint32
}

// span is the place of a quoted name in a body.
type span struct{ start, end int32 }

var nameSeed = maphash.MakeSeed()

// add adds a name. It reports false if the object has it already.
func (n *names) add(start, end int) bool {
	one := n.body[start:end]
	if n.slots == nil {
		for _, known := range n.few[:n.count] {
			if sameName(n.body[known.start:known.end], one) {
				return false
			}
		}
		if n.count < len(n.few) {
			n.few[n.count] = span{int32(start), int32(end)} // #nosec G115 -- bodies are small
			n.count++
			return true
		}
		n.slots = make([]uint32, 64)
		for _, known := range n.few {
			n.insert(n.body[known.start:known.end], int(known.start))
		}
	}
	if 2*n.count >= len(n.slots) {
		old := n.slots
		n.slots = make([]uint32, 2*len(old))
		for _, slot := range old {
			if slot != 0 {
				n.insert(quotedAt(n.body, int(slot-1)), int(slot-1))
			}
		}
	}
	n.count++
	return n.insert(one, start)
}

// insert puts a name into the table unless it is there.
func (n *names) insert(quoted []byte, start int) bool {
	mask := uint64(len(n.slots) - 1)
	for i := hashName(quoted) & mask; ; i = (i + 1) & mask {
		slot := n.slots[i]
		if slot == 0 {
			n.slots[i] = uint32(start + 1) // #nosec G115 -- bodies are small
			return true
		}
		if sameName(quotedAt(n.body, int(slot-1)), quoted) {
			return false
		}
	}
}

// quotedAt is the string that begins at an offset of a text whose strings are valid.
func quotedAt(body []byte, start int) []byte {
	at := start + 1
	for ; body[at] != '"'; at++ {
		if body[at] == '\\' {
			at++
		}
	}
	return body[start : at+1]
}

func hashName(quoted []byte) uint64 {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return maphash.Bytes(nameSeed, inner)
	}
	var sum maphash.Hash
	sum.SetSeed(nameSeed)
	for len(inner) > 0 {
		var room [utf8.UTFMax]byte
		r, size := character(inner)
		sum.Write(utf8.AppendRune(room[:0], r))
		inner = inner[size:]
	}
	return sum.Sum64()
}

// sameName compares two quoted names without their escapes.
func sameName(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return false
	}
	for len(a) > 0 && len(b) > 0 {
		one, oneSize := character(a)
		other, otherSize := character(b)
		if one != other {
			return false
		}
		a, b = a[oneSize:], b[otherSize:]
	}
	return len(a) == len(b)
}

// character is the first character of a valid text without its escape, and its size in the text.
func character(text []byte) (r rune, size int) {
	if text[0] != '\\' {
		return utf8.DecodeRune(text)
	}
	if size = escapeSize(text); size == 2 {
		return rune(plainEscape(text[1])), size
	}
	code := hex4(text[2:])
	if size == 12 {
		code = utf16.DecodeRune(code, hex4(text[8:]))
	}
	return code, size
}
