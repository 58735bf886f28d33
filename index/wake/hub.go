package wake

import (
	"encoding/binary"
	"slices"
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
	// changedMax bounds the projects with news that are not yet matched with waiters; beyond it all
	// are woken.
	changedMax = 4096
	// lookMax is what a look counts at most: one that takes longer had to wait for a processor.
	lookMax = time.Millisecond
	// slotBits is the logarithm of how many counters there are for those who wait for one project.
	slotBits = 12
)

// Audience says who learns of a project's activity without asking for that project: everybody, or
// some agents. It may say too much, and then some wake up for nothing.
type Audience func(project id.ID) (everybody bool, agents []id.ID)

// Hub wakes waiters. Its methods are safe for concurrent use.
type Hub struct {
	audience Audience
	// forAll counts the waiters that asked for all projects, and named those that asked for one, by
	// the slot of its ID: a project whose slot is empty is waited for by nobody. Writers look at
	// these alone.
	forAll atomic.Int64
	named  [1 << slotBits]atomic.Int32
	// bell makes the hub look around.
	bell chan struct{}
	stop chan struct{}
	done chan struct{}
	mu   struct {
		sync.Mutex
		// byProject and byAgent hold the waiters that have seen what there was.
		byProject map[id.ID]*list
		byAgent   map[id.ID]*list
		// changed are the projects that have something new; all says that there are too many to
		// name.
		changed map[id.ID]struct{}
		all     bool
		// queue holds those who are to look.
		queue   list
		looking int
		// credit is the time that looks may take now, as of a moment.
		credit   time.Duration
		creditAt time.Time
	}
}

// NewHub makes a hub and starts its goroutine, which Close ends.
func NewHub(audience Audience) *Hub {
	h := &Hub{
		audience: audience, bell: make(chan struct{}, 1), stop: make(chan struct{}),
		done: make(chan struct{}),
	}
	h.mu.byProject, h.mu.byAgent = map[id.ID]*list{}, map[id.ID]*list{}
	h.mu.changed = map[id.ID]struct{}{}
	h.mu.credit, h.mu.creditAt = burst, time.Now()
	go h.run()
	return h
}

// Close ends the hub. Nobody is woken after that.
func (h *Hub) Close() {
	close(h.stop)
	<-h.done
}

// Awaits reports whether anybody may wait for what happens in a project. It takes no lock, so that
// those who wait for other projects cost next to nothing. Whoever waits BEFORE it is asked is seen.
func (h *Hub) Awaits(project id.ID) bool {
	return h.forAll.Load() > 0 || h.named[slotOf(project)].Load() > 0
}

// slotOf mixes all bits of an ID, for some of them are the same in many.
func slotOf(project id.ID) uint64 {
	const spread = 0x9E3779B97F4A7C15
	mixed := binary.BigEndian.Uint64(project[:8])*spread ^ binary.BigEndian.Uint64(project[8:])
	return mixed * spread >> (64 - slotBits)
}

// count takes note of a waiter that comes or goes.
func (h *Hub) count(w *Waiter, change int32) {
	if w.project.IsZero() {
		h.forAll.Add(int64(change))
	} else {
		h.named[slotOf(w.project)].Add(change)
	}
}

// Notify reports news of projects, AFTER it can be read. It takes no time where
// nobody waits for them, and little otherwise.
func (h *Hub) Notify(projects ...id.ID) {
	if !slices.ContainsFunc(projects, h.Awaits) {
		return
	}
	h.mu.Lock()
	for _, project := range projects {
		switch {
		case len(h.mu.byAgent) == 0 && h.mu.byProject[project] == nil:
		case len(h.mu.changed) < changedMax:
			h.mu.changed[project] = struct{}{}
		default:
			h.mu.all = true
		}
	}
	news := h.mu.all || len(h.mu.changed) > 0
	h.mu.Unlock()
	if news {
		h.ring()
	}
}

func (h *Hub) ring() {
	select {
	case h.bell <- struct{}{}:
	default:
	}
}

func (h *Hub) run() {
	defer close(h.done)
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-h.bell:
		case <-pause.C:
		}
		h.match()
		h.mu.Lock()
		rest := time.Hour
		if h.wake() {
			rest = time.Millisecond - time.Duration(float64(h.mu.credit)/share)
		}
		h.mu.Unlock()
		pause.Reset(rest)
	}
}

// match moves those whom the news concerns into the queue. The audience is asked outside of the
// lock, and no longer once everybody is concerned.
func (h *Hub) match() {
	h.mu.Lock()
	defer h.mu.Unlock()
	changed, everybody := h.mu.changed, h.mu.all
	if len(changed) == 0 {
		return
	}
	h.mu.changed, h.mu.all = map[id.ID]struct{}{}, false
	if everybody {
		for project := range h.mu.byProject {
			h.concern(h.mu.byProject, project)
		}
	}
	for project := range changed {
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

// wake lets the next ones look, as many as may, and reports whether some have to rest first.
func (h *Hub) wake() (rest bool) {
	for h.mu.queue.first != nil && h.mu.looking < lookersMax {
		now := time.Now()
		earned := time.Duration(share * float64(now.Sub(h.mu.creditAt)))
		h.mu.credit, h.mu.creditAt = min(h.mu.credit+earned, burst), now
		if h.mu.credit <= 0 {
			return true
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
	return false
}

// wakeNext is wake AFTER a look. The hub itself waits for the end of a rest.
func (h *Hub) wakeNext() {
	if h.wake() {
		h.ring()
	}
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
