package index

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"pws/internal/id"
)

// ownerShards is how many parts the table has: each is locked, and grows, alone.
const ownerShards = 64

// Owners says by the ID of a thing whom it belongs to, for things that are reached by their own ID.
// There may be very many, so a part is two arrays without holes for pointers, which are two thirds
// full at the least: an entry takes its own size and up to half of it more. What was put in stays.
// It is safe for concurrent use.
type Owners[V any] struct {
	shards [ownerShards]ownerShard[V]
}

// ownerShard is a hash table with open addressing. An entry stands in the first place that was free
// at or behind the one that its hash names.
type ownerShard[V any] struct {
	mu struct {
		sync.RWMutex
		// things are zero where a place is free.
		things []id.ID
		owners []V
		count  int
	}
}

// NewOwners makes an empty table.
func NewOwners[V any]() *Owners[V] { return new(Owners[V]) }

// ownerHash spreads the bits of an ID, of which those of one millisecond differ in some alone.
func ownerHash(thing id.ID) uint64 {
	high, low := bits.Mul64(
		binary.BigEndian.Uint64(thing[:8])^0x9e3779b97f4a7c15,
		binary.BigEndian.Uint64(thing[8:])^0xd1b54a32d192ed03)
	return high ^ low
}

func (o *Owners[V]) shard(hash uint64) *ownerShard[V] { return &o.shards[hash%ownerShards] }

// Set says whom a thing belongs to, and reports whether it is new. The zero ID names nothing.
func (o *Owners[V]) Set(thing id.ID, owner V) (fresh bool) {
	if thing.IsZero() {
		return false
	}
	hash := ownerHash(thing)
	s := o.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if (s.mu.count+1)*ownerFullOf > len(s.mu.things)*ownerFull {
		s.grow()
	}
	at, known := s.find(thing, hash)
	s.mu.things[at], s.mu.owners[at] = thing, owner
	if !known {
		s.mu.count++
	}
	return !known
}

// A part grows by a quarter when it is 17/20 full.
const (
	ownerFull   = 17
	ownerFullOf = 20
)

func (s *ownerShard[V]) grow() {
	things, owners := s.mu.things, s.mu.owners
	room := max(8, len(things)+len(things)/4)
	s.mu.things, s.mu.owners = make([]id.ID, room), make([]V, room)
	for from, thing := range things {
		if !thing.IsZero() {
			at, _ := s.find(thing, ownerHash(thing))
			s.mu.things[at], s.mu.owners[at] = thing, owners[from]
		}
	}
}

// find is the place of a thing, or the free one that it would take.
func (s *ownerShard[V]) find(thing id.ID, hash uint64) (at int, known bool) {
	start, _ := bits.Mul64(hash/ownerShards*ownerShards, uint64(len(s.mu.things)))
	for at = int(start); ; at++ {
		if at == len(s.mu.things) {
			at = 0
		}
		if s.mu.things[at] == thing {
			return at, true
		}
		if s.mu.things[at].IsZero() {
			return at, false
		}
	}
}

// Get is whom a thing belongs to.
func (o *Owners[V]) Get(thing id.ID) (owner V, ok bool) {
	hash := ownerHash(thing)
	s := o.shard(hash)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.mu.things) == 0 || thing.IsZero() {
		return owner, false
	}
	at, ok := s.find(thing, hash)
	if ok {
		owner = s.mu.owners[at]
	}
	return owner, ok
}

// Len is the number of things.
func (o *Owners[V]) Len() (count int) {
	for at := range o.shards {
		s := &o.shards[at]
		s.mu.RLock()
		count += s.mu.count
		s.mu.RUnlock()
	}
	return count
}
