package wake

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"pws/internal/id"
)

const (
	// lookersMax is how many waiters look at one time.
	lookersMax = 2
	// share is the part of one processor that looks may take for long, and burst what they may take
	// at once after a rest: enough for some thousands of them.
	share = 0.25
	burst = 100 * time.Millisecond
	// newsMax bounds the projects whose audience is asked for at once; beyond it all are woken.
	newsMax = 4096
	// lookMax is what a look counts at most: one that takes longer had to wait for a processor.
	lookMax = time.Millisecond
	// counterBits is the logarithm of how many counters there are for those who wait for one project.
	counterBits = 12
)

// Audience says who learns of a project's activity without asking for that project: everybody, or
// some agents. It may say too much, and then some wake up for nothing.
type Audience func(project id.ID) (everybody bool, agents []id.ID)

// Hub wakes waiters. Its methods are safe for concurrent use.
type Hub struct {
	audience Audience
	// forAll counts the waiters that asked for all projects, and named those that asked for one, by
	// the hash of its ID: a project whose counter is zero is waited for by nobody. Writers look at
	// these alone.
	forAll atomic.Int64
	named  [1 << counterBits]atomic.Int32
	mu     struct {
		sync.Mutex
		// byProject and byAgent hold the waiters that have seen what there was.
		byProject map[id.ID]*list
		byAgent   map[id.ID]*list
		// queue holds those who are to look.
		queue   list
		looking int
		// credit is the time that looks may take now, as of a moment.
		credit   time.Duration
		creditAt time.Time
		closed   bool
	}
	// rest wakes the next ones when there is credit again.
	rest *time.Timer
}

// NewHub makes a hub.
func NewHub(audience Audience) *Hub {
	h := &Hub{audience: audience}
	h.mu.byProject, h.mu.byAgent = map[id.ID]*list{}, map[id.ID]*list{}
	h.mu.credit, h.mu.creditAt = burst, time.Now()
	h.rest = time.AfterFunc(time.Hour, h.rested)
	return h
}

// Close ends the hub. Nobody is woken after that.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.closed = true
	h.rest.Stop()
}

// Awaits reports whether anybody may wait for what happens in a project. It takes no lock, so that
// those who wait for other projects cost next to nothing. A waiter that registers BEFORE it is
// asked is seen.
func (h *Hub) Awaits(project id.ID) bool {
	return h.forAll.Load() > 0 || h.named[counterOf(project)].Load() > 0
}

// counterOf mixes all bits of an ID, for some of them are the same in many.
func counterOf(project id.ID) uint64 {
	const spread = 0x9E3779B97F4A7C15
	mixed := binary.BigEndian.Uint64(project[:8])*spread ^ binary.BigEndian.Uint64(project[8:])
	return mixed * spread >> (64 - counterBits)
}

// count takes note of a waiter that comes or goes.
func (h *Hub) count(w *Waiter, change int32) {
	if w.project.IsZero() {
		h.forAll.Add(int64(change))
	} else {
		h.named[counterOf(w.project)].Add(change)
	}
}

// Notify reports news of projects, AFTER it can be read, and moves the waiters concerned into the
// queue. Callers leave out the projects that nobody awaits. The audience is asked outside of the
// lock, and no longer once everybody is concerned.
func (h *Hub) Notify(projects ...id.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	everybody := len(projects) > newsMax
	for _, project := range projects {
		h.concern(h.mu.byProject, project)
		if everybody || len(h.mu.byAgent) == 0 {
			continue
		}
		h.mu.Unlock()
		all, agents := h.audience(project)
		h.mu.Lock()
		everybody = all
		for _, agent := range agents {
			h.concern(h.mu.byAgent, agent)
		}
	}
	if everybody {
		for agent := range h.mu.byAgent {
			h.concern(h.mu.byAgent, agent)
		}
	}
	h.wake()
}

// concern queues the waiters of one list. Those who look just now may have looked too soon; they
// stay and are queued when they have seen.
func (h *Hub) concern(lists map[id.ID]*list, key id.ID) {
	of := lists[key]
	if of == nil {
		return
	}
	for w := of.first; w != nil; {
		next := w.next
		if w.looking {
			w.missed = true
		} else {
			h.unlink(w)
			w.queued = true
			h.mu.queue.push(w)
		}
		w = next
	}
}

// wake lets the next ones look, as many as may. Where there is no credit, a rest comes first.
func (h *Hub) wake() {
	for h.mu.queue.first != nil && h.mu.looking < lookersMax && !h.mu.closed {
		now := time.Now()
		earned := time.Duration(share * float64(now.Sub(h.mu.creditAt)))
		h.mu.credit, h.mu.creditAt = min(h.mu.credit+earned, burst), now
		if h.mu.credit <= 0 {
			h.rest.Reset(time.Millisecond - time.Duration(float64(h.mu.credit)/share))
			return
		}
		w := h.mu.queue.first
		h.mu.queue.remove(w)
		w.queued = false
		// It is notified of what comes from now on, BEFORE it looks.
		h.link(w)
		w.looking, w.since = true, now
		h.mu.looking++
		select {
		case w.ready <- struct{}{}:
		default:
		}
	}
}

func (h *Hub) rested() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake()
}

// looked takes note of the end of a look.
func (h *Hub) looked(w *Waiter) {
	w.looking = false
	h.mu.looking--
	h.mu.credit -= min(time.Since(w.since), lookMax)
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
}

func (h *Hub) unlink(w *Waiter) {
	lists, key := h.lists(w)
	of := lists[key]
	of.remove(w)
	if of.first == nil {
		delete(lists, key)
	}
}
