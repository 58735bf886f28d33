package merge

import (
	"bytes"
	"hash/maphash"
	"math"
)

// text is a content split into lines. A line includes its "\n".
type text struct {
	content []byte
	starts  []int32 // one more than there are lines; the last is the length of the content
	numbers []int32 // of the lines; equal lines have equal numbers in all texts of a merge
}

func (t *text) count() int32 { return int32(len(t.numbers)) }

func (t *text) line(i int32) []byte { return t.content[t.starts[i]:t.starts[i+1]] }

// lines returns the bytes of the lines of a span.
func (t *text) lines(s span) []byte { return t.content[t.starts[s.start]:t.starts[s.end]] }

// interner numbers distinct lines in the order in which they are first seen.
type interner struct {
	lines  [][]byte
	hashes []uint32
	table  []int32 // numbers plus one, by open addressing; zero is free
}

// hashSeed prevents the author of the lines from controlling the cost of interning. Numbers do
// not depend on it, so results do not either.
var hashSeed = maphash.MakeSeed()

func newInterner() *interner { return &interner{table: make([]int32, 256)} }

// text splits a content and numbers its lines.
func (in *interner) text(content []byte) text {
	if len(content) >= math.MaxInt32 {
		panic("merge: content of 2 GiB or more")
	}
	count := bytes.Count(content, []byte{'\n'}) + 1
	starts := make([]int32, 1, count+1)
	numbers := make([]int32, 0, count)
	for i := 0; i < len(content); {
		end := len(content)
		if size := bytes.IndexByte(content[i:], '\n'); size >= 0 {
			end = i + size + 1
		}
		numbers = append(numbers, in.number(content[i:end]))
		starts = append(starts, int32(end))
		i = end
	}
	return text{content, starts, numbers}
}

func (in *interner) number(line []byte) int32 {
	hash := uint32(maphash.Bytes(hashSeed, line))
	mask := uint32(len(in.table) - 1)
	slot := hash & mask
	for ; in.table[slot] != 0; slot = (slot + 1) & mask {
		number := in.table[slot] - 1
		if in.hashes[number] == hash && bytes.Equal(in.lines[number], line) {
			return number
		}
	}
	in.lines = append(in.lines, line)
	in.hashes = append(in.hashes, hash)
	number := int32(len(in.lines) - 1)
	in.table[slot] = number + 1
	if 2*len(in.lines) > len(in.table) {
		in.grow()
	}
	return number
}

func (in *interner) grow() {
	in.table = make([]int32, 4*len(in.table))
	mask := uint32(len(in.table) - 1)
	for number, hash := range in.hashes {
		slot := hash & mask
		for in.table[slot] != 0 {
			slot = (slot + 1) & mask
		}
		in.table[slot] = int32(number) + 1
	}
}
