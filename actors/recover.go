package actors

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"pws/api"
	"pws/blobs"
	"pws/identity"
	"pws/index"
	"pws/internal/id"
	"pws/wal"
	"pws/work"
)

// Recovery is what a start found.
type Recovery struct {
	// Log is what the log found: its range, and a torn tail that was cut.
	Log wal.Recovery
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

// recover brings back the state: sections of the snapshot first, then the entries behind them. An
// entry that a section contains already is passed over by its position.
func (e *Engine) recover(report *Recovery) error {
	report.Snapshot = e.snapshot.Position()
	for key := range e.sectionKeys("p") {
		h := &handle{id: id.ID([]byte(key[1:]))}
		h.stored.Store(true)
		e.handles.Store(h.id, h)
	}
	for key := range e.sectionKeys("v") {
		at := index.Position{Millis: int64(beUint64(key[1:9])), ID: id.ID([]byte(key[9:]))}
		e.listing.Set(at, true)
		if h, ok := e.handles.Load(at.ID); ok {
			h.marked = true
		}
	}
	if err := e.restoreIdentity(); err != nil {
		return err
	}
	if err := e.replay(report); err != nil {
		return err
	}
	report.Projects = e.handles.Size()
	return nil
}

func beUint64(text string) (value uint64) {
	for at := range 8 {
		value = value<<8 | uint64(text[at])
	}
	return value
}

func (e *Engine) sectionKeys(prefix string) func(yield func(string, uint64) bool) {
	return func(yield func(string, uint64) bool) { e.snapshot.Keys(prefix, yield) }
}

func (e *Engine) restoreIdentity() error {
	state := identity.New()
	for key := range e.sectionKeys("a") {
		section, _, _, err := e.snapshot.Read(key)
		if err == nil {
			err = state.RestoreAgent(section)
		}
		if err != nil {
			return fmt.Errorf("agent %s: %w", id.ID([]byte(key[1:])).Format(id.Agent), err)
		}
	}
	section, position, ok, err := e.snapshot.Read(challengesKey)
	if err == nil && ok {
		err = state.RestoreChallenges(section)
	}
	if err != nil {
		return fmt.Errorf("challenges: %w", err)
	}
	e.identity.view.Store(&publishedIdentity{state: state, position: position})
	return nil
}

// replay runs the log behind the snapshot. Projects are shared out among workers, each of which
// sees the entries of its projects in order; identity is one of them.
func (e *Engine) replay(report *Recovery) error {
	workers := make([]*replayer, max(1, runtime.GOMAXPROCS(0)))
	var running sync.WaitGroup
	for at := range workers {
		w := newReplayer(e)
		workers[at] = w
		running.Add(1)
		go func() {
			defer running.Done()
			w.run()
		}()
	}
	newest := int64(0)
	err := e.wal.Replay(report.Snapshot+1, func(position uint64, payload []byte) error {
		report.Entries++
		decoded, err := decodeEntry(append([]byte(nil), payload...))
		if err != nil {
			return fmt.Errorf("log entry %d: %w", position, err)
		}
		newest = max(newest, decoded.now)
		for _, blob := range decoded.blobs {
			e.blobs.Add(position, blobs.Hash(blob.hash), blob.content)
		}
		worker := workers[int(decoded.id[15])%len(workers)]
		return worker.give(position, decoded)
	})
	for _, w := range workers {
		w.flush()
		close(w.input)
	}
	running.Wait()
	for _, w := range workers {
		if err == nil {
			err = w.fault
		}
	}
	e.clock.raise(newest)
	return err
}

// replayBatch is how many entries go to a worker at once.
const replayBatch = 256

type replayed struct {
	position uint64
	entry    entry
}

// replayer applies the entries of some projects. Nobody else sees their states yet, so they are
// changed in place.
type replayer struct {
	engine *Engine
	input  chan []replayed
	batch  []replayed
	// failed is closed once fault is set.
	failed chan struct{}
	fault  error
}

func newReplayer(e *Engine) *replayer {
	return &replayer{engine: e, input: make(chan []replayed, 8), failed: make(chan struct{})}
}

// give passes an entry on; it returns an error once the worker has failed.
func (r *replayer) give(position uint64, e entry) error {
	r.batch = append(r.batch, replayed{position, e})
	if len(r.batch) < replayBatch {
		return nil
	}
	return r.flush()
}

func (r *replayer) flush() error {
	batch := r.batch
	r.batch = make([]replayed, 0, replayBatch)
	select {
	case r.input <- batch:
		return nil
	case <-r.failed:
		return r.fault
	}
}

func (r *replayer) run() {
	for batch := range r.input {
		for at := range batch {
			if r.fault != nil {
				break
			}
			if err := r.apply(&batch[at]); err != nil {
				r.fault = fmt.Errorf("log entry %d: %w", batch[at].position, err)
				close(r.failed)
			}
		}
	}
}

// apply turns a panic of an event into an error: the log and the rules do not agree.
func (r *replayer) apply(in *replayed) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("event panicked: %v", broken)
		}
	}()
	if in.entry.target == targetIdentity {
		return r.applyIdentity(in)
	}
	return r.applyProject(in)
}

func (r *replayer) applyIdentity(in *replayed) error {
	cell := &r.engine.identity
	view := cell.view.Load()
	if in.position <= view.position {
		return nil
	}
	events := make([]identity.Event, len(in.entry.events))
	for at, stored := range in.entry.events {
		event, err := identity.DecodeEvent(stored.kind, stored.data)
		if err != nil {
			return err
		}
		view.state.Apply(event, in.entry.now)
		events[at] = event
	}
	view.position = in.position
	cell.publish(view, events)
	return nil
}

func (r *replayer) applyProject(in *replayed) error {
	e := r.engine
	h, known := e.handles.Load(in.entry.id)
	if !known {
		h, _ = e.handles.LoadOrStore(in.entry.id, &handle{id: in.entry.id})
	}
	if saved, ok := e.snapshot.SectionPosition(headKey(h.id)); ok && in.position <= saved {
		return nil
	}
	h.mu.Lock()
	view, err := e.load(h)
	h.mu.Unlock()
	if err != nil {
		return err
	}
	if view == nil {
		view = &published{project: new(work.Project)}
	}
	before := view.project.Visibility
	moment := work.Moment{Now: in.entry.now, Agent: in.entry.agent}
	for _, stored := range in.entry.events {
		event, err := work.DecodeEvent(work.Kind(stored.kind), stored.data)
		if err != nil {
			return err
		}
		view.project.Apply(event, moment)
	}
	if len(in.entry.result) > 0 {
		var result work.Idempotent
		if err := cbor.Unmarshal(in.entry.result, &result); err != nil {
			return fmt.Errorf("stored result: %w", err)
		}
		view.project.Remember(result, in.entry.now)
	}
	view.position = in.position
	if p := view.project; p.Visibility != before {
		e.listing.Set(index.Position{Millis: p.CreatedAt, ID: p.ID}, p.Visibility == work.Public)
	}
	h.view.Store(view)
	e.markDirty(h)
	return nil
}
