// Package memo remembers results that cost time to make.
package memo

import (
	"container/list"
	"errors"
	"sync"
)

// Memo remembers results that depend on nothing but their key, up to a total size; the one that was
// used least recently is dropped first. While a result is being made, all others who want it wait
// for it. A new edition forgets all results.
type Memo[K comparable, V any] struct {
	sizeMax int
	mu      struct {
		sync.Mutex
		edition uint64
		entries map[K]*remembered[K, V]
		// used has the complete entries, the one used last at the front; size is their total.
		used list.List
		size int
	}
}

type remembered[K comparable, V any] struct {
	key  K
	size int
	// done is closed when value and err are set.
	done  chan struct{}
	value V
	err   error
	place *list.Element
}

// New returns an empty memo that keeps results of a total size.
func New[K comparable, V any](sizeMax int) *Memo[K, V] {
	m := &Memo[K, V]{sizeMax: sizeMax}
	m.mu.entries = map[K]*remembered[K, V]{}
	return m
}

var errNotMade = errors.New("the result that the request waited for was not made")

// Get returns the result for a key in an edition, which it makes if it is not known. The size of a
// result is its approximate size in memory. A result is not kept if its size is 0, if it takes more
// than half of the total, if it is an error, or if there is a newer edition. A nil memo keeps
// nothing.
func (m *Memo[K, V]) Get(
	edition uint64, key K, make func() (value V, size int, err error),
) (V, error) {
	if m == nil {
		value, _, err := make()
		return value, err
	}
	m.mu.Lock()
	if m.mu.edition < edition {
		m.mu.edition, m.mu.size = edition, 0
		clear(m.mu.entries)
		m.mu.used.Init()
	}
	if edition < m.mu.edition {
		m.mu.Unlock()
		value, _, err := make()
		return value, err
	}
	if known, ok := m.mu.entries[key]; ok {
		if known.place != nil {
			m.mu.used.MoveToFront(known.place)
		}
		m.mu.Unlock()
		<-known.done
		return known.value, known.err
	}
	made := m.begin(key)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.keep(made)
		close(made.done)
	}()
	made.value, made.size, made.err = make()
	return made.value, made.err
}

// Known returns the result for a key if it is remembered. It makes none, and waits for none that is
// being made.
func (m *Memo[K, V]) Known(key K) (value V, known bool) {
	if m == nil {
		return value, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	one := m.mu.entries[key]
	if one == nil || one.place == nil {
		return value, false
	}
	m.mu.used.MoveToFront(one.place)
	return one.value, true
}

// begin adds an entry that is being made. The lock is held.
func (m *Memo[K, V]) begin(key K) *remembered[K, V] {
	// The error is that of the others if make panics.
	one := &remembered[K, V]{key: key, done: make(chan struct{}), err: errNotMade}
	m.mu.entries[key] = one
	return one
}

// keep adds a complete entry to those in use, or drops it. The lock is held.
func (m *Memo[K, V]) keep(one *remembered[K, V]) {
	if m.mu.entries[one.key] != one {
		// A newer edition has forgotten it.
		return
	}
	if one.err != nil || one.size == 0 || one.size > m.sizeMax/2 {
		delete(m.mu.entries, one.key)
		return
	}
	one.place = m.mu.used.PushFront(one)
	m.mu.size += one.size
	for m.mu.size > m.sizeMax {
		last := m.mu.used.Remove(m.mu.used.Back()).(*remembered[K, V])
		delete(m.mu.entries, last.key)
		m.mu.size -= last.size
	}
}
