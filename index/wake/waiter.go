package wake

import (
	"time"

	"pws/internal/id"
)

// Waiter waits for activity. It calls Ready and receives from the channel; once that has succeeded,
// it checks and calls Seen. In between it keeps others from checking, so it does nothing slow. It
// may check and call Seen at any other time.
type Waiter struct {
	hub            *Hub
	ready          chan struct{}
	project, agent id.ID
	// since is the time when it was woken.
	since time.Time
	// prev and next are its neighbours in its list, or in the queue while it is queued.
	prev, next *Waiter
	state      state
	// waiting is set from Ready to Seen, checking from the wake-up to Seen.
	waiting, checking bool
}

// state is where a waiter is.
type state uint8

const (
	// listed: in the list of its project or agent.
	listed state = iota
	// queued: in the queue.
	queued
	// noted: nowhere. It was notified while it did not wait, and is queued when it waits.
	noted
	stopped
)

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

// Ready begins to wait. The channel receives when the waiter should check; the check may find
// nothing. It may be called again before that.
func (w *Waiter) Ready() <-chan struct{} {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.waiting = w.state != stopped; w.waiting && w.state == noted && !w.checking {
		w.hub.note(w)
		w.hub.wake()
	}
	return w.ready
}

// Seen ends a check. more requests another one, after the waiters that are already queued. The
// waiter then does not wait, and keeps nobody from checking, until it calls Ready.
func (w *Waiter) Seen(more bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.hub.rest(w)
	if more && w.state == listed {
		w.hub.unlink(w)
		w.state = noted
	}
	w.hub.wake()
}

// Stop removes the waiter. It may be called again.
func (w *Waiter) Stop() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.state == stopped {
		return
	}
	w.hub.rest(w)
	if w.state == listed {
		w.hub.unlink(w)
	}
	w.state = stopped
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
