package http

import (
	"hash/maphash"
	"math"
	"sync/atomic"
)

// ways is the number of cells that can hold the bucket of a key.
const ways = 8

// buckets counts one limit for many keys in fixed memory and without locks.
//
// A bucket is a single time, as in the generic cell rate algorithm: the time at which it will be
// full. A bucket whose time has passed is full, and so is that of a key without a cell, so the cell
// can be given to another key. Where all cells of a key are in use, the key takes over the cell
// that will be full first, with its time. A new key then has fewer requests left, but no caller can
// reset a limit by using many keys.
type buckets struct {
	seed  maphash.Seed
	mask  uint64
	cells []cell
	// interval is the time in which one request is refilled, in nanoseconds.
	interval int64
	quota    int64
}

// cell is a bucket: the hash of its key, zero for none, and its time in Unix nanoseconds.
type cell struct {
	key  atomic.Uint64
	full atomic.Int64
}

// newBuckets makes buckets for about that many keys with requests taken at the same time.
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

// level is the state of a bucket.
type level struct {
	// limit is what a full bucket has.
	limit, remaining int64
	// reset is the time until the bucket is full and retry until it has one request, in nanoseconds.
	reset, retry int64
}

// take takes one request from the bucket of a key. It reports whether there was one.
func (b *buckets) take(key uint64, now int64) (level, bool) {
	c := b.find(key)
	capacity := b.interval * b.quota
	for {
		stored := c.full.Load()
		// The bucket is not below zero, even if the clock went back.
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
	c := b.find(key)
	for {
		full := c.full.Load()
		if full <= now || c.full.CompareAndSwap(full, full-b.interval) {
			return
		}
	}
}

// spend takes an amount AFTER it was used, in billionths of what take takes. The bucket may become
// empty by more than its capacity, but at most by as much again, so that a clock that went back
// locks nobody out for longer than the window.
func (b *buckets) spend(key uint64, now, amount int64) {
	c := b.find(key)
	most := now + 2*b.interval*b.quota
	more := int64(float64(amount) * float64(b.interval) / 1e9)
	for {
		stored := c.full.Load()
		full := min(max(stored, now), most)
		if c.full.CompareAndSwap(stored, min(full+more, most)) {
			return
		}
	}
}

// owed returns the level of a key whose bucket spend empties. A fraction counts as remaining, so
// nothing remains only if the bucket is empty, and retry is the time until it is not.
func (b *buckets) owed(key uint64, now int64) level {
	capacity := b.interval * b.quota
	used := min(max(b.stored(key)-now, 0), 2*capacity)
	left := max(capacity-used, 0)
	out := level{
		limit: b.quota, remaining: (left + b.interval - 1) / b.interval, reset: used,
	}
	if left == 0 {
		out.retry = used - capacity + 1
	}
	return out
}

// stored is the time of a key's bucket, zero without one.
func (b *buckets) stored(key uint64) int64 {
	set := b.set(key)
	for i := range set {
		if set[i].key.Load() == key {
			return set[i].full.Load()
		}
	}
	return 0
}

// peek returns the level of a key. It gives the key no cell.
func (b *buckets) peek(key uint64, now int64) level {
	return b.levelOf(b.stored(key), now)
}

func (b *buckets) levelOf(full, now int64) level {
	used := min(max(full-now, 0), b.interval*b.quota)
	// A fraction of a request does not count as remaining.
	taken := (used + b.interval - 1) / b.interval
	out := level{limit: b.quota, remaining: b.quota - taken, reset: used}
	if out.remaining == 0 {
		out.retry = used + b.interval - b.interval*b.quota
	}
	return out
}

func (b *buckets) set(key uint64) []cell {
	at := (key & b.mask) * ways
	return b.cells[at : at+ways]
}

// find returns the cell of a key. A key without a cell takes over the cell that is full first.
func (b *buckets) find(key uint64) *cell {
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

// keyOf hashes the owner of a bucket. Owners with the same hash share a bucket.
func (b *buckets) keyOf(owner []byte) uint64 {
	if hash := maphash.Bytes(b.seed, owner); hash != 0 {
		return hash
	}
	return 1
}
