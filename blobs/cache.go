package blobs

import "sync"

const shardCount = 32

// shard holds a part of the recent blobs and of the cache. Both lie under one lock, so that a hit
// takes it once.
type shard struct {
	mu struct {
		sync.RWMutex
		slabs
	}
}

func (sh *shard) init(limit int64) { sh.mu.limit = limit }

func (sh *shard) get(h *Hash) ([]byte, bool) {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	s, r := sh.mu.find(h)
	if r == nil {
		return nil, false
	}
	r.read()
	return s.content(r), true
}

// hasRecent calls found under the lock if the blob is a recent one.
func (sh *shard) hasRecent(h *Hash, found func()) bool {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	_, r := sh.mu.find(h)
	if r == nil || r.state != isRecent {
		return false
	}
	found()
	return true
}

// keep puts a blob into the cache unless it is larger than the shard. It reports whether the blob
// was not there.
func (sh *shard) keep(h Hash, content []byte, owned bool) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if int64(len(content))+recordBytes+slabBytes > sh.mu.limit {
		return false
	}
	if _, r := sh.mu.find(&h); r != nil {
		return false
	}
	sh.mu.table.set(tagOf(&h), sh.mu.store(record{hash: h, state: isPacked}, content, owned))
	sh.mu.evict()
	return true
}

// addRecent reports whether the blob is new among the recent ones. The lowest position counts.
func (sh *shard) addRecent(position uint64, h Hash, content []byte, owned bool) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s, r := sh.mu.find(&h)
	if r != nil && r.state == isRecent {
		r.position = min(r.position, position)
		return false
	}
	if r != nil {
		// The cache has what a Drop has dropped.
		sh.mu.remove(s, s.number(r))
	}
	one := record{hash: h, position: position, state: isRecent}
	sh.mu.table.set(tagOf(&h), sh.mu.store(one, content, owned))
	return true
}

// packing is a recent blob that is being packed. It stays at its place until the shard has it as
// packed: nothing but Forget moves a recent blob, and Forget waits for Pack.
type packing struct {
	position uint64
	prefix   uint64 // of the hash
	place    place
	shard    uint32
}

// collect appends the recent blobs up to a position.
func (sh *shard) collect(to []packing, number uint32, upTo uint64) []packing {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	for _, s := range sh.mu.slots {
		if s == nil || s.recent == 0 {
			continue
		}
		for nth := range s.records {
			if r := &s.records[nth]; r.state == isRecent && r.position <= upTo {
				to = append(to, packing{r.position, prefix(&r.hash), placeOf(s.slot, nth), number})
			}
		}
	}
	return to
}

// at returns a recent blob.
func (sh *shard) at(p place) (Hash, []byte) {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	s := sh.mu.slots[p.slot()]
	r := &s.records[p.nth()]
	return r.hash, s.content(r)
}

// packed notes that a recent blob is in a pack now, and returns its bytes. It goes into the cache
// with its slab.
func (sh *shard) packed(p place) int64 {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s := sh.mu.slots[p.slot()]
	r := &s.records[p.nth()]
	size := int64(r.size)
	r.state = isPacked
	sh.mu.count(isRecent, -1)
	sh.mu.count(isPacked, 1)
	if s.recent--; s.recent == 0 {
		sh.mu.adopt(s)
		sh.mu.evict()
	}
	return size
}

// forget drops a blob and returns how many bytes of the recent ones it had.
func (sh *shard) forget(h *Hash) (bytes int64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	s, r := sh.mu.find(h)
	if r == nil {
		return 0
	}
	if r.state == isRecent {
		bytes = int64(r.size)
	}
	sh.mu.wipe(s, s.number(r))
	return bytes
}
