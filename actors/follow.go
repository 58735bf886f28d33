package actors

import (
	"bytes"

	"pws/blobs"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// Follow implements journal.Machine: what an actor, and commit.Committed, do for an entry of this
// server, in the same order.
func (e *Engine) Follow(position uint64, payload []byte) error {
	decoded, err := datadir.DecodeEntry(payload)
	if err != nil {
		return inLog(position, err)
	}
	e.clock.note(decoded.Now)
	for _, blob := range decoded.Blobs {
		e.recents.count(decoded.Agent, int64(len(blob.Content)))
		e.blobs.Add(position, blobs.Hash(blob.Hash), bytes.Clone(blob.Content))
	}
	if e.blobs.RecentBytes() > e.config.SnapshotBlobBytes {
		e.saver.hurry()
	}
	if decoded.Target == datadir.TargetContents {
		return nil
	}
	bare := withoutContents(position, &decoded)
	in, err := bare.decode()
	if err == nil {
		err = datadir.Guarded(func() error {
			if in.entry.Target == datadir.TargetIdentity {
				return e.followIdentity(&in)
			}
			return e.followProject(&in)
		})
	}
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
	erased, err := e.noteErasures(events)
	if err != nil {
		return err
	}
	cell.publish(&publishedIdentity{state: state, position: in.position}, events)
	if erased {
		e.erasing.follow()
	}
	e.followAgents(in.position, in.entry.Now, events)
	e.search.followIdentity(in.position, events)
	return nil
}

func (e *Engine) followProject(in *replayed) error {
	h, before, err := e.hold(in.entry.ID)
	if err != nil {
		return err
	}
	defer h.letGo()
	h.deciding.Lock()
	defer h.deciding.Unlock()
	events, err := in.events(e.trees)
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
	if err := e.keepStored(in); err != nil {
		return err
	}
	e.spillHistory(next.project)
	e.residents.note(h, next.project)
	e.publish(h, next.project, in.position, events)
	agent, now := in.entry.Agent, in.entry.Now
	e.inbox.Deliver(in.position, deliveriesOfEntry(events, h.id, agent, now))
	e.feed.push(feedNote{
		position: in.position, project: h.id, now: now, agent: agent,
		activities: activitiesOf(events),
	})
	return nil
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
