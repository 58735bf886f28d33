package actors

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"pws/api"
	"pws/blobs"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

var errBroken = errors.New("the project is out of service until the server is started again")

// errRetired says that a handle left the registry between finding and using it.
var errRetired = errors.New("handle retired")

// errSectionMissing says that the snapshot lacks a section of a project that it holds.
var errSectionMissing = errors.New("its section is missing")

// ProjectFor implements api.Engine.
func (e *Engine) ProjectFor(project, agent id.ID) (*work.Project, error) {
	if h, ok := e.handles.Load(project); !ok || e.hides(h, agent) {
		return nil, nil
	}
	p, err := e.Project(project)
	if p == nil || !p.Readable(agent) {
		return nil, err
	}
	return p, nil
}

// hides reports whether an agent may not read a project, as far as that is known without the disk.
// A stranger neither loads a project nor learns from the time of an answer that there is one.
func (e *Engine) hides(h *handle, agent id.ID) bool {
	if view := h.view.Load(); view != nil {
		return !view.project.Readable(agent)
	}
	h.mu.Lock()
	known := h.mu.stale&index.ForMemberships == 0
	h.mu.Unlock()
	return known && e.projections.indexes.Memberships.Hides(h.id, agent)
}

// refusal is the error of a command to a project that its caller may not read, BEFORE anything of
// the project is loaded and without a wait for what others write: that of a project which does not
// exist. It is nil for all others, for the server's own commands, which no agent gives, and on a
// server that does not lead, because what it shows may be old.
func (e *Engine) refusal(h *handle, request *api.Order) error {
	if request.Agent.IsZero() || e.leading() == 0 || !e.hides(h, request.Agent) {
		return nil
	}
	if view := h.view.Load(); view != nil {
		return work.Authorize(request.Command, view.project, request.Agent)
	}
	if work.Leaves(request.Command) {
		return nil
	}
	return work.Authorize(request.Command, nil, request.Agent)
}

