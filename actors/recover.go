package actors

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/puzpuzpuz/xsync/v3"

	"pws/api"
	"pws/blobs"
	"pws/identity"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
	"pws/snapshot"
	"pws/work"
)

// Recovery is what a start found.
type Recovery struct {
	// Log is what the log found: its range, and a torn tail that was cut.
	Log journal.Recovery
	// Snapshot is the position that the snapshot covers; Entries behind it were replayed.
	Snapshot uint64
	Entries  uint64
	Projects int
	Agents   int
	Took     time.Duration
}

func identityOrderOf(command identity.Command) api.IdentityOrder {
	return api.IdentityOrder{Command: command}
}

// recover brings back the state: the names of what the snapshot holds, identity, and the entries
// behind. An entry that a section contains already is passed over by its position.
func (e *Engine) recover(report *Recovery) error {
	report.Snapshot = e.snapshot.Position()
	stored := e.storedHandles()
	var owning sync.WaitGroup
	defer owning.Wait()
	owning.Go(func() { e.owners.load(stored) })
	if err := e.readCardsMark(); err != nil {
		return err
	}
	if err := e.restoreIdentity(); err != nil {
		return err
	}
	if err := e.restoreInboxes(); err != nil {
		return err
	}
	if err := e.restoreAccounts(); err != nil {
		return err
	}
	if err := e.replay(report); err != nil {
		return err
	}
	if err := e.restoreCards(stored); err != nil {
		return err
	}
	report.Projects = e.handles.Size()
	return nil
}

// storedHandles registers the projects that the snapshot holds.
func (e *Engine) storedHandles() (stored []*handle) {
	expected := e.snapshot.CountKeys(datadir.ProjectPrefix, datadir.KeyBytes)
	e.handles = xsync.NewMapOf[id.ID, *handle](xsync.WithPresize(expected))
	e.projections.of.Memberships.Expect(expected)
	stored = make([]*handle, 0, expected)
	for key := range e.sectionKeys(datadir.ProjectPrefix) {
		if datadir.IsChunk(key) {
			continue
		}
		h := &handle{id: datadir.IDOf(key)}
		h.stored.Store(true)
		e.handles.Store(h.id, h)
		stored = append(stored, h)
	}
	return stored
}

func (e *Engine) sectionKeys(prefix string) func(yield func(string, uint64) bool) {
	return func(yield func(string, uint64) bool) { e.snapshot.Keys(prefix, yield) }
}

