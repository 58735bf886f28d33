package actors

import (
	"errors"

	"pws/api"
	"pws/internal/fault"
	"pws/journal"
)

// Lead implements journal.Machine. Actors start again from the published views: all that was
// durable BEFORE the reign is in them, and what was not is lost.
func (e *Engine) Lead(reign journal.Reign) {
	e.clock.lead()
	e.reign.Store(uint64(reign))
}

// Yield implements journal.Machine. Actors refuse all orders from now on. The journal refuses the
// entries of those that have not noticed yet.
func (e *Engine) Yield() {
	e.reign.Store(0)
	e.clock.follow()
}

// leading is the reign of this server, 0 while it does not lead.
func (e *Engine) leading() journal.Reign { return journal.Reign(e.reign.Load()) }

// resume goes on, once in a reign, with what a crash or the end of another reign has interrupted.
// It returns the newest reign in which it has. What fails is tried again: an erasure by dropEnded,
// because it renews log and search index each time; the rest by the next call.
func (e *Engine) resume(before journal.Reign) journal.Reign {
	reign := e.leading()
	if reign == 0 {
		return before
	}
	begins := reign != before
	if e.suspendedHold.Swap(false) || begins {
		e.freeSuspended()
	}
	if begins {
		if err := e.erasing.resumeErasure(); err != nil {
			e.erasing.logErasure(err)
		}
	}
	return reign
}

// renew has the actor start again from the published view when a reign has begun. It reports false
// while this server does not lead. The reign is loaded BEFORE the view: a view that belongs to a
// later one is of no harm, because the journal refuses the entries of this one then.
func (a *projectActor) renew() bool {
	reign := a.engine.leading()
	if reign == 0 || reign == a.reign {
		return reign != 0
	}
	again := a.reign != 0
	a.reign, a.last, a.working = reign, nil, nil
	if view := a.handle.view.Load(); view != nil {
		a.working = view.project
	}
	a.keys, a.keysFirst = indexKeys(a.working)
	if again {
		a.engine.residents.note(a.handle, a.working)
	}
	return true
}

// renew is that of projectActor.
func (a *identityActor) renew() bool {
	reign := a.engine.leading()
	if reign != 0 && reign != a.reign {
		a.reign, a.last, a.working = reign, nil, a.engine.Identity()
	}
	return reign != 0
}

// errNotLeading refuses a write.
func (e *Engine) errNotLeading() error {
	if e.otherLeads() {
		return notLeading("Another server accepts writes; nothing was changed.")
	}
	return notLeading("No server accepts writes now; nothing was changed.")
}

// errNotFresh refuses to answer with what was read.
func (e *Engine) errNotFresh() error {
	if e.otherLeads() {
		return notLeading("Another server accepts writes now, and what was read may be old.")
	}
	return notLeading("No server accepts writes now, and what was read may be old.")
}

func (e *Engine) otherLeads() bool { return e.config.OtherLeads != nil && e.config.OtherLeads() }

func notLeading(message string) error {
	return fault.New(fault.StorageUnavailable, message).
		With("reason", api.ReasonNotLeading).With("retry_after_seconds", 1)
}

// BeginRead implements api.Engine.
func (e *Engine) BeginRead() (api.ReadMark, error) {
	reign, err := e.journal.BeginRead()
	switch {
	case errors.Is(err, journal.ErrNotLeading):
		return 0, e.errNotFresh()
	case err != nil:
		return 0, e.storageFault(err)
	}
	return api.ReadMark(reign), nil
}

// EndRead implements api.Engine.
func (e *Engine) EndRead(mark api.ReadMark) error {
	if e.journal.EndRead(journal.Reign(mark)) == nil {
		return nil
	}
	return e.errNotFresh()
}

// ReadsWait implements api.Engine.
func (e *Engine) ReadsWait() bool { return e.leading() == 0 }