// Project implements api.Engine: the published view of a project, nil where there is none.
func (e *Engine) Project(project id.ID) (*work.Project, error) {
	h, ok := e.handles.Load(project)
	if !ok {
		return nil, nil
	}
	h.touched.Store(e.clock.floor.Load())
	if view := h.view.Load(); view != nil {
		return view.project, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	view, err := e.loadIfRoom(h)
	if err != nil || view == nil {
		return nil, err
	}
	return view.project, nil
}

// loadIfRoom is load for requests: RATE_LIMITED if there is no memory for the project. The handle's
// lock is held.
func (e *Engine) loadIfRoom(h *handle) (*published, error) {
	if h.loaded() {
		return h.view.Load(), nil
	}
	giveBack, err := e.reserveLoad(h)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	return e.load(h)
}

// loaded reports whether there is nothing to load: the project is in memory, or does not exist yet.
// The handle's lock is held.
func (h *handle) loaded() bool {
	return h.view.Load() != nil || !h.stored.Load() && len(h.waiting()) == 0
}

// load brings a passive project into memory; nil where it does not exist yet. The handle's lock is
// held.
func (e *Engine) load(h *handle) (*published, error) {
	if h.loaded() {
		return h.view.Load(), nil
	}
	view, err := e.readBehind(h)
	if errors.Is(err, api.ErrDamaged) {
		view, err = e.replaced(h, err)
	}
	if err != nil {
		if !errors.Is(err, api.ErrDamaged) {
			e.log.Error("cannot load project", "project", h.id.Format(id.Project), "error", err)
		}
		return nil, err
	}
	e.takeLoaded(h, view)
	return view, nil
}

// readBehind reads what is saved of a project, and applies the entries that wait. The handle's lock
// is held.
func (e *Engine) readBehind(h *handle) (view *published, err error) {
	if h.mu.tail != nil && h.mu.tail.fault != nil {
		return nil, h.mu.tail.fault
	}
	view = &published{project: work.NewProject()}
	if h.stored.Load() {
		view.project, view.position, err = e.restore(h.id)
	}
	if err == nil {
		err = e.damaged(h.id, view.applyTail(h.waiting(), e.trees, e.projections.indexes))
	}
	return view, err
}

// takeLoaded publishes the state of a project that was loaded. The handle's lock is held.
func (e *Engine) takeLoaded(h *handle, view *published) {
	if h.mu.tail != nil && h.mu.tail.cardLost {
		// It is saved again.
		saved, _ := e.snapshot.SectionPosition(datadir.CardKey(h.id))
		view.cardAt = max(view.cardAt, saved+1)
	}
	h.mu.tail = nil
	e.damages.clear(h.id)
	e.spillHistory(view.project)
	e.takeIn(h, view.project)
	h.view.Store(view)
	e.residents.keep(h, e.clock.floor.Load())
	e.residents.note(h, view.project)
}

// look returns the state of a project, nil where there is none. A passive project that the snapshot
// holds is read and not kept in memory.
func (e *Engine) look(h *handle) (*work.Project, error) {
	if view := h.view.Load(); view != nil {
		return view.project, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if view := h.view.Load(); view != nil || len(h.waiting()) > 0 {
		view, err := e.load(h)
		if err != nil {
			return nil, err
		}
		return view.project, nil
	}
	if !h.stored.Load() {
		return nil, nil
	}
	p, _, err := e.restore(h.id)
	return p, err
}

// restore reads the sections of a project. Errors: api.ErrDamaged; others are of the system.
func (e *Engine) restore(project id.ID) (*work.Project, uint64, error) {
	p, position, err := e.readSections(project)
	return p, position, e.damaged(project, err)
}

// readSections is restore without a note of damage. A project that was removed may have lost its
// tree already.
func (e *Engine) readSections(project id.ID) (*work.Project, uint64, error) {
	head, position, ok, err := e.snapshot.Read(datadir.ProjectKey(project))
	if err == nil && !ok {
		err = errSectionMissing
	}
	if err != nil {
		return nil, 0, err
	}
	restored, err := work.Restore(head, func(name work.Chunk) ([]byte, error) {
		chunk, _, ok, err := e.snapshot.Read(datadir.ChunkKey(project, name))
		if err == nil && !ok {
			err = errSectionMissing
		}
		return chunk, err
	}, e.trees.load)
	if errors.Is(err, blobs.ErrNotFound) {
		if removed, failed := work.RestoreRemoved(head); failed == nil {
			return removed, position, nil
		}
	}
	return restored, position, err
}

// Do implements api.Engine.
func (e *Engine) Do(request api.Order) (api.Done, error) {
	for {
		h, ok := e.handles.Load(request.Project)
		if !ok {
			if !work.Creates(request.Command) {
				return api.Done{}, request.Command.Authorize(nil, request.Agent)
			}
			h, _ = e.handles.LoadOrStore(request.Project, &handle{id: request.Project})
		}
		if err := e.refusal(h, &request); err != nil {
			return api.Done{}, err
		}
		done, err := e.send(h, request)
		if err != errRetired {
			return done, err
		}
	}
}

// send gives a command to the actor of a handle and waits for its answer.
func (e *Engine) send(h *handle, request api.Order) (api.Done, error) {
	o := orders.Get().(*order)
	o.Order = request
	err := e.requireMemory(&request, h)
	var pid *actor.PID
	if err == nil {
		pid, err = e.admit(h, !request.Agent.IsZero())
	}
	if err != nil {
		o.Order = api.Order{}
		orders.Put(o)
		return api.Done{}, err
	}
	e.system.Root.Send(pid, o)
	<-o.done
	var out api.Done
	out, err = o.out, o.err
	out.Spent = o.spent
	o.Order, o.out, o.err, o.spent = api.Order{}, api.Done{}, nil, 0
	orders.Put(o)
	h.mu.Lock()
	h.mu.inFlight--
	h.mu.Unlock()
	e.inFlight.Done()
	return out, err
}

// admit counts an order in front of the mailbox, which itself knows no bounds, and wakes the actor;
// it stays awake while an order is counted. Close takes the lock once, so that it then waits for
// all that was counted. Orders without an agent, which are few, are not bounded: an erasure would
// fail as long as others fill the queue.
func (e *Engine) admit(h *handle, bounded bool) (*actor.PID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case e.closing.Load():
		return nil, fault.Stopping()
	case h.mu.dead:
		return nil, errRetired
	case h.mu.broken:
		why, _ := e.broken.Load(h.id)
		return nil, fmt.Errorf("%w: %w", errBroken, why)
	case bounded && int(h.mu.inFlight) >= e.config.QueueMax:
		return nil, fault.New(fault.RateLimited, "Too many requests wait for this project.").
			With("reason", "PROJECT_QUEUE_FULL").With("retry_after_seconds", 1)
	}
	if h.mu.pid == nil {
		if _, err := e.loadIfRoom(h); err != nil {
			return nil, err
		}
		h.mu.pid = e.spawn(&projectActor{engine: e, handle: h})
	}
	h.mu.inFlight++
	e.inFlight.Add(1)
	h.touched.Store(e.clock.floor.Load())
	return h.mu.pid, nil
}

// mailboxRun is how many messages an actor takes before it lets others run.
const mailboxRun = 128

// spawn starts an actor with the mailbox that gives its memory back. The mailbox runs on the
// goroutine that found it idle, which waits for an answer anyway: to wake another one for a few
// microseconds of work costs more than the work. Others that come while it works leave their
// message and wait. The in-flight bound is also the bound of what one goroutine may have to run for
// others.
func (e *Engine) spawn(a actor.Actor) *actor.PID {
	return e.system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return a },
		actor.WithMailbox(actor.UnboundedLockfree()),
		actor.WithDispatcher(actor.NewSynchronizedDispatcher(mailboxRun))))
}

