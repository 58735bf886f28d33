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
		// taken is the oldest change that is in hand.
		taken Mark
	}
	wake chan struct{}
}

// Mark is an entry of the log: its position, and its time in Unix milliseconds.
type Mark struct {
	Position uint64
	Millis   int64
}

// waiting is a key with the first change that has put it there.
type waiting struct {
	key Key
	Mark
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
func (q *Queue) Put(mark Mark, keys ...Key) {
	q.mu.Lock()
	for _, key := range keys {
		q.put(key, mark)
	}
	q.mu.Unlock()
	q.Poke()
}

func (q *Queue) put(key Key, mark Mark) {
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
	q.mu.order = append(q.mu.order, waiting{key, mark})
}

// PutFirst notes that a whole project has to be looked through before all others.
func (q *Queue) PutFirst(mark Mark, project id.ID) {
	q.mu.Lock()
	q.mu.urgent = append(q.mu.urgent, waiting{Key{Project: project}, mark})
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
			if q.mu.taken.Position == 0 || one.Position < q.mu.taken.Position {
				q.mu.taken = one.Mark
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
	q.mu.taken = Mark{}
	q.mu.Unlock()
}

// Len is how many keys wait.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.order) + len(q.mu.urgent)
}

// Oldest is the oldest change that waits, or that is in hand as well. Where there is none its
// position is the greatest there is.
func (q *Queue) Oldest(inHand bool) Mark {
	q.mu.Lock()
	defer q.mu.Unlock()
	oldest := Mark{Position: math.MaxUint64}
	for _, list := range [][]waiting{q.mu.order, q.mu.urgent} {
		if len(list) > 0 && list[0].Position < oldest.Position {
			oldest = list[0].Mark
		}
	}
	if taken := q.mu.taken; inHand && taken.Position > 0 && taken.Position < oldest.Position {
		oldest = taken
	}
	return oldest
}
