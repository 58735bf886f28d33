package http

import (
	"hash/maphash"
	"math"
	"sync/atomic"
)

// ways is the number of cells in which the bucket of a key may stand.
const ways = 8

// buckets counts one limit for many keys in fixed memory and without locks.
//
// A bucket is a single time, as in the generic cell rate algorithm: the moment at which all that
// was taken will have come back. A bucket whose moment has passed is full, and so is a key without
// a cell; so a passed cell can be given to another key without loss. Where all cells of a key are
// taken, it gets the one that is full soonest together with what was taken from it. A newcomer is
// then a little worse off, and nobody can wash a limit away by using many keys.
type buckets struct {
	seed  maphash.Seed
	mask  uint64
	cells []cell
	// interval is the time in which one request comes back, in nanoseconds.
	interval int64
	quota    int64
}

// cell is a bucket: the hash of its key, zero for none, and its moment in Unix nanoseconds.
type cell struct {
	key  atomic.Uint64
	full atomic.Int64
}

// newBuckets makes room for about so many keys that are below their quota at the same time.
func newBuckets(quota, windowSeconds, keys int) *buckets {
	sets := 1
	for sets*ways < keys {
		sets *= 2
	}
	window := int64(windowSeconds) * 1e9
	return &buckets{
		seed: maphash.MakeSeed(), mask: uint64(sets - 1), cells: make([]cell, sets*ways),
		quota: int64(quota), interval: max(1, window/int64(quota)),
	}
}

// level is what a limit says after a request.
type level struct {
	remaining int64
	// reset is the time until the whole quota is there again, retry until the next request is.
	reset, retry int64
}

// take takes one request from the bucket of a key, and nothing where none is left.
func (b *buckets) take(key uint64, now int64) (level, bool) {
	c := b.find(key, now)
	capacity := b.interval * b.quota
	for {
		stored := c.full.Load()
		// No bucket is emptier than empty, also when the clock went back.
		full := min(max(stored, now), now+capacity)
		next := full + b.interval
		if next-now > capacity {
			if full >= stored || c.full.CompareAndSwap(stored, full) {
				return b.levelOf(full, now), false
			}
			continue
		}
		if c.full.CompareAndSwap(stored, next) {
			return b.levelOf(next, now), true
		}
	}
}

// giveBack returns what take took.
func (b *buckets) giveBack(key uint64, now int64) {
	c := b.find(key, now)
	for {
		full := c.full.Load()
		if full <= now || c.full.CompareAndSwap(full, full-b.interval) {
			return
		}
	}
}

// peek is the level of a key, which gets no cell by that.
func (b *buckets) peek(key uint64, now int64) level {
	set := b.set(key)
	for i := range set {
		if set[i].key.Load() == key {
			return b.levelOf(set[i].full.Load(), now)
		}
	}
	return b.levelOf(now, now)
}

func (b *buckets) levelOf(full, now int64) level {
	used := min(max(full-now, 0), b.interval*b.quota)
	// A bucket that holds the fraction of a request does not hold the request.
	taken := (used + b.interval - 1) / b.interval
	out := level{remaining: b.quota - taken, reset: used}
	if out.remaining == 0 {
		out.retry = used + b.interval - b.interval*b.quota
	}
	return out
}

func (b *buckets) set(key uint64) []cell {
	at := (key & b.mask) * ways
	return b.cells[at : at+ways]
}

// find is the cell of a key, taken from the key that needs it least where there is none.
func (b *buckets) find(key uint64, now int64) *cell {
	set := b.set(key)
	for {
		least, soonest, owner := 0, int64(math.MaxInt64), uint64(0)
		for i := range set {
			held := set[i].key.Load()
			if held == key {
				return &set[i]
			}
			full := set[i].full.Load()
			if held == 0 {
				full = math.MinInt64
			}
			if full < soonest {
				least, soonest, owner = i, full, held
			}
		}
		if set[least].key.CompareAndSwap(owner, key) {
			return &set[least]
		}
	}
}

// keyOf hashes what a bucket belongs to. Two keys with one hash share a bucket.
func (b *buckets) keyOf(owner []byte) uint64 {
	if hash := maphash.Bytes(b.seed, owner); hash != 0 {
		return hash
	}
	return 1
}
