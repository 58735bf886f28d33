package actors

import (
	"bytes"
	"errors"

	"pws/api"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// Follow implements journal.Machine: what an actor, and commit.Committed, do for an entry of this
// server, in the same order. What is kept AFTER the call is a copy: contents, decoded events, which
// share no bytes with the payload, and the entries of a damaged project.
func (e *Engine) Follow(position uint64, payload []byte) error {
	decoded, err := datadir.DecodeEntry(payload)
	if err != nil {
		return inLog(position, err)
	}
	e.clock.note(decoded.Now)
	if decoded.Target == datadir.TargetContents {
		if err := e.erasing.noteContents(&decoded); err != nil {
			return inLog(position, err)
		}
	}
	for _, blob := range decoded.Blobs {
		e.recents.count(decoded.Agent, int64(len(blob.Content)))
		e.store(position, blob.Hash, bytes.Clone(blob.Content))
	}
	if e.blobs.RecentBytes() > e.config.SnapshotBlobBytes {
		e.saver.hurry()
	}
	if decoded.Target == datadir.TargetContents {
		return nil
	}
	in := replayed{position: position, entry: decoded, stored: decoded.StoredBytes()}
	err = datadir.Guarded(func() error {
		if in.entry.Target == datadir.TargetIdentity {
			return e.followIdentity(&in)
		}
		return e.followProject(&in)
	})
	if err != nil {
		err = inLog(position, err)
	}
	return err
}

func (e *Engine) followIdentity(in *replayed) error {
	events, err := in.identityEvents()
	if err != nil {
		return err
	}
	cell := &e.identity
	cell.deciding.Lock()
	defer cell.deciding.Unlock()
	state := cell.view.Load().state.Clone()
	for _, event := range events {
		state.Apply(event, in.entry.Now)
	}
	erased, err := e.erasing.noteErasures(events)
	if err != nil {
		return err
	}
	cell.publish(&publishedIdentity{state: state, position: in.position}, events)
	if erased {
		e.erasing.wake()
	}
	e.deliverIdentity(in.position, in.entry.Now, events)
	e.search.noteIdentity(in.position, events)
	return nil
}

// followProject applies an entry of a project. One that is damaged here is lost here alone: its
// entries wait, as those do that a start finds, and the log keeps them.
func (e *Engine) followProject(in *replayed) error {
	for {
		h, before, err := e.hold(in.entry.ID)
		if err == nil {
			err = e.followHeld(h, before, in)
			h.letGo()
		}
		switch {
		case !errors.Is(err, api.ErrDamaged):
			return err
		case in.removes():
			// The state that it had makes no difference any more.
			e.loadStandIn(h)
		case e.keepFollowed(h, in, err):
			return e.followKept(in)
		}
	}
}

// followHeld applies an entry to the state of a project, nil for a new one. Errors: api.ErrDamaged
// where a new project cannot begin because the tree that it begins with is damaged here.
func (e *Engine) followHeld(h *handle, before *published, in *replayed) error {
	h.deciding.Lock()
	defer h.deciding.Unlock()
	events, err := in.events(e.trees)
	if err != nil && before == nil {
		err = e.damaged(h.id, err)
	}
	if err != nil {
		return err
	}
	next := &published{project: work.NewProject()}
	if before != nil {
		next.project = before.project.Clone()
	}
	if err := next.applyEvents(in, events); err != nil {
		return err
	}
	if err := e.replayStored(in); err != nil {
		return err
	}
	e.spillHistory(next.project)
	e.residents.note(h, next.project)
	e.publish(h, next.project, in.position, events)
	e.followNotices(in, events)
	return nil
}

// followNotices gives the events of an entry to inboxes and feed.
func (e *Engine) followNotices(in *replayed, events []work.Event) {
	agent, now := in.entry.Agent, in.entry.Now
	e.inbox.Deliver(in.position, deliveriesOfEntry(events, in.entry.ID, agent, now))
	e.feed.push(feedNote{
		position: in.position, project: in.entry.ID, now: now, agent: agent,
		activities: activitiesOf(events),
	})
}

// keepFollowed keeps an entry of a damaged project for the next start. It reports false where the
// project was loaded since, or has no handle any more.
func (e *Engine) keepFollowed(h *handle, in *replayed, fault error) (kept bool) {
	stale := &e.projections.stale
	stale.Lock()
	defer stale.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.dead || h.view.Load() != nil {
		return false
	}
	if !h.stored.Load() && h.mu.tail == nil {
		e.owners.add(h)
		e.markStale(h, index.All)
	}
	if h.mu.tail == nil {
		h.mu.tail = new(logTail)
	}
	if h.mu.tail.fault == nil {
		h.mu.tail.fault = fault
	}
	h.mu.tail.entries = append(h.mu.tail.entries, withoutContents(in.position, &in.entry))
	e.saver.markDirty(h)
	return true
}

// followKept does for an entry that waits what does not need the state of its project.
func (e *Engine) followKept(in *replayed) error {
	events, err := in.decodeEvents()
	if err == nil {
		err = e.replayStored(in)
	}
	if err == nil {
		e.followNotices(in, events)
	}
	return err
}

// hold loads a project and keeps it in memory until letGo. The view is nil where the project does
// not exist yet.
func (e *Engine) hold(project id.ID) (*handle, *published, error) {
	for {
		h, _ := e.handles.LoadOrStore(project, &handle{id: project})
		h.mu.Lock()
		if h.mu.dead {
			h.mu.Unlock()
			continue
		}
		view, err := e.load(h)
		if err == nil {
			h.mu.inFlight++
			h.touched.Store(e.clock.floor.Load())
		}
		h.mu.Unlock()
		return h, view, err
	}
}

func (h *handle) letGo() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.inFlight--
}
