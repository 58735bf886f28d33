package wake

import (
	"time"

	"pws/internal/id"
)

// Waiter waits for activity. After it was woken, it checks and calls Seen. Until then it keeps
// others from checking, so it does nothing slow in between.
type Waiter struct {
	hub            *Hub
	ready          chan struct{}
	project, agent id.ID
	// since is the time when it was woken.
	since time.Time
	// prev and next are its neighbours in its list, or in the queue while it is queued.
	prev, next *Waiter
	// checking is set from the wake-up to Seen; missed is set if it is notified in between.
	checking, missed, queued, stopped bool
}

// Wait registers a waiter for the activity of one project or, for the zero ID, of all projects that
// an agent may see; the zero agent sees the public ones. A caller that registers BEFORE it reads
// misses nothing: later activity wakes the waiter. Stop removes it.
func (h *Hub) Wait(project, agent id.ID) *Waiter {
	w := &Waiter{hub: h, ready: make(chan struct{}, 1), project: project, agent: agent}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.link(w)
	h.count(w, 1)
	return w
}

// Ready returns a channel that receives when the waiter should check. The check may find nothing.
func (w *Waiter) Ready() <-chan struct{} { return w.ready }

// Seen ends a check. more requests another one, after the waiters that are already queued.
func (w *Waiter) Seen(more bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.checking {
		w.hub.checked(w)
	}
	if (more || w.missed) && !w.queued && !w.stopped {
		w.missed = false
		w.hub.unlink(w)
		w.queued = true
		w.hub.mu.queue.push(w)
	}
	w.hub.wake()
}

// Stop removes the waiter. It may be called again.
func (w *Waiter) Stop() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.stopped {
		return
	}
	w.stopped = true
	if w.queued {
		w.hub.mu.queue.remove(w)
	} else {
		w.hub.unlink(w)
	}
	if w.checking {
		w.hub.checked(w)
	}
	w.hub.count(w, -1)
	w.hub.wake()
}

// list is a list of waiters; each waiter is in one list.
type list struct{ first, last *Waiter }

func (l *list) push(w *Waiter) {
	w.prev, w.next = l.last, nil
	if l.last != nil {
		l.last.next = w
	} else {
		l.first = w
	}
	l.last = w
}

func (l *list) remove(w *Waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.last = w.prev
	}
	w.prev, w.next = nil, nil
}
