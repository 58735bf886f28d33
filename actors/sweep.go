package actors

import (
	"time"

	"pws/identity"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
)

// sweepLoop looks for idle projects, for claims that ran out, and for records of identity whose
// time has passed.
func (e *Engine) sweepLoop() {
	defer e.stopped.Done()
	tick := time.NewTicker(e.config.SweepEvery)
	defer tick.Stop()
	resumed := e.resume(0)
	var expired index.Expiry
	for {
		select {
		case <-e.stop:
			return
		case <-tick.C:
			resumed = e.resume(resumed)
			e.sweep(e.clock.Now())
			if e.leading() != 0 {
				expired = e.expireClaims(expired, expireRoundMax)
				e.prune()
			}
		}
	}
}

// sweep makes passive what has not been used for a while, and forgets handles of projects that
// never came to be.
func (e *Engine) sweep(now int64) (count int) {
	idle := e.config.PassivateAfter.Milliseconds()
	e.handles.Range(func(project id.ID, h *handle) bool {
		if h.dirty.Load() || now-h.touched.Load() < idle {
			return true
		}
		view := h.view.Load()
		if view == nil && h.stored.Load() {
			return true
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if e.passivate(h) == passivated {
			count++
		}
		return true
	})
	return count
}

// passivation is the outcome of an attempt to make a project passive.
type passivation int

const (
	passivated passivation = iota + 1
	// isDirty means that no snapshot holds the project as it is, isUsed that it has requests in
	// flight or is out of service.
	isDirty
	isUsed
)

// passivate takes a project out of memory that a snapshot holds and nobody uses at this moment. A
// handle of a project that never came to be leaves the registry. The handle's lock is held.
func (e *Engine) passivate(h *handle) passivation {
	view := h.view.Load()
	// Without a view a project that a snapshot holds is passive already.
	if h.mu.inFlight > 0 || h.mu.broken || len(h.waiting()) > 0 ||
		view == nil && h.stored.Load() {
		return isUsed
	}
	if h.dirty.Load() {
		return isDirty
	}
	if view != nil {
		// Between the commit of a snapshot and the note that it holds the project, the view is
		// the only sign that the project exists.
		saved, ok := e.snapshot.SectionPosition(datadir.ProjectKey(h.id))
		if !ok || saved < view.position || !h.stored.Load() {
			return isDirty
		}
	}
	if h.mu.pid != nil {
		e.system.Root.Stop(h.mu.pid)
		h.mu.pid = nil
	}
	if view == nil {
		h.mu.dead = true
		e.handles.Delete(h.id)
		return isUsed
	}
	h.mu.lastMemory = h.memory.Load()
	h.view.Store(nil)
	e.residents.drop(h)
	return passivated
}

// prune lets identity forget, until nothing more is due.
func (e *Engine) prune() {
	for range 1000 {
		before := e.Identity()
		done, err := e.DoIdentity(pruneOrder)
		if err != nil || done.State == before {
			return
		}
	}
}

var pruneOrder = identityOrderOf(&identity.Prune{})
