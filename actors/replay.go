package actors

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"pws/blobs"
	"pws/identity"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// replayed is an entry of the log that is not this server's, or not of this run of it. Its contents
// are dealt with before.
type replayed struct {
	position uint64
	entry    datadir.Entry
	// stored is what the entry counts in quotas, with its contents.
	stored int64
}

// waitingEntry is an entry of the log that was not applied yet, encoded without its contents: a
// start may keep millions of them.
type waitingEntry struct {
	position uint64
	stored   int64
	data     []byte
}

// withoutContents encodes an entry without its contents.
func withoutContents(position uint64, e *datadir.Entry) waitingEntry {
	bare := *e
	bare.Blobs = nil
	return waitingEntry{position: position, stored: e.StoredBytes(), data: bare.Encode()}
}

// decode returns the entry, which points into the encoded one.
func (w *waitingEntry) decode() (replayed, error) {
	entry, err := datadir.DecodeEntry(w.data)
	return replayed{position: w.position, entry: entry, stored: w.stored}, err
}

// inLog adds to an error the entry that it is about.
func inLog(position uint64, err error) error {
	return fmt.Errorf("log entry %d: %w", position, err)
}

const (
	// replayBatch is how many entries go from the goroutine that reads the log to the one that
	// applies them at a time, replayAhead how many batches may wait.
	replayBatch = 256
	replayAhead = 8
	// replayIndexes is how many bytes of indexes of packs are in memory during a replay: contents of
	// the log are in packs already where a snapshot was interrupted.
	replayIndexes = 64 << 20
)

// replay goes through the log behind the snapshot. One goroutine reads it and stores the contents,
// another applies the entries to identity, inboxes and accounts. The entries of a project are kept
// for its first touch, which loads its sections and applies them: a start costs what it takes to
// read the log, and not what it takes to run it.
func (e *Engine) replay(report *Recovery) error {
	newest := int64(0)
	from := report.Snapshot + 1
	if last := report.Log.Last; last == report.Snapshot && last >= report.Log.First {
		// The newest entry is in the snapshot already, but it has the newest time.
		from = last
	}
	// A look-up reads a page of 4 KiB where an index is not in memory.
	behind := int64(max(report.Log.Last, report.Snapshot) - report.Snapshot)
	release, err := e.blobs.HoldIndexes(min(replayIndexes, 4096*behind))
	defer release()
	if err != nil {
		return err
	}
	applying, contents := e.startApplying(), e.blobs.Replay()
	batch := make([]waitingEntry, 0, replayBatch)
	err = e.journal.Replay(from, func(position uint64, payload []byte) error {
		decoded, err := datadir.DecodeEntry(payload)
		if err != nil {
			return inLog(position, err)
		}
		newest = max(newest, decoded.Now)
		if position <= report.Snapshot {
			return nil
		}
		report.Entries++
		if decoded.Target == datadir.TargetContents {
			if err := e.erasing.noteContents(&decoded); err != nil {
				return inLog(position, err)
			}
		}
		for _, blob := range decoded.Blobs {
			e.recents.count(decoded.Agent, int64(len(blob.Content)))
			contents.Add(position, blobs.Hash(blob.Hash), blob.Content)
		}
		if batch = append(batch, withoutContents(position, &decoded)); len(batch) == replayBatch {
			applying.batches <- batch
			batch = make([]waitingEntry, 0, replayBatch)
		}
		if fault := applying.failed.Load(); fault != nil {
			return *fault
		}
		return nil
	})
	applying.batches <- batch
	close(applying.batches)
	applying.ended.Wait()
	e.clock.note(newest)
	if fault := applying.failed.Load(); fault != nil {
		// It is about an entry before that of any other error.
		return *fault
	}
	return err
}

// applying is the goroutine that applies the entries of the log.
type applying struct {
	batches chan []waitingEntry
	failed  atomic.Pointer[error]
	ended   sync.WaitGroup
}

func (e *Engine) startApplying() *applying {
	a := &applying{batches: make(chan []waitingEntry, replayAhead)}
	a.ended.Go(func() {
		for batch := range a.batches {
			if a.failed.Load() != nil {
				continue
			}
			if err := e.applyBatch(batch); err != nil {
				a.failed.Store(&err)
			}
		}
	})
	return a
}

// applyBatch applies entries of the log, in order, or keeps them for their projects.
func (e *Engine) applyBatch(batch []waitingEntry) error {
	for i := range batch {
		in, err := batch[i].decode()
		if err == nil && in.entry.Target == datadir.TargetContents {
			continue
		}
		if err == nil {
			err = e.replayInbox(&in)
		}
		if err == nil {
			err = e.replayStored(&in)
		}
		switch {
		case err != nil:
		case in.entry.Target == datadir.TargetIdentity:
			err = datadir.Guarded(func() error { return e.replayIdentity(&in) })
		default:
			err = e.keepTail(&in, batch[i])
		}
		if err != nil {
			return inLog(in.position, err)
		}
	}
	return nil
}

// replayIdentity applies an entry of identity, and notes what has to be erased here because of it.
func (e *Engine) replayIdentity(in *replayed) error {
	events, err := e.identity.apply(in)
	if err != nil {
		return err
	}
	erased, err := e.erasing.noteErasures(events)
	if erased {
		e.erasing.wake()
	}
	return err
}

