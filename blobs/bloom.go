package blobs

import (
	"math/bits"
	"sync/atomic"
)

// bloom is a blocked Bloom filter over hashes: all bits of a hash lie in one line of 64 bytes, so
// that a miss costs one access to memory. The hashes are uniform already; their own bits are used.
type bloom []uint64

const (
	bloomBitsPerBlob = 10
	bloomLineWords   = 8
	bloomProbes      = 6
)

func newBloom(blobs uint64) bloom {
	lines := (blobs*bloomBitsPerBlob + 511) / 512
	return make(bloom, max(lines, 1)*bloomLineWords)
}

// line picks the line by bytes 8 to 16; the index picks pages by the first 8.
func (f bloom) line(h *Hash) []uint64 {
	hi, _ := bits.Mul64(le.Uint64(h[8:]), uint64(len(f)/bloomLineWords))
	return f[hi*bloomLineWords : (hi+1)*bloomLineWords]
}

func (f bloom) add(h *Hash) {
	line, x := f.line(h), le.Uint64(h[16:])
	for range bloomProbes {
		line[x>>6&7] |= 1 << (x & 63)
		x >>= 9
	}
}

func (f bloom) mayHave(h *Hash) bool {
	line, x := f.line(h), le.Uint64(h[16:])
	for range bloomProbes {
		if line[x>>6&7]&(1<<(x&63)) == 0 {
			return false
		}
		x >>= 9
	}
	return true
}

// touched is a set of hashes that Has or Add has reported as stored, in constant memory. A false
// positive only delays the removal of a blob.
type touched struct {
	bits [touchedWords]atomic.Uint64
}

const (
	touchedWords  = 1 << 15
	touchedProbes = 3
)

func (t *touched) mark(h *Hash) {
	for i := range touchedProbes {
		x := le.Uint64(h[8*i:])
		w, bit := &t.bits[x>>6%touchedWords], uint64(1)<<(x&63)
		if w.Load()&bit == 0 {
			w.Or(bit)
		}
	}
}

func (t *touched) has(h *Hash) bool {
	for i := range touchedProbes {
		x := le.Uint64(h[8*i:])
		if t.bits[x>>6%touchedWords].Load()&(1<<(x&63)) == 0 {
			return false
		}
	}
	return true
}
