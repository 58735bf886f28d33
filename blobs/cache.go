package blobs

import (
	"sync"
	"sync/atomic"
)

const (
	shardCount = 32
	// slotBytes is what a cached blob costs beside its content: slot, map entry, allocation.
	slotBytes = 160
	// refMax is how many rounds of the hand a blob survives that was read often.
	refMax = 3
)

// shard holds a part of the recent blobs and of the cache. Both lie under one lock, so that a hit
// takes it once.
type shard struct {
	limit int64

	mu struct {
		sync.RWMutex
		recent map[Hash]recentBlob
		cached map[Hash]uint32 // index into slots
		slots  []slot
		free   []uint32
		hand   int
		bytes  int64
	}
}

type recentBlob struct {
	position uint64
	content  []byte
}

// slot is a place on the clock. A hit raises ref under the read lock; the hand lowers it.
type slot struct {
	hash    Hash
	content []byte
	ref     uint32 // atomic
	used    bool
}

func (sh *shard) init(limit int64) {
	sh.limit = limit
	sh.mu.recent = make(map[Hash]recentBlob)
	sh.mu.cached = make(map[Hash]uint32)
}

func (sh *shard) get(h *Hash) ([]byte, bool) {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	if len(sh.mu.recent) > 0 {
		if r, ok := sh.mu.recent[*h]; ok {
			return r.content, true
		}
	}
	i, ok := sh.mu.cached[*h]
	if !ok {
		return nil, false
	}
	s := &sh.mu.slots[i]
	// A lost update costs a round of the hand; a hot blob is at the maximum and is not written to.
	if ref := atomic.LoadUint32(&s.ref); ref < refMax {
		atomic.StoreUint32(&s.ref, ref+1)
	}
	return s.content, true
}

// keep puts a blob into the cache unless it is larger than the shard.
func (sh *shard) keep(h Hash, content []byte) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.keepLocked(h, content)
}

func (sh *shard) keepLocked(h Hash, content []byte) {
	cost := int64(cap(content)) + slotBytes
	if cost > sh.limit {
		return
	}
	if _, ok := sh.mu.cached[h]; ok {
		return
	}
	for sh.mu.bytes+cost > sh.limit {
		sh.evictOne()
	}
	sh.mu.bytes += cost
	s := slot{hash: h, content: content, used: true}
	if n := len(sh.mu.free); n > 0 {
		i := sh.mu.free[n-1]
		sh.mu.free = sh.mu.free[:n-1]
		sh.mu.slots[i] = s
		sh.mu.cached[h] = i
		return
	}
	sh.mu.cached[h] = uint32(len(sh.mu.slots))
	sh.mu.slots = append(sh.mu.slots, s)
}

// evictOne moves the hand to the next blob that was not read since it came by. It is called only
// while the shard holds something.
func (sh *shard) evictOne() {
	for {
		if sh.mu.hand == len(sh.mu.slots) {
			sh.mu.hand = 0
		}
		i := sh.mu.hand
		sh.mu.hand++
		s := &sh.mu.slots[i]
		if !s.used {
			continue
		}
		if ref := atomic.LoadUint32(&s.ref); ref > 0 {
			atomic.StoreUint32(&s.ref, ref-1)
			continue
		}
		sh.mu.bytes -= int64(cap(s.content)) + slotBytes
		delete(sh.mu.cached, s.hash)
		*s = slot{}
		sh.mu.free = append(sh.mu.free, uint32(i))
		return
	}
}

// addRecent reports whether the blob is new among the recent ones. The lowest position counts.
func (sh *shard) addRecent(position uint64, h Hash, content []byte) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if r, ok := sh.mu.recent[h]; ok {
		if position < r.position {
			r.position = position
			sh.mu.recent[h] = r
		}
		return false
	}
	sh.mu.recent[h] = recentBlob{position, content}
	return true
}

// collect appends the recent blobs up to a position.
func (sh *shard) collect(to []packing, upTo uint64) []packing {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	for h, r := range sh.mu.recent {
		if r.position <= upTo {
			to = append(to, packing{h, r})
		}
	}
	return to
}

// packed moves blobs that are in a pack now from the recent ones into the cache and returns their
// bytes. A map keeps the room of its largest day, so a map that is mostly empty is made anew.
func (sh *shard) packed(blobs []packing) (freed int64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	before := len(sh.mu.recent)
	for _, b := range blobs {
		if _, ok := sh.mu.recent[b.hash]; !ok {
			continue
		}
		delete(sh.mu.recent, b.hash)
		freed += int64(len(b.content))
		sh.keepLocked(b.hash, b.content)
	}
	if left := len(sh.mu.recent); before > 64 && left < before/4 {
		small := make(map[Hash]recentBlob, left)
		for h, r := range sh.mu.recent {
			small[h] = r
		}
		sh.mu.recent = small
	}
	return freed
}
