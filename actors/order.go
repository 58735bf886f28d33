package actors

import (
	"sync"
	"time"

	"pws/api"
)

// order is a message to a project's actor. Its answer comes back in the order itself: done is
// sent on once, AFTER err and out are set.
type order struct {
	api.Order
	out  api.Done
	err  error
	done chan struct{}
	// begun is when the actor took the order, and spent how long it was busy with it.
	begun time.Time
	spent time.Duration
}

var orders = sync.Pool{New: func() any { return &order{done: make(chan struct{}, 1)} }}

// measure notes how long the actor was busy with the order, BEFORE it can be answered.
func (o *order) measure() { o.spent = time.Since(o.begun) }

func (o *order) answer(out api.Done, err error) {
	o.out, o.err = out, err
	o.done <- struct{}{}
}

// answerable is an order to any actor that can be answered later.
type answerable interface{ release(err error) }

// release answers with what was prepared, or with the error that came between.
func (o *order) release(err error) {
	if err != nil {
		o.answer(api.Done{}, err)
		return
	}
	o.done <- struct{}{}
}

// waiters are orders whose answers are true only once an entry is durable: refusals and repeats
// that were decided on a state which the disk had not confirmed yet.
type waiters struct {
	mu struct {
		sync.Mutex
		over  bool
		err   error
		queue []answerable
	}
}

// after releases the order when the entry is durable, at once where it is or where there is none.
func (w *waiters) after(o answerable) {
	if w == nil {
		o.release(nil)
		return
	}
	w.mu.Lock()
	if !w.mu.over {
		w.mu.queue = append(w.mu.queue, o)
		w.mu.Unlock()
		return
	}
	err := w.mu.err
	w.mu.Unlock()
	o.release(err)
}

// finish releases all that wait, and all that will.
func (w *waiters) finish(err error) {
	w.mu.Lock()
	w.mu.over, w.mu.err = true, err
	queue := w.mu.queue
	w.mu.queue = nil
	w.mu.Unlock()
	for _, o := range queue {
		o.release(err)
	}
}
