package actors

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"pws/api"
	"pws/internal/datadir"
	"pws/internal/fault"
	"pws/journal"
	"pws/work"
)

// projectActor serialises the commands of one project. It applies them to its working state, which
// runs ahead of the published one by the entries that the log has not confirmed yet.
type projectActor struct {
	engine *Engine
	handle *handle
	// reign is the one in which working was published.
	reign   journal.Reign
	working *work.Project
	// last holds those who wait for the newest entry that was given to the log, nil before any.
	last *waiters
	// keys finds the stored results of Idempotency-Keys by their number.
	keys map[[16]byte]uint64
	// keysFirst is the number of the oldest result that keys knows.
	keysFirst uint64
}

// Receive implements actor.Actor. It never panics: a panic would restart the actor empty.
func (a *projectActor) Receive(ctx actor.Context) {
	if o, ok := ctx.Message().(*order); ok {
		a.run(o)
	}
}

// run takes one order to its end: it is refused, or there is nothing to write, or the log has its
// entry and answers it.
func (a *projectActor) run(o *order) {
	defer func() {
		if broken := recover(); broken != nil {
			a.engine.log.Error("command panicked", "project", a.handle.id, "panic", broken,
				"command", fmt.Sprintf("%T", o.Command), "stack", string(debug.Stack()))
			a.refuse(o, errors.New("command panicked"))
		}
	}()
	o.begun = time.Now()
	a.handle.deciding.Lock()
	defer a.handle.deciding.Unlock()
	if !a.renew() {
		o.measure()
		o.answer(api.Done{}, a.engine.errNotLeading())
		return
	}
	if err := a.authorize(o); err != nil {
		a.refuse(o, err)
		return
	}
	if o.Idempotency != nil && a.answerRepeat(o) {
		return
	}
	decision, stamp, err := a.decide(o)
	if err != nil {
		a.refuse(o, err)
		return
	}
	if len(decision.Events)+len(decision.Blobs) == 0 && o.Idempotency == nil {
		a.answerUnchanged(o, decision.Result)
		return
	}
	if err := a.requireContents(o.Command, &decision); err != nil {
		a.refuse(o, err)
		return
	}
	a.commit(o, decision, stamp)
}

// authorize refuses an order that its agent may not give. Errors: SESSION_INVALID for a suspended
// agent, those of work.Authorize.
func (a *projectActor) authorize(o *order) error {
	if a.engine.Identity().Suspended(o.Agent) && !releases(o.Command) {
		return fault.New(fault.SessionInvalid,
			"The credential does not belong to a live session.")
	}
	return work.Authorize(o.Command, a.working, o.Agent)
}

// decide makes the decision on an order and the stamp that it is based on. A refusal that has no
// events to store is an error, too.
func (a *projectActor) decide(o *order) (decision work.Decision, stamp work.Stamp, err error) {
	if err := a.engine.requireSource(o.Command); err != nil {
		return decision, stamp, err
	}
	stamp = a.engine.stamp(o.Agent).In(a.handle.id)
	if decision, err = work.Decide(o.Command, a.working, stamp); err != nil {
		return decision, stamp, err
	}
	if decision.Refusal != nil && len(decision.Events) == 0 {
		return decision, stamp, decision.Refusal
	}
	if damaged := a.engine.damagedOf(decision.Again); len(damaged) > 0 {
		decision.Blobs = slices.Concat(decision.Blobs, damaged)
	}
	return decision, stamp, nil
}

// requireContents refuses a decision with contents that may not be stored, or that are not there
// any more. Errors: those of requireUnpurged, requireStored, and requireReadable for a revert.
func (a *projectActor) requireContents(command work.Command, decision *work.Decision) error {
	if err := a.engine.requireUnpurged(decision.Blobs); err != nil {
		return err
	}
	if err := a.engine.requireStored(decision.Stored); err != nil {
		return err
	}
	if _, reverts := command.(*work.RevertChangeset); reverts {
		return a.engine.requireReadable(a.working, decision.Events)
	}
	return nil
}

// answerUnchanged answers an order that writes nothing once the state that it is based on is
// durable.
func (a *projectActor) answerUnchanged(o *order, result work.Result) {
	o.out = api.Done{Project: a.working, Result: result}
	a.last.after(o)
}

// refuse answers with an error once the state that it is based on is durable.
func (a *projectActor) refuse(o *order, err error) {
	o.measure()
	o.out, o.err = api.Done{}, err
	a.last.after(o)
}

