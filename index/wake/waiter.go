package wake

import (
	"time"

	"pws/internal/id"
)

// Waiter is one who waits. After it was woken it looks, and says so by Seen; until then it keeps
// others from looking, so it does nothing between that takes long.
type Waiter struct {
	hub            *Hub
	ready          chan struct{}
	project, agent id.ID
	// since is when it was woken.
	since time.Time
	// prev and next are its neighbours in its list, or in the queue while it is queued.
	prev, next *Waiter
	// looking is from the waking to Seen, and missed says that there was news meanwhile.
	looking, missed, queued, stopped bool
}

// Wait makes a waiter for the activity of one project, or, for the zero ID, of all projects that an
// agent may see; the zero agent is everybody. A caller that registers BEFORE it reads misses
// nothing: what cannot be read yet wakes the waiter. Stop ends it.
func (h *Hub) Wait(project, agent id.ID) *Waiter {
	w := &Waiter{hub: h, ready: make(chan struct{}, 1), project: project, agent: agent}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.link(w)
	h.count(w, 1)
	return w
}

// Ready says that it is time to look. Nothing may be found.
func (w *Waiter) Ready() <-chan struct{} { return w.ready }

// Seen says that the look is over. More asks for another one, behind those who are queued already.
func (w *Waiter) Seen(more bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.looking {
		w.hub.looked(w)
	}
	if (more || w.missed) && !w.queued && !w.stopped {
		w.missed = false
		w.hub.unlink(w)
		w.queued = true
		w.hub.mu.queue.push(w)
	}
	w.hub.wake()
}

// Stop ends the waiting. It may be called again.
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
	if w.looking {
		w.hub.looked(w)
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
