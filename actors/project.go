package actors

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"pws/api"
	"pws/blobs"
	"pws/index"
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
	if err := a.admit(o); err != nil {
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

// admit refuses an order that its agent may not give. Errors: SESSION_INVALID for a suspended
// agent, those of work.Authorize.
func (a *projectActor) admit(o *order) error {
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
	defer memory.giveBack()
	if err := c.fill(&e, memory, a.working, decision); err != nil {
		a.refuse(o, err)
		return
	}
	if err := a.reserveAll(c, next, e.StoredBytes(), stamp); err != nil {
		c.giveBack()
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
		c.giveBack()
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
// RATE_LIMITED. AFTER an error, what was taken is given back with commit.giveBack.
func (a *projectActor) reserveAll(
	c *commit, next *work.Project, stored int64, stamp work.Stamp,
) (err error) {
	contents := int64(0)
	for at := range c.blobs {
		contents += int64(len(c.blobs[at].Content))
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

// giveBack gives back what was taken for an entry that the log did not take.
func (c *commit) giveBack() {
	c.storing.release()
	if c.recent > 0 {
		c.engine.recents.add(c.feedNote.agent, -c.recent)
	}
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
		Result:    result, Guest: next.RoleOf(stamp.Agent) == work.NoRole,
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

// commit is an entry on its way through the log. The log calls Committed in order, AFTER the entry
// is durable; only then do contents, view and answer come out.
type commit struct {
	engine *Engine
	handle *handle
	// order has its answer already.
	order *order
	// project is the state with the entry.
	project *work.Project
	events  []work.Event
	blobs   []datadir.Blob
	// feedNote is what the feed records of the entry.
	feedNote feedNote
	// notices are for the inboxes of those whom the events concern.
	notices []index.Delivery
	waiters waiters
	// storing is what the entry adds to the account of the caller.
	storing storing
	// recent is what the contents take of the memory for those that are not in packs.
	recent int64
}

// entryMemory is memory for the events of an entry until the entry is encoded. It is reused.
type entryMemory struct {
	events []datadir.Event
	data   []byte
}

var entryMemories = sync.Pool{New: func() any { return new(entryMemory) }}

// entryBytesKept is the size of encoded events above which their memory is not kept.
const entryBytesKept = 64 << 10

func (m *entryMemory) giveBack() {
	if cap(m.data) > entryBytesKept {
		return
	}
	clear(m.events)
	m.events, m.data = m.events[:0], m.data[:0]
	entryMemories.Put(m)
}

// fill puts events into the entry, and the contents except those that the project held before.
// What other projects hold does not count: the size of the entry, and the time to write it, would
// say whether a project that the caller may not read has the content.
func (c *commit) fill(
	e *datadir.Entry, memory *entryMemory, before *work.Project, decision work.Decision,
) (err error) {
	for _, event := range decision.Events {
		begin := len(memory.data)
		if memory.data, err = work.EncodeEvent(memory.data, event); err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
		memory.events = append(memory.events, datadir.Event{
			Kind: uint16(work.KindOf(event)), Data: memory.data[begin:],
		})
	}
	e.Events = memory.events
	for at := range decision.Stored {
		e.Packed += datadir.PackedBytes(decision.Stored[at].Size)
	}
	if len(decision.Blobs) > 0 {
		c.fillBlobs(e, before.Held(decision.Events), decision.Blobs)
	}
	c.blobs = e.Blobs
	return nil
}

func (c *commit) fillBlobs(e *datadir.Entry, held map[work.Hash]bool, all []work.Blob) {
	var given map[work.Hash]bool
	if len(all) > 1 {
		given = make(map[work.Hash]bool, len(all))
	}
	for _, blob := range all {
		if given[blob.Hash] || held[blob.Hash] && c.engine.blobs.Has(blobs.Hash(blob.Hash)) {
			continue
		}
		if given != nil {
			given[blob.Hash] = true
		}
		e.Blobs = append(e.Blobs, datadir.Blob{Hash: blob.Hash, Content: blob.Content})
	}
}

// Committed implements journal.Committed.
func (c *commit) Committed(position uint64, err error) {
	if err != nil {
		err = c.engine.storageFault(err)
		c.giveBack()
		c.order.release(err)
		c.waiters.finish(err)
		return
	}
	for _, blob := range c.blobs {
		c.engine.store(position, blob.Hash, blob.Content)
	}
	if len(c.blobs) > 0 && c.engine.blobs.RecentBytes() > c.engine.config.SnapshotBlobBytes {
		c.engine.saver.hurry()
	}
	c.engine.recents.settle(c.feedNote.agent, c.recent)
	c.storing.settle(position, c.engine)
	c.engine.accounts.giveBack(position, c.events)
	c.engine.publish(c.handle, c.project, position, c.events)
	c.engine.inbox.Deliver(position, c.notices)
	c.feedNote.position = position
	c.engine.feed.push(c.feedNote)
	// The actor keeps the waiters, and with them c, until the next entry of the project: what c refers
	// to would stay in memory, such as a state that has left it.
	c.project, c.blobs, c.events, c.notices, c.feedNote = nil, nil, nil, nil, feedNote{}
	c.order.release(nil)
	c.waiters.finish(nil)
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
		return fault.New(fault.StorageUnavailable, "The disk is nearly full. Writes are refused; reads "+
			"still work.").
			With("reason", reasonReserve).With("retry_after_seconds", 30)
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