// answerRepeat answers an order whose key is known: from the stored result, or with
// IDEMPOTENCY_KEY_REUSED or IDEMPOTENCY_IN_PROGRESS.
func (a *projectActor) answerRepeat(o *order) bool {
	key := o.Idempotency
	nth, known := a.keys[key.Hash]
	if !known {
		return false
	}
	record, kept := a.working.ResultAt(nth)
	if !kept || record.ExpiresAt <= a.engine.Now() {
		return false
	}
	if record.Fingerprint != key.Fingerprint {
		a.refuse(o, fault.New(fault.IdempotencyKeyReused, "The key was used for another request."))
		return true
	}
	view := a.handle.view.Load()
	if view == nil || !reached(view.project, nth) {
		a.refuse(o, errInProgress())
		return true
	}
	body, err := unpack(record.Body)
	if err != nil {
		a.refuse(o, err)
		return true
	}
	o.out = api.Done{
		Project: a.working, Result: record.Result, Replayed: true,
		FirstAt: record.ExpiresAt - work.IdempotencySeconds*1000,
		Rendered: api.Rendered{
			Status: record.Status, Body: body, Tasks: record.Tasks, LeftOut: record.LeftOut,
		},
	}
	a.last.after(o)
	return true
}

// errInProgress is about a repeat of a request that is not durable yet.
func errInProgress() error {
	return fault.New(fault.IdempotencyInProgress, "The first request is still running.").
		With("retry_after_seconds", 1)
}

func reached(p *work.Project, nth uint64) bool {
	_, end := p.ResultRange()
	return nth < end
}

// next returns the state that events are applied to.
func (a *projectActor) next() *work.Project {
	if a.working == nil {
		return work.NewProject()
	}
	return a.working.Clone()
}

// commit applies the events to the next working state and hands their entry to the log.
func (a *projectActor) commit(o *order, decision work.Decision, stamp work.Stamp) {
	next := a.next()
	if !a.apply(next, decision.Events, work.Moment{Now: stamp.Now, Agent: stamp.Agent}) {
		o.answer(api.Done{}, errors.New("event panicked"))
		return
	}
	e := datadir.Entry{
		Target: datadir.TargetProject, ID: a.handle.id, Now: stamp.Now, Agent: stamp.Agent,
	}
	done := api.Done{Project: next, Result: decision.Result}
	key := o.Idempotency
	if decision.Refusal != nil {
		// A request that fails does not use up its key.
		key, done = nil, api.Done{Project: next}
	}
	if key != nil {
		e.Result = a.remember(o, next, decision.Result, stamp, &done)
	}
	c := &commit{
		engine: a.engine, handle: a.handle, order: o, project: next, events: decision.Events,
		feedNote: feedNote{
			project: a.handle.id, now: stamp.Now, agent: stamp.Agent,
			activities: activitiesOf(decision.Events),
		},
		notices: deliveriesOfEntry(decision.Events, a.handle.id, stamp.Agent, stamp.Now),
	}
	memory := entryMemories.Get().(*entryMemory)
	defer memory.recycle()
	if err := c.fill(&e, memory, a.working, decision); err != nil {
		a.refuse(o, err)
		return
	}
	if err := a.reserveAll(c, next, e.StoredBytes(), stamp); err != nil {
		c.releaseAll()
		a.refuse(o, err)
		return
	}
	// The order is not ours any more AFTER the log has it: it is answered and used again.
	o.measure()
	o.out, o.err = done, decision.Refusal
	entry := journal.Entry{
		Payload: e.Encode(), Key: journal.Key(a.handle.id), Reserved: makesSpace(o.Command),
		Format: datadir.FormatOf(decision.Events),
	}
	if err := a.engine.journal.Append(a.reign, entry, c); err != nil {
		a.engine.residents.note(a.handle, a.working)
		c.releaseAll()
		a.refuse(o, a.engine.storageFault(err))
		return
	}
	// AFTER the log has the entry: no order is decided on a state that a panic has kept from it.
	before := a.working
	a.working = next
	// This keeps all of c in memory until the next entry, so Committed empties it.
	a.last = &c.waiters
	a.noteKeys(before, key)
}

