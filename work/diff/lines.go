package diff

import (
	"bytes"
	"hash/maphash"
	"math"
)

// text is a content and the offsets of its lines. A line includes its "\n", so a last line
// without one differs from the same line with it. A "\r" is part of its line.
type text struct {
	content []byte
	starts  []int32 // one more than there are lines; the last is the length of the content
}

// makeText finds the lines of a content. Offsets are 32 bits wide; files are much smaller than
// that.
func makeText(content []byte) text {
	if len(content) > math.MaxInt32-1 {
		panic("diff: content of 2 GiB or more")
	}
	starts := make([]int32, 1, countLines(content)+1)
	for i := 0; i < len(content); {
		size := bytes.IndexByte(content[i:], '\n') + 1
		if size == 0 {
			size = len(content) - i
		}
		i += size
		starts = append(starts, int32(i))
	}
	return text{content, starts}
}

func countLines(content []byte) int {
	n := bytes.Count(content, []byte{'\n'})
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}

func (t text) lines() int { return len(t.starts) - 1 }

func (t text) line(i int) []byte { return t.content[t.starts[i]:t.starts[i+1]] }

// The sides of a comparison.
const (
	inOld = 1 << iota
	inNew
)

// class is a distinct line: its first occurrence and the sides on which it occurs. It is small,
// because hostile contents have hundreds of thousands.
type class struct {
	start, end int32
	hash       uint32
	first      uint8
	sides      uint8
}

// interner numbers distinct lines in the order in which they are first seen.
type interner struct {
	old, new text
	classes  []class
	table    []int32 // number of a class plus one, by open addressing; zero is free
}

// hashSeed prevents the author of the lines from controlling the cost of interning. Numbers do
// not depend on it, so results do not either.
var hashSeed = maphash.MakeSeed()

func newInterner(old, new text) *interner {
	return &interner{old: old, new: new, table: make([]int32, 256)}
}

// line returns the content of a class.
func (in *interner) line(c *class) []byte {
	if c.first == inOld {
		return in.old.content[c.start:c.end]
	}
	return in.new.content[c.start:c.end]
}

// number returns the class of the line i of a side.
func (in *interner) number(side uint8, i int) int32 {
	t := &in.old
	if side == inNew {
		t = &in.new
	}
	line := t.line(i)
	hash := uint32(maphash.Bytes(hashSeed, line))
	mask := uint32(len(in.table) - 1)
	slot := hash & mask
	for ; in.table[slot] != 0; slot = (slot + 1) & mask {
		number := in.table[slot] - 1
		if c := &in.classes[number]; c.hash == hash && bytes.Equal(in.line(c), line) {
			c.sides |= side
			return number
		}
	}
	in.classes = append(in.classes, class{t.starts[i], t.starts[i+1], hash, side, side})
	number := int32(len(in.classes) - 1)
	in.table[slot] = number + 1
	if 2*len(in.classes) > len(in.table) {
		in.grow()
	}
	return number
}

func (in *interner) grow() {
	in.table = make([]int32, 4*len(in.table))
	mask := uint32(len(in.table) - 1)
	for number := range in.classes {
		slot := in.classes[number].hash & mask
		for in.table[slot] != 0 {
			slot = (slot + 1) & mask
		}
		in.table[slot] = int32(number) + 1
	}
}
