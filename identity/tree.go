package identity

import (
	"encoding/binary"

	"pws/internal/id"
	"pws/internal/sorted"
)

// idPair is an entry of a tree by ID; the key is inline, so that a search reads no other memory.
type idPair[V any] struct {
	key   id.ID
	value V
}

// idTree is a persistent map by ID. Copies share their nodes until one of them writes.
type idTree[V any] struct{ tree sorted.Set[idPair[V]] }

func newIDTree[V any]() idTree[V] {
	less := func(a, b idPair[V]) bool { return lessID(&a.key, &b.key) }
	return idTree[V]{sorted.By(less, sorted.Degree).New()}
}

// lessID orders like id.ID.Compare, by two words instead of sixteen bytes.
func lessID(a, b *id.ID) bool {
	upperA, upperB := binary.BigEndian.Uint64(a[:8]), binary.BigEndian.Uint64(b[:8])
	if upperA != upperB {
		return upperA < upperB
	}
	return binary.BigEndian.Uint64(a[8:]) < binary.BigEndian.Uint64(b[8:])
}

func (t idTree[V]) clone() idTree[V] { return idTree[V]{t.tree.Copy()} }

func (t idTree[V]) get(key id.ID) (V, bool) {
	pair, ok := t.tree.Get(idPair[V]{key: key})
	return pair.value, ok
}

func (t idTree[V]) set(key id.ID, value V) { t.tree.Set(idPair[V]{key, value}) }

func (t idTree[V]) delete(key id.ID) { t.tree.Delete(idPair[V]{key: key}) }

func (t idTree[V]) len() int { return t.tree.Len() }

// scan visits entries in ascending order, beginning with the first key that is not below from,
// until visit returns false.
func (t idTree[V]) scan(from id.ID, visit func(key id.ID, value V) bool) {
	t.tree.Ascend(idPair[V]{key: from}, func(pair idPair[V]) bool {
		return visit(pair.key, pair.value)
	})
}

// min returns the lowest entry.
func (t idTree[V]) min() (id.ID, V, bool) {
	pair, ok := t.tree.Min()
	return pair.key, pair.value, ok
}

// dueEntry is the time when an agent first has a record to drop.
type dueEntry struct {
	at    int64
	agent id.ID
}

func lessDue(a, b dueEntry) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return lessID(&a.agent, &b.agent)
}
