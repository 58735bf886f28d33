package work

import (
	"slices"
	"sort"

	"pws/internal/id"
)

// Spill takes the full blocks of a history out of the heap. It keeps blocks that have SpillBytes at
// most together, and returns what reads the nth of them, valid as long as that is reachable. It
// returns nil where it cannot keep them.
type Spill func(blocks [][]byte) (read func(nth int) []byte)

// SpillBytes is the size of the blocks that a Spill keeps together. A history has up to as many
// bytes of full blocks in the heap.
const SpillBytes = 32 << 10

// spilledBlock is a full block of a history outside of the heap.
type spilledBlock struct {
	// read returns the blocks that are kept together, of which this is the nth.
	read func(nth int) []byte
	nth  int
	// first is the ID of its first changeset.
	first id.ID
}

func (b *spilledBlock) bytes() []byte { return b.read(b.nth) }

// spilledBlockMemory is what one takes in the heap.
const spilledBlockMemory = 64

// SpillHistory moves the oldest full blocks of the history out of the heap where there are many. It
// is called on an unpublished clone, or on a state that nobody else has seen.
func (p *Project) SpillHistory(to Spill) {
	if p.history.blockBytes >= SpillBytes {
		p.historyBytes -= p.history.spill(to)
	}
}

// spill returns how many bytes it moved out of the heap.
func (h *history) spill(to Spill) (moved int64) {
	blocks := h.blocks
	for h.blockBytes >= SpillBytes {
		count, size := 1, len(blocks[0])
		for count < len(blocks) && size+len(blocks[count]) <= SpillBytes {
			size += len(blocks[count])
			count++
		}
		together := blocks[:count:count]
		read := to(together)
		switch {
		case read == nil && size <= SpillBytes:
			h.keep(blocks)
			return moved
		case read == nil:
			// A block that is too large stays where it is, without the list that it was in.
			block := together[0]
			read = func(int) []byte { return block }
		default:
			moved += int64(size - count*spilledBlockMemory)
		}
		for nth, block := range together {
			first := id.ID(block[:len(id.ID{})])
			h.spilled = append(h.spilled, spilledBlock{read: read, nth: nth, first: first})
		}
		h.blockBytes -= size
		blocks = blocks[count:]
	}
	h.keep(blocks)
	return moved
}

// keep leaves the last blocks in the heap; older states have the others as long as they live.
func (h *history) keep(blocks [][]byte) {
	if len(blocks) < len(h.blocks) {
		h.blocks = slices.Clone(blocks)
	}
}

func (h *history) isSpilled(sequence uint32) bool {
	return int(sequence-1)/blockChangesets < len(h.spilled)
}

// blockOf returns the range in which a changeset with an ID can be: one block that is outside of
// the heap, or the last such block and all those in the heap.
func (h *history) blockOf(wanted id.ID) (begin, end int) {
	after := sort.Search(len(h.spilled), func(nth int) bool {
		return h.spilled[nth].first.Compare(wanted) > 0
	})
	if after < len(h.spilled) {
		return max(0, after-1) * blockChangesets, after * blockChangesets
	}
	return max(0, after-1) * blockChangesets, h.len()
}