// reserveAll takes quota and memory for an entry and the state that it makes: QUOTA_EXCEEDED,
// RATE_LIMITED. AFTER an error, what was taken is given back with commit.releaseAll.
func (a *projectActor) reserveAll(
	c *commit, next *work.Project, stored int64, stamp work.Stamp,
) (err error) {
	contents := int64(0)
	for i := range c.blobs {
		contents += int64(len(c.blobs[i].Content))
	}
	if c.recent, err = a.engine.requireRecent(stamp.Agent, contents); err != nil {
		return err
	}
	if err := a.reserve(c.order, c, stored, stamp); err != nil {
		return err
	}
	next.CountStored(stamp.Agent, c.storing.bytes)
	return a.engine.grow(&c.order.Order, a.handle, next)
}

// apply reports false where an event panicked; the project is then out of service and the log says
// so, for its rules and its history do not agree.
func (a *projectActor) apply(next *work.Project, events []work.Event, at work.Moment) (ok bool) {
	defer func() {
		if broken := recover(); broken != nil {
			a.engine.breakProject(a.handle, fmt.Errorf("event panicked: %v", broken))
			a.engine.log.Error("event panicked; project is unavailable",
				"project", a.handle.id, "panic", broken, "stack", string(debug.Stack()))
			ok = false
		}
	}()
	for _, event := range events {
		next.Apply(event, at)
	}
	a.engine.spillHistory(next)
	return true
}

// remember keeps the result of a key in the next state and makes its form for the log.
func (a *projectActor) remember(
	o *order, next *work.Project, result work.Result, stamp work.Stamp, done *api.Done,
) []byte {
	record := work.StoredResult{
		Key: o.Idempotency.Hash, Fingerprint: o.Idempotency.Fingerprint,
		ExpiresAt: stamp.Now + work.IdempotencySeconds*1000,
		Result:    result, Guest: !next.IsMember(stamp.Agent),
	}
	if o.Render != nil {
		made := o.Render(next, result)
		done.Rendered = made
		record.Status, record.Body = made.Status, pack(made.Body)
		record.Tasks, record.LeftOut = made.Tasks, made.LeftOut
	}
	next.Remember(record, stamp.Now)
	saved, err := work.EncodeResult(&record)
	if err != nil {
		panic(err)
	}
	return saved
}

// noteKeys keeps the index of keys in step with the working state: results that have run out leave
// at the front, a new one comes at the end.
func (a *projectActor) noteKeys(before *work.Project, key *api.IdempotencyKey) {
	if key == nil {
		return
	}
	first, end := a.working.ResultRange()
	for ; a.keysFirst < first; a.keysFirst++ {
		old, ok := before.ResultKey(a.keysFirst)
		if ok && a.keys[old] == a.keysFirst {
			delete(a.keys, old)
		}
	}
	a.keys[key.Hash] = end - 1
}

// indexKeys makes the index of keys for a state.
func indexKeys(p *work.Project) (map[[16]byte]uint64, uint64) {
	keys := map[[16]byte]uint64{}
	if p == nil {
		return keys, 0
	}
	first, end := p.ResultRange()
	for nth := first; nth < end; nth++ {
		if record, ok := p.ResultAt(nth); ok {
			keys[record.Key] = nth
		}
	}
	return keys, first
}

// Why the log takes no entries.
const (
	reasonReserve   = "DISK_RESERVE"
	reasonLogFailed = "LOG_FAILED"
	reasonUpgrade   = "UPGRADE_PENDING"
)

// storageFault is what a caller learns of a log that did not take an entry.
func (e *Engine) storageFault(err error) error {
	switch {
	case errors.Is(err, journal.ErrBusy):
		return fault.New(fault.RateLimited, "More writes are waiting than the log can take.").
			With("reason", "LOG_QUEUE_FULL").With("retry_after_seconds", 1)
	case errors.Is(err, journal.ErrNoSpace):
		return errDiskReserve()
	case errors.Is(err, journal.ErrNotUnderstood):
		return fault.New(fault.StorageUnavailable, "Some servers run an older version that does not "+
			"support this. Try again when all are upgraded.").
			With("reason", reasonUpgrade).With("retry_after_seconds", 30)
	case errors.Is(err, journal.ErrTooLarge):
		return fault.New(fault.BodyTooLarge, "The records of the request are too large together.").
			With("limit_bytes", journal.EntryBytesMax)
	case errors.Is(err, journal.ErrNotLeading):
		return e.errNotLeading()
	case errors.Is(err, journal.ErrOutcomeUnknown):
		return api.ErrOutcomeUnknown()
	case errors.Is(err, journal.ErrClosed):
		return fault.Stopping()
	}
	return fault.New(fault.StorageUnavailable, "The log failed; the server stops.").
		With("reason", reasonLogFailed).With("retry_after_seconds", 5)
}
