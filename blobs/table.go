package blobs

import "hash/maphash"

// seed makes the order of a table differ from process to process, so that nobody can choose
// contents whose hashes lie close together in it.
var seed = maphash.MakeSeed()

// tagOf is what a table knows of a hash.
func tagOf(h *Hash) uint32 { return uint32(maphash.Bytes(seed, h[:])) }

// place says where a record is: the slot of its slab and its number in it. Zero is none.
type place uint32

const (
	placeBits  = 10
	recordsMax = 1 << placeBits
)

func placeOf(slot uint32, nth int) place { return place(slot<<placeBits | uint32(nth)) }

func (p place) slot() uint32 { return uint32(p >> placeBits) }

func (p place) nth() int { return int(p & (recordsMax - 1)) }

// table leads from hashes to places. It has no pointers, and no hashes: the records have these. A
// slot is a tag and a place, at the position of its tag or behind it, without a gap between.
type table struct {
	slots []uint64
	used  int
}

const tableLeast = 64

func (t *table) mask() uint32 { return uint32(len(t.slots) - 1) }

// set adds a place for a tag.
func (t *table) set(tag uint32, p place) {
	if (t.used+1)*4 > len(t.slots)*3 {
		t.resize(max(tableLeast, 2*len(t.slots)))
	}
	t.used++
	t.insert(uint64(tag)<<32 | uint64(p))
}

func (t *table) insert(slot uint64) {
	at := uint32(slot>>32) & t.mask()
	for t.slots[at] != 0 {
		at = (at + 1) & t.mask()
	}
	t.slots[at] = slot
}

func (t *table) resize(slots int) {
	old := t.slots
	t.slots = make([]uint64, slots)
	for _, slot := range old {
		if slot != 0 {
			t.insert(slot)
		}
	}
}

// find returns the position of the slot with a tag and a place, which has to be there.
func (t *table) find(tag uint32, p place) uint32 {
	at := tag & t.mask()
	for t.slots[at] != uint64(tag)<<32|uint64(p) {
		at = (at + 1) & t.mask()
	}
	return at
}

// move changes a place.
func (t *table) move(tag uint32, from, to place) {
	t.slots[t.find(tag, from)] = uint64(tag)<<32 | uint64(to)
}

// remove takes a place out and moves slots behind it up.
func (t *table) remove(tag uint32, p place) {
	free := t.find(tag, p)
	mask := t.mask()
	for i := (free + 1) & mask; t.slots[i] != 0; i = (i + 1) & mask {
		home := uint32(t.slots[i]>>32) & mask
		if (i-home)&mask >= (i-free)&mask {
			t.slots[free] = t.slots[i]
			free = i
		}
	}
	t.slots[free] = 0
	t.used--
	if len(t.slots) > tableLeast && t.used*8 < len(t.slots) {
		t.resize(len(t.slots) / 2)
	}
}