func (e *Engine) breakProject(h *handle, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.broken = true
	e.broken.Store(h.id, err)
}

// publish makes a durable state the one that readers see. The log's committer calls it, in order.
// The owner index has a new project BEFORE anybody can have seen a record of it.
func (e *Engine) publish(h *handle, next *work.Project, position uint64, events []work.Event) {
	view := &published{project: next, position: position}
	var before *work.Project
	if last := h.view.Load(); last != nil {
		before, view.cardAt = last.project, last.cardAt
	} else {
		e.owners.add(h)
		e.residents.keep(h, e.clock.floor.Load())
	}
	if changed := e.projections.indexes.Update(before, next, events); changed != 0 {
		view.cardAt = position
	}
	h.view.Store(view)
	e.search.note(before, next, position, events)
	e.saver.markDirty(h)
}

// PublicProjects implements api.Engine. Each listed project is checked in the live view. Damaged
// ones are left out.
func (e *Engine) PublicProjects(from index.Position, limit int) ([]*work.Project, error) {
	var found []*work.Project
	for len(found) < limit {
		places := e.Indexes(index.ForListing).Listing.After(from, limit-len(found))
		if len(places) == 0 {
			break
		}
		for _, place := range places {
			project, err := api.Intact(e.Summary(place.ID))
			if err != nil {
				return nil, err
			}
			if project != nil && project.Visibility == work.Public {
				found = append(found, project)
			}
			from = place
		}
	}
	return found, nil
}

// Summary implements api.Engine: a project for a list, which is the live view, or of a passive one
// the saved record alone.
func (e *Engine) Summary(project id.ID) (*work.Project, error) {
	h, ok := e.handles.Load(project)
	if !ok {
		return nil, nil
	}
	for {
		if view := h.view.Load(); view != nil {
			return view.project, nil
		}
		if !h.passive() {
			return e.Project(project)
		}
		saved, position, err := e.summaries.read(e.snapshot, project)
		if err != nil {
			return nil, e.damaged(project, err)
		}
		// The record is current if there was no view AFTER it was read and it has not been saved
		// again since: a view leaves memory only AFTER it was saved.
		if h.view.Load() != nil {
			continue
		}
		if now, _ := e.snapshot.SectionPosition(datadir.ProjectKey(project)); now != position {
			continue
		}
		// One that an earlier version saved without all that a list shows is loaded.
		if saved.Outdated() {
			return e.Project(project)
		}
		return saved, nil
	}
}

// passive reports whether the snapshot holds all of a project and memory nothing. A project that is
// not passive may be loaded, wait to be loaded, or not exist yet.
func (h *handle) passive() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.view.Load() == nil && len(h.waiting()) == 0 && h.stored.Load()
}

// Readable implements api.Engine.
func (e *Engine) Readable(project, agent id.ID) (bool, error) {
	if h, ok := e.handles.Load(project); !ok || e.hides(h, agent) {
		return false, nil
	}
	p, err := e.Summary(project)
	return p != nil && p.Readable(agent), err
}
