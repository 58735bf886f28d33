package search

import (
	"math"
	"sync"

	"pws/internal/id"
)

// queueKeysMax is the number of documents that are queued individually. Beyond it whole projects
// are queued, and all their documents are compared with the index.
const queueKeysMax = 50_000

// Queue holds the keys of documents to index, each once however often the document changes. It is
// safe for concurrent use; adding a key costs one map lookup.
type Queue struct {
	mu struct {
		sync.Mutex
		waiting map[Key]struct{}
		// order and urgent are sorted by position.
		order, urgent []waiting
		// taken is the oldest change that was taken and is not done.
		taken Mark
	}
	wake chan struct{}
}

// Mark is an entry of the log: its position, and its time in Unix milliseconds.
type Mark struct {
	Position uint64
	Millis   int64
}

// waiting is a key with the first change that queued it.
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

// Wake returns a channel that receives when a key was added.
func (q *Queue) Wake() <-chan struct{} { return q.wake }

// Poke signals Wake.
func (q *Queue) Poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Put queues documents that an entry of the log has changed.
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

// PutFirst queues a whole project before all other keys.
func (q *Queue) PutFirst(mark Mark, project id.ID) {
	q.mu.Lock()
	q.mu.urgent = append(q.mu.urgent, waiting{Key{Project: project}, mark})
	q.mu.Unlock()
	q.Poke()
}

// Take removes up to most keys, the oldest first. They count as in hand until Done. A key that
// changes after this call is queued again.
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

// Done records that the taken keys are in the index.
func (q *Queue) Done() {
	q.mu.Lock()
	q.mu.taken = Mark{}
	q.mu.Unlock()
}

// Len returns the number of queued keys.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.order) + len(q.mu.urgent)
}

// Oldest returns the oldest queued change, including those in hand if inHand is set. If there is
// none, the position is the largest possible.
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