func (e *Engine) restoreIdentity() error {
	state := identity.New()
	var restoring sync.Mutex
	err := e.snapshot.Scan(datadir.AgentPrefix, datadir.KeyBytes, func(s snapshot.Section) error {
		restoring.Lock()
		defer restoring.Unlock()
		if err := state.RestoreAgent(s.Data); err != nil {
			return fmt.Errorf("agent %s: %w", datadir.IDOf(string(s.Key)).Format(id.Agent), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = e.snapshot.Scan(datadir.ReportPrefix, datadir.KeyBytes, func(s snapshot.Section) error {
		restoring.Lock()
		defer restoring.Unlock()
		if err := state.RestoreReport(s.Data); err != nil {
			return fmt.Errorf("report %s: %w", datadir.IDOf(string(s.Key)).Format(id.Report), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	section, _, ok, err := e.snapshot.Read(datadir.OperatorKey)
	if err == nil && ok {
		err = state.RestoreOperator(section)
	}
	if err != nil {
		return fmt.Errorf("operators: %w", err)
	}
	section, position, ok, err := e.snapshot.Read(datadir.ChallengesKey)
	if err == nil && ok {
		err = state.RestoreChallenges(section)
	}
	if err != nil {
		return fmt.Errorf("challenges: %w", err)
	}
	e.identity.view.Store(&publishedIdentity{state: state, position: position})
	return nil
}

// replayed is an entry of the log as a start finds it, without its contents.
type replayed struct {
	position uint64
	entry    datadir.Entry
	// stored is what the entry counts in quotas, with its contents.
	stored int64
}

// withoutContents returns a copy of an entry without its contents, which keeps nothing else alive.
func withoutContents(position uint64, e *datadir.Entry) (replayed, error) {
	bare := *e
	bare.Blobs = nil
	copied, err := datadir.DecodeEntry(bare.Encode())
	return replayed{position: position, entry: copied, stored: e.StoredBytes()}, err
}

// replay goes through the log behind the snapshot. Identity is changed at once. The entries of a
// project are kept for its first touch, which loads its sections and applies them: a start costs
// what it takes to read the log, and not what it takes to run it.
func (e *Engine) replay(report *Recovery) error {
	newest := int64(0)
	from := report.Snapshot + 1
	if last := report.Log.Last; last == report.Snapshot && last >= report.Log.First {
		// The newest entry is in the snapshot already, but it has the newest time.
		from = last
	}
	err := e.journal.Replay(from, func(position uint64, payload []byte) error {
		decoded, err := datadir.DecodeEntry(payload)
		if err != nil {
			return fmt.Errorf("log entry %d: %w", position, err)
		}
		newest = max(newest, decoded.Now)
		if position <= report.Snapshot {
			return nil
		}
		report.Entries++
		for _, blob := range decoded.Blobs {
			e.recents.count(decoded.Agent, int64(len(blob.Content)))
			e.blobs.AddCopy(position, blobs.Hash(blob.Hash), blob.Content)
		}
		in, err := withoutContents(position, &decoded)
		if err == nil {
			err = e.keepInbox(&in)
		}
		if err == nil {
			err = e.keepStored(&in)
		}
		if err != nil {
			return fmt.Errorf("log entry %d: %w", position, err)
		}
		if decoded.Target == datadir.TargetIdentity {
			err = datadir.Guarded(func() error { return e.applyIdentity(&in) })
		} else {
			err = e.keepTail(in)
		}
		if err != nil {
			err = fmt.Errorf("log entry %d: %w", position, err)
		}
		return err
	})
	e.clock.raise(newest)
	return err
}

// inParallel calls do for 0 to n-1 on all processors, and stops after the first error.
func inParallel(n int, do func(at int) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for failed.Load() == nil {
				at := int(next.Add(1)) - 1
				if at >= n {
					return
				}
				if err := do(at); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (e *Engine) applyIdentity(in *replayed) error {
	cell := &e.identity
	view := cell.view.Load()
	if in.position <= view.position {
		return nil
	}
	events, err := in.identityEvents()
	if err != nil {
		return err
	}
	for _, event := range events {
		view.state.Apply(event, in.entry.Now)
	}
	view.position = in.position
	cell.publish(view, events)
	return nil
}

// keepTail gives an entry to its project, unless its section contains it. The project becomes stale
// in the indexes that the events may have changed.
func (e *Engine) keepTail(in replayed) error {
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
	for at, stored := range in.entry.Events {
		kind := work.Kind(stored.Kind)
		stale := e.projections.of.OfKind(kind)
		switch first := at == 0 && len(h.waiting()) == 0 && !h.stored.Load(); {
		case !work.Known(kind):
			return fmt.Errorf("event kind %d is unknown", kind)
		case first != (kind == work.KindProjectCreated):
			return fmt.Errorf("event kind %d begins project %s, or does so again", kind,
				h.id.Format(id.Project))
		case first:
			// The event says all that the listing needs.
			stale &^= index.ForListing
			if err := e.listCreated(&in, stored); err != nil {
				return err
			}
		case stale&index.ForMemberships != 0 && index.OnlyTouches(kind):
			e.projections.of.Memberships.Touch(h.id, in.entry.Now)
			stale &^= index.ForMemberships
		}
		e.markStale(h, stale)
	}
	if h.mu.tail == nil {
		h.mu.tail = new(logTail)
	}
	h.mu.tail.entries = append(h.mu.tail.entries, in)
	e.markDirty(h)
	return nil
}

func (e *Engine) listCreated(in *replayed, stored datadir.Event) error {
	event, err := work.DecodeEvent(work.KindProjectCreated, stored.Data)
	if err != nil {
		return err
	}
	if created, ok := event.(*work.ProjectCreated); ok {
		at := index.Position{Millis: in.entry.Now, ID: created.ID}
		e.projections.of.Listing.Set(at, created.About.Visibility == work.Public)
	}
	return nil
}

// applyTail brings a state that nobody else has seen up to date with the entries behind it.
func (v *published) applyTail(tail []replayed, from *trees, changes *index.Projections) error {
	for at := range tail {
		in := &tail[at]
		if in.position <= v.position {
			continue
		}
		if err := datadir.Guarded(func() error { return v.apply(in, from, changes) }); err != nil {
			return fmt.Errorf("log entry %d: %w", in.position, err)
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

// events are those of an entry of a project.
func (in *replayed) events(from *trees) ([]work.Event, error) {
	events := make([]work.Event, len(in.entry.Events))
	for at, stored := range in.entry.Events {
		event, err := work.DecodeEvent(work.Kind(stored.Kind), stored.Data)
		if err == nil {
			err = from.give(event)
		}
		if err != nil {
			return nil, err
		}
		events[at] = event
	}
	return events, nil
}

// identityEvents are those of an entry of identity.
func (in *replayed) identityEvents() ([]identity.Event, error) {
	events := make([]identity.Event, len(in.entry.Events))
	for at, stored := range in.entry.Events {
		event, err := identity.DecodeEvent(stored.Kind, stored.Data)
		if err != nil {
			return nil, err
		}
		events[at] = event
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
		var result work.Idempotent
		if err := cbor.Unmarshal(in.entry.Result, &result); err != nil {
			return fmt.Errorf("stored result: %w", err)
		}
		v.project.Remember(result, in.entry.Now)
	}
	v.project.CountStored(in.entry.Agent, in.stored)
	v.position = in.position
	return nil
}
