package wake

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"pws/internal/id"
)

const (
	// checksMax is the number of waiters that check at one time.
	checksMax = 2
	// processorShare is the part of one processor that checks may use in the long run, and burst is
	// the time they may use at once after an idle period: enough for some thousands of checks.
	processorShare = 0.25
	burst          = 100 * time.Millisecond
	// projectsMax bounds the projects of one call whose audience is requested; with more, all
	// waiters are woken.
	projectsMax = 4096
	// checkMax is the maximum time counted for a check: a longer one has waited for a processor.
	checkMax = time.Millisecond
	// counterBits is the binary logarithm of the number of counters for waiters of single projects.
	counterBits = 12
)

// Audience returns who receives a project's activity when waiting for all projects: everybody, or
// some agents. It may return too many; those are woken and find nothing.
type Audience func(project id.ID) (everybody bool, agents []id.ID)

// Hub wakes waiters. Its methods are safe for concurrent use.
type Hub struct {
	audience Audience
	// forAll counts the waiters for all projects, and named those for one project, by the hash of
	// its ID. A project whose counter is zero has no waiters. Writers only read these counters.
	forAll atomic.Int64
	named  [1 << counterBits]atomic.Int32
	mu     struct {
		sync.Mutex
		// byProject and byAgent hold the waiters that have nothing to check.
		byProject map[id.ID]*list
		byAgent   map[id.ID]*list
		// queue holds the waiters that will check next.
		queue    list
		checking int
		// credit is the time that checks may use, as of creditAt.
		credit   time.Duration
		creditAt time.Time
		closed   bool
	}
	// timer resumes the checks when there is credit again.
	timer *time.Timer
}

// NewHub makes a hub without waiters.
func NewHub(audience Audience) *Hub {
	h := &Hub{audience: audience}
	h.mu.byProject, h.mu.byAgent = map[id.ID]*list{}, map[id.ID]*list{}
	h.mu.credit, h.mu.creditAt = burst, time.Now()
	h.timer = time.AfterFunc(time.Hour, h.resume)
	return h
}

// Close closes the hub. No waiter is woken after it.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.closed = true
	h.timer.Stop()
}

// Awaits reports whether there may be waiters for the activity of a project. It takes no lock, so
// waiters for other projects cost next to nothing. A waiter that registers BEFORE the call is seen.
func (h *Hub) Awaits(project id.ID) bool {
	return h.forAll.Load() > 0 || h.named[counterOf(project)].Load() > 0
}

// counterOf mixes all bits of an ID, because many IDs have bits in common.
func counterOf(project id.ID) uint64 {
	const spread = 0x9E3779B97F4A7C15
	mixed := binary.BigEndian.Uint64(project[:8])*spread ^ binary.BigEndian.Uint64(project[8:])
	return mixed * spread >> (64 - counterBits)
}

// count adds or removes a waiter in the counters.
func (h *Hub) count(w *Waiter, change int32) {
	if w.project.IsZero() {
		h.forAll.Add(int64(change))
	} else {
		h.named[counterOf(w.project)].Add(change)
	}
}

// Notify reports new activity of projects, AFTER it can be read, and wakes the waiters concerned in
// turn. Callers leave out projects without waiters (Awaits). The audience is requested
// without the lock, and not at all once everybody is concerned.
func (h *Hub) Notify(projects ...id.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	everybody := len(projects) > projectsMax
	for _, project := range projects {
		h.enqueue(h.mu.byProject, project)
		if everybody || len(h.mu.byAgent) == 0 {
			continue
		}
		h.mu.Unlock()
		all, agents := h.audience(project)
		h.mu.Lock()
		everybody = all
		for _, agent := range agents {
			h.enqueue(h.mu.byAgent, agent)
		}
	}
	if everybody {
		for agent := range h.mu.byAgent {
			h.enqueue(h.mu.byAgent, agent)
		}
	}
	h.wake()
}

// enqueue notes the activity for the waiters of one list, which leave it. Those that wait are
// queued. The others are queued when they wait again: one that is checking may have read too early.
func (h *Hub) enqueue(lists map[id.ID]*list, key id.ID) {
	of := lists[key]
	if of == nil {
		return
	}
	for w := of.first; w != nil; {
		next := w.next
		h.unlink(w)
		h.note(w)
		w = next
	}
}

// note records that a waiter, which is in no list, has to check.
func (h *Hub) note(w *Waiter) {
	if w.waiting && !w.checking {
		w.state = queued
		h.mu.queue.push(w)
	} else {
		w.state = noted
	}
}

// wake wakes queued waiters, up to checksMax. Without credit it sets the timer instead.
func (h *Hub) wake() {
	for h.mu.queue.first != nil && h.mu.checking < checksMax && !h.mu.closed {
		now := time.Now()
		earned := time.Duration(processorShare * float64(now.Sub(h.mu.creditAt)))
		h.mu.credit, h.mu.creditAt = min(h.mu.credit+earned, burst), now
		if h.mu.credit <= 0 {
			h.timer.Reset(time.Millisecond - time.Duration(float64(h.mu.credit)/processorShare))
			return
		}
		w := h.mu.queue.first
		h.mu.queue.remove(w)
		// The waiter is notified of new activity from now on, BEFORE it checks.
		h.link(w)
		w.checking, w.since = true, now
		h.mu.checking++
		w.ready <- struct{}{}
	}
}

func (h *Hub) resume() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake()
}

// rest ends the waiting of a waiter, and its check if it was woken.
func (h *Hub) rest(w *Waiter) {
	w.waiting = false
	if w.state == queued {
		h.mu.queue.remove(w)
		w.state = noted
	}
	if !w.checking {
		return
	}
	w.checking = false
	h.mu.checking--
	h.mu.credit -= min(time.Since(w.since), checkMax)
	// A waiter that does not wait must not be signaled.
	select {
	case <-w.ready:
	default:
	}
}

func (h *Hub) lists(w *Waiter) (lists map[id.ID]*list, key id.ID) {
	if w.project.IsZero() {
		return h.mu.byAgent, w.agent
	}
	return h.mu.byProject, w.project
}

func (h *Hub) link(w *Waiter) {
	lists, key := h.lists(w)
	of := lists[key]
	if of == nil {
		of = &list{}
		lists[key] = of
	}
	of.push(w)
	w.state = listed
}

func (h *Hub) unlink(w *Waiter) {
	lists, key := h.lists(w)
	of := lists[key]
	of.remove(w)
	if of.first == nil {
		delete(lists, key)
	}
}
