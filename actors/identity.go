package actors

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/puzpuzpuz/xsync/v3"

	"pws/api"
	"pws/identity"
	"pws/internal/datadir"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/internal/logformat"
	"pws/journal"
)

// identityCell is the identity state of the service: one actor, one published view.
type identityCell struct {
	pid  *actor.PID
	view atomic.Pointer[publishedIdentity]
	// deciding is that of a handle.
	deciding sync.Mutex
	// gate is held while an order is admitted; inFlight bounds those that wait.
	gate     sync.Mutex
	inFlight atomic.Int64
	// seeing holds the sessions of which it is being noted that they are in use.
	seeing *xsync.MapOf[id.ID, struct{}]

	// dirty says what changed since the last snapshot began.
	dirty struct {
		sync.Mutex
		agents map[id.ID]struct{}
		// reports are those that were made, handled or dropped.
		reports map[id.ID]struct{}
		// operator says that what operators have set has changed.
		operator bool
		any      bool
	}
}

type publishedIdentity struct {
	state    *identity.State
	position uint64
}

// identityQueueMax bounds the orders in flight of identity.
const identityQueueMax = 16384

// identityOrder is a message to the identity actor, as order is to a project's.
type identityOrder struct {
	api.IdentityOrder
	out  api.IdentityDone
	err  error
	done chan struct{}
	// begun is when the actor took the order, and spent how long it was busy with it.
	begun time.Time
	spent time.Duration
}

// measure notes how long the actor was busy with the order, BEFORE it can be answered.
func (o *identityOrder) measure() { o.spent = time.Since(o.begun) }

func (o *identityOrder) answer(out api.IdentityDone, err error) {
	o.out, o.err = out, err
	o.done <- struct{}{}
}

func (o *identityOrder) release(err error) {
	if err != nil {
		o.out, o.err = api.IdentityDone{}, err
	}
	o.done <- struct{}{}
}

// Identity implements api.Engine.
func (e *Engine) Identity() *identity.State { return e.identity.view.Load().state }

// DoIdentity implements api.Engine.
func (e *Engine) DoIdentity(request api.IdentityOrder) (api.IdentityDone, error) {
	if err := e.admitIdentity(); err != nil {
		return api.IdentityDone{}, err
	}
	defer e.inFlight.Done()
	defer e.identity.inFlight.Add(-1)
	o := &identityOrder{IdentityOrder: request, done: make(chan struct{}, 1)}
	e.system.Root.Send(e.identity.pid, o)
	<-o.done
	o.out.Spent = o.spent
	return o.out, o.err
}

// admitIdentity counts an order: SHUTTING_DOWN, RATE_LIMITED.
func (e *Engine) admitIdentity() error {
	cell := &e.identity
	cell.gate.Lock()
	defer cell.gate.Unlock()
	if e.closing.Load() {
		return fault.Stopping()
	}
	if cell.inFlight.Load() >= identityQueueMax {
		return fault.New(fault.RateLimited, "Too many requests wait.").
			With("reason", "IDENTITY_QUEUE_FULL").With("retry_after_seconds", 1)
	}
	cell.inFlight.Add(1)
	e.inFlight.Add(1)
	return nil
}

// SeeSession implements api.Engine. One note of a session is under way at a time. A server that
// does not lead has the leader note it.
func (e *Engine) SeeSession(session *identity.Session) {
	if _, underWay := e.identity.seeing.LoadOrStore(session.ID, struct{}{}); underWay {
		return
	}
	caller := identity.Caller{Agent: session.AgentID, Session: session.ID}
	go func() {
		defer e.identity.seeing.Delete(session.ID)
		if e.leading() == 0 && e.config.SeeSession != nil {
			e.config.SeeSession(caller)
			return
		}
		e.SeeCaller(caller)
	}()
}

// SeeCaller notes that a session is in use, where this server leads.
func (e *Engine) SeeCaller(caller identity.Caller) {
	// A session that has ended since is refused, and that is all there is to it.
	_, _ = e.DoIdentity(identityOrderOf(&identity.SeeSession{Caller: caller}))
}

func (e *Engine) startIdentity() {
	e.identity.pid = e.spawn(&identityActor{engine: e})
}

// identityActor serialises the commands of identity; it pipelines as projectActor does.
type identityActor struct {
	engine *Engine
	// reign is the one in which working was published.
	reign   journal.Reign
	working *identity.State
	last    *waiters
}

// Receive implements actor.Actor. It never panics.
func (a *identityActor) Receive(ctx actor.Context) {
	if o, ok := ctx.Message().(*identityOrder); ok {
		a.run(o)
	}
}

func (a *identityActor) run(o *identityOrder) {
	defer func() {
		if broken := recover(); broken != nil {
			a.engine.log.Error("identity command panicked", "panic", broken,
				"command", fmt.Sprintf("%T", o.Command), "stack", string(debug.Stack()))
			a.refuse(o, errors.New("command panicked"))
		}
	}()
	o.begun = time.Now()
	a.engine.identity.deciding.Lock()
	defer a.engine.identity.deciding.Unlock()
	if !a.renew() {
		o.measure()
		o.answer(api.IdentityDone{}, a.engine.errNotLeading())
		return
	}
	stamp := a.engine.stamp(o.Agent)
	if a.answerRepeat(o, stamp.Now) {
		return
	}
	outcome, err := o.Command.Decide(a.working, identity.Stamp{
		Now: stamp.Now, Entropy: stamp.Entropy,
		NamesAudience: a.engine.journal.AgreedOn(logformat.NamesAudience),
	})
	if err != nil && len(outcome.Events) == 0 {
		a.refuse(o, err)
		return
	}
	if len(outcome.Events) == 0 && (o.Idempotency == nil || o.Render == nil) {
		o.measure()
		o.out = api.IdentityDone{State: a.working, Result: outcome.Result}
		a.last.after(o)
		return
	}
	a.commit(o, outcome, stamp.Now, err)
}

