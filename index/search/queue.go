package search

import (
	"math"
	"sync"

	"pws/internal/id"
)

// queueKeysMax is how many documents wait by their own names. Beyond it whole projects wait, which
// are looked through for what has changed.
const queueKeysMax = 50_000

// Queue holds what has to be indexed, by names alone, each once however often it changes. It is
// safe for concurrent use; putting costs a lookup in a map.
type Queue struct {
	mu struct {
		sync.Mutex
		waiting map[Key]struct{}
		// order and urgent are in the order of positions.
		order, urgent []waiting
		// taken is the position of the oldest change that is in hand.
		taken uint64
	}
	wake chan struct{}
}

// waiting is a key with the position of the first change that has put it there.
type waiting struct {
	key      Key
	position uint64
}

// NewQueue makes an empty queue.
func NewQueue() *Queue {
	q := &Queue{wake: make(chan struct{}, 1)}
	q.mu.waiting = map[Key]struct{}{}
	return q
}

// Wake is signalled when something has come.
func (q *Queue) Wake() <-chan struct{} { return q.wake }

// Poke signals Wake.
func (q *Queue) Poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Put notes that documents changed with an entry of the log.
func (q *Queue) Put(position uint64, keys ...Key) {
	q.mu.Lock()
	for _, key := range keys {
		q.put(key, position)
	}
	q.mu.Unlock()
	q.Poke()
}

func (q *Queue) put(key Key, position uint64) {
	if _, there := q.mu.waiting[key]; there {
		return
	}
	if whole := (Key{Project: key.Project}); key.Kind != 0 && !key.Project.IsZero() {
		if _, there := q.mu.waiting[whole]; there {
			return
		}
		if len(q.mu.waiting) >= queueKeysMax {
			key = whole
		}
	}
	q.mu.waiting[key] = struct{}{}
	q.mu.order = append(q.mu.order, waiting{key, position})
}

// PutFirst notes that a whole project has to be looked through before all others.
func (q *Queue) PutFirst(position uint64, project id.ID) {
	q.mu.Lock()
	q.mu.urgent = append(q.mu.urgent, waiting{Key{Project: project}, position})
	q.mu.Unlock()
	q.Poke()
}

// Take takes up to so many keys, the oldest first. They are in hand until Done: what changes from
// now on is put again.
func (q *Queue) Take(most int) (keys []Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	take := func(from *[]waiting) {
		count := min(most-len(keys), len(*from))
		for _, one := range (*from)[:count] {
			if q.mu.taken == 0 || one.position < q.mu.taken {
				q.mu.taken = one.position
			}
			keys = append(keys, one.key)
		}
		*from = (*from)[count:]
		if len(*from) == 0 {
			*from = nil
		}
	}
	take(&q.mu.urgent)
	before := len(keys)
	take(&q.mu.order)
	for _, key := range keys[before:] {
		delete(q.mu.waiting, key)
	}
	return keys
}

// Done says that what is in hand is in the index.
func (q *Queue) Done() {
	q.mu.Lock()
	q.mu.taken = 0
	q.mu.Unlock()
}

// Len is how many keys wait.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.order) + len(q.mu.urgent)
}

// Oldest is the position of the oldest change that waits, or that is in hand as well; the greatest
// there is where there is none.
func (q *Queue) Oldest(inHand bool) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	oldest := uint64(math.MaxUint64)
	if len(q.mu.order) > 0 {
		oldest = min(oldest, q.mu.order[0].position)
	}
	if len(q.mu.urgent) > 0 {
		oldest = min(oldest, q.mu.urgent[0].position)
	}
	if inHand && q.mu.taken > 0 {
		oldest = min(oldest, q.mu.taken)
	}
	return oldest
}