// apply applies an entry of the log, unless the state contains it, and returns the events that were
// applied. It writes nothing to the disk: a check of a data directory uses it, too.
func (c *identityCell) apply(in *replayed) ([]identity.Event, error) {
	view := c.view.Load()
	if in.position <= view.position {
		return nil, nil
	}
	events, err := in.identityEvents()
	if err != nil {
		return nil, err
	}
	for _, event := range events {
		view.state.Apply(event, in.entry.Now)
	}
	view.position = in.position
	c.publish(view, events)
	return events, nil
}

// keepTail gives an entry to its project, unless its section contains it. The project becomes stale
// in the indexes that the events may have changed.
func (e *Engine) keepTail(in *replayed, encoded waitingEntry) error {
	h, known := e.handles.Load(in.entry.ID)
	if !known {
		h = &handle{id: in.entry.ID}
		e.handles.Store(h.id, h)
		e.owners.add(h)
	}
	if len(h.waiting()) == 0 && h.stored.Load() {
		saved, _ := e.snapshot.SectionPosition(datadir.ProjectKey(h.id))
		if in.position <= saved {
			return nil
		}
	}
	for i, stored := range in.entry.Events {
		kind := work.Kind(stored.Kind)
		stale := e.projections.indexes.OfKind(kind)
		switch first := i == 0 && len(h.waiting()) == 0 && !h.stored.Load(); {
		case !work.Known(kind):
			return fmt.Errorf("event kind %d is unknown", kind)
		case first != (kind == work.KindProjectCreated):
			return fmt.Errorf("event kind %d begins project %s, or does so again", kind,
				h.id.Format(id.Project))
		case first:
			// The event says all that the listing needs.
			stale &^= index.ForListing
			if err := e.listCreated(in, stored); err != nil {
				return err
			}
		case stale&index.ForMemberships != 0 && index.OnlyTouches(kind):
			e.projections.indexes.Memberships.Touch(h.id, in.entry.Now)
			stale &^= index.ForMemberships
		}
		e.markStale(h, stale)
	}
	if h.mu.tail == nil {
		h.mu.tail = new(logTail)
	}
	h.mu.tail.entries = append(h.mu.tail.entries, encoded)
	e.saver.markDirty(h)
	return nil
}

func (e *Engine) listCreated(in *replayed, stored datadir.Event) error {
	event, err := work.DecodeEvent(work.KindProjectCreated, stored.Data)
	if err != nil {
		return err
	}
	if created, ok := event.(*work.ProjectCreated); ok {
		at := index.Position{Millis: in.entry.Now, ID: created.ID}
		e.projections.indexes.Listing.Set(at, created.About.Visibility == work.Public)
	}
	return nil
}

// applyTail brings a state that nobody else has seen up to date with the entries behind it.
func (v *published) applyTail(
	tail []waitingEntry, from *trees, changes *index.Projections,
) error {
	for i := range tail {
		if tail[i].position <= v.position {
			continue
		}
		in, err := tail[i].decode()
		if err == nil {
			err = datadir.Guarded(func() error { return v.apply(&in, from, changes) })
		}
		if err != nil {
			return inLog(in.position, err)
		}
	}
	return nil
}

func (v *published) apply(in *replayed, from *trees, changes *index.Projections) error {
	events, err := in.events(from)
	if err != nil {
		return err
	}
	for _, stored := range in.entry.Events {
		if changes.OfKind(work.Kind(stored.Kind)) != 0 {
			v.cardAt = in.position
		}
	}
	return v.applyEvents(in, events)
}

// events are those of an entry of a project, with the trees that they name.
func (in *replayed) events(from *trees) ([]work.Event, error) {
	events, err := in.decodeEvents()
	if err != nil {
		return nil, err
	}
	for _, event := range events {
		if err := from.give(event); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// decodeEvents is events without the trees.
func (in *replayed) decodeEvents() ([]work.Event, error) {
	events := make([]work.Event, len(in.entry.Events))
	for i, stored := range in.entry.Events {
		event, err := work.DecodeEvent(work.Kind(stored.Kind), stored.Data)
		if err != nil {
			return nil, err
		}
		events[i] = event
	}
	return events, nil
}

// removes reports whether an entry removes its project.
func (in *replayed) removes() bool {
	return slices.ContainsFunc(in.entry.Events, func(one datadir.Event) bool {
		return work.Kind(one.Kind) == work.KindProjectRemoved
	})
}

// identityEvents are those of an entry of identity.
func (in *replayed) identityEvents() ([]identity.Event, error) {
	events := make([]identity.Event, len(in.entry.Events))
	for i, stored := range in.entry.Events {
		event, err := identity.DecodeEvent(stored.Kind, stored.Data)
		if err != nil {
			return nil, err
		}
		events[i] = event
	}
	return events, nil
}

// applyEvents applies an entry, whose events were decoded.
func (v *published) applyEvents(in *replayed, events []work.Event) error {
	moment := work.Moment{Now: in.entry.Now, Agent: in.entry.Agent}
	for _, event := range events {
		v.project.Apply(event, moment)
	}
	if len(in.entry.Result) > 0 {
		result, err := work.DecodeResult(in.entry.Result)
		if err != nil {
			return err
		}
		v.project.Remember(result, in.entry.Now)
	}
	v.project.CountStored(in.entry.Agent, in.stored)
	v.position = in.position
	return nil
}