func (a *identityActor) refuse(o *identityOrder, err error) {
	o.measure()
	o.out, o.err = api.IdentityDone{}, err
	a.last.after(o)
}

// answerRepeat answers an order whose key is known, as that of a project does.
func (a *identityActor) answerRepeat(o *identityOrder, now int64) bool {
	if o.Idempotency == nil {
		return false
	}
	record, known := a.working.StoredResult(o.Agent, o.Idempotency.Hash, now)
	if !known {
		return false
	}
	if err := record.Check(o.Idempotency.Fingerprint); err != nil {
		a.refuse(o, err)
		return true
	}
	if _, durable := a.engine.Identity().StoredResult(o.Agent, o.Idempotency.Hash, now); !durable {
		a.refuse(o, errInProgress())
		return true
	}
	body, err := unpack(record.Body)
	if err != nil {
		a.refuse(o, err)
		return true
	}
	o.out = api.IdentityDone{
		State: a.working, Replayed: true, Status: int(record.Status), Body: body,
	}
	a.last.after(o)
	return true
}

// commit applies and appends. A refusal that has events, such as a failed signature that counts,
// is an entry like any other and is answered with its error.
func (a *identityActor) commit(
	o *identityOrder, outcome identity.Outcome, now int64, refusal error,
) {
	next := a.working.Clone()
	for _, event := range outcome.Events {
		next.Apply(event, now)
	}
	done := api.IdentityDone{State: next, Result: outcome.Result}
	if refusal == nil && o.Idempotency != nil && o.Render != nil {
		done.Status, done.Body = o.Render(next, outcome.Result)
		kept := identity.NewResultStored(o.Agent, o.Idempotency.Hash, o.Idempotency.Fingerprint,
			now, uint16(done.Status), pack(done.Body))
		next.Apply(kept, now)
		outcome.Events = append(outcome.Events, kept)
	}
	e := datadir.Entry{Target: datadir.TargetIdentity, Now: now, Agent: o.Agent}
	for _, event := range outcome.Events {
		data, err := identity.EncodeEvent(nil, event)
		if err != nil {
			a.refuse(o, err)
			return
		}
		e.Events = append(e.Events, datadir.Event{Kind: uint16(event.Kind()), Data: data})
	}
	c := &identityCommit{
		engine: a.engine, order: o, done: done, refusal: refusal, now: now,
		events: outcome.Events,
	}
	entry := journal.Entry{
		Payload: e.Encode(), Reserved: usesReserve(o.Command),
		Format: datadir.FormatOf(outcome.Events),
	}
	// The order is not ours any more AFTER the log has it.
	o.measure()
	if err := a.engine.journal.Append(a.reign, entry, c); err != nil {
		a.refuse(o, a.engine.storageFault(err))
		return
	}
	// AFTER the log has the entry: no order is decided on a state that a panic has kept from it.
	a.working = next
	a.last = &c.waiters
}

// usesReserve says whether a command goes on while the disk is nearly full: sign-in, what ends a
// session or a key, what forgets, and what operators do: they make space, and stop those who take
// it.
func usesReserve(command identity.Command) bool {
	switch command.(type) {
	case *identity.RequestChallenge, *identity.StartSession, *identity.SeeSession,
		*identity.EndSession, *identity.RevokeKey, *identity.Prune,
		*identity.SetRegistration, *identity.SuspendAgent, *identity.RestoreAgent,
		*identity.SetQuota, *identity.NoteAction, *identity.HandleReport,
		*identity.PurgeContent, *identity.BeginErasure, *identity.EndErasure,
		*identity.DropProject, *identity.EndDrops:
		return true
	}
	return false
}

// identityCommit is an entry on its way through the log.
type identityCommit struct {
	engine  *Engine
	order   *identityOrder
	done    api.IdentityDone
	refusal error
	// now is the time of the entry.
	now     int64
	events  []identity.Event
	waiters waiters
}

// Committed implements journal.Committed.
func (c *identityCommit) Committed(position uint64, err error) {
	if err != nil {
		err = c.engine.storageFault(err)
		c.order.answer(api.IdentityDone{}, err)
		c.waiters.finish(err)
		return
	}
	cell := &c.engine.identity
	cell.publish(&publishedIdentity{state: c.done.State, position: position}, c.events)
	c.engine.deliverIdentity(position, c.now, c.events)
	c.engine.search.noteIdentity(position, c.events)
	if c.refusal != nil {
		c.order.answer(api.IdentityDone{}, c.refusal)
	} else {
		c.order.answer(c.done, nil)
	}
	c.waiters.finish(nil)
}

// publish makes a durable state the one that readers see, and notes what of it the next snapshot
// has to save. A snapshot sees both or neither.
func (c *identityCell) publish(next *publishedIdentity, events []identity.Event) {
	c.dirty.Lock()
	defer c.dirty.Unlock()
	c.view.Store(next)
	if c.dirty.agents == nil {
		c.dirty.agents = map[id.ID]struct{}{}
	}
	if c.dirty.reports == nil {
		c.dirty.reports = map[id.ID]struct{}{}
	}
	c.dirty.any = true
	for _, event := range events {
		c.dirty.operator = c.dirty.operator || identity.TouchesOperator(event)
		if report := identity.TouchedReport(event); !report.IsZero() {
			c.dirty.reports[report] = struct{}{}
		}
		if agent, _ := identity.Touched(event); !agent.IsZero() {
			c.dirty.agents[agent] = struct{}{}
		}
	}
}
