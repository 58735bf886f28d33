package actors

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"pws/api"
	"pws/identity"
	"pws/index/feed"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
	"pws/snapshot"
)

// Recovery is what a start found.
type Recovery struct {
	// Log is what the log found: its range, and a torn tail that was cut.
	Log journal.Recovery
	// Feed is what the feed found: a torn tail, which is not read.
	Feed feed.Report
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
	if err := e.restoreTime(); err != nil {
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

// storedHandles registers the projects that the snapshot holds, and returns them sorted by ID.
func (e *Engine) storedHandles() (stored []*handle) {
	for key := range e.sectionKeys(datadir.ProjectPrefix) {
		if datadir.IsChunk(key) {
			continue
		}
		h := &handle{id: datadir.IDOf(key)}
		h.stored.Store(true)
		stored = append(stored, h)
	}
	e.handles = xsync.NewMapOf[id.ID, *handle](xsync.WithPresize(len(stored)))
	e.broken = xsync.NewMapOf[id.ID, error]()
	e.projections.indexes.Memberships.Expect(len(stored))
	for _, h := range stored {
		e.handles.Store(h.id, h)
	}
	return stored
}

func (e *Engine) sectionKeys(prefix string) func(yield func(string, uint64) bool) {
	return func(yield func(string, uint64) bool) { e.snapshot.Keys(prefix, yield) }
}

// restoreEach gives the sections of a prefix to restore, one at a time.
func (e *Engine) restoreEach(
	prefix, noun string, kind id.Prefix, restore func(section []byte) error,
) error {
	var restoring sync.Mutex
	return e.snapshot.Scan(prefix, datadir.KeyBytes, func(s snapshot.Section) error {
		restoring.Lock()
		defer restoring.Unlock()
		if err := restore(s.Data); err != nil {
			return fmt.Errorf("%s %s: %w", noun, datadir.IDOf(string(s.Key)).Format(kind), err)
		}
		return nil
	})
}

func (e *Engine) restoreIdentity() error {
	state := identity.New()
	err := e.restoreEach(datadir.AgentPrefix, "agent", id.Agent, state.RestoreAgent)
	if err == nil {
		err = e.restoreEach(datadir.ReportPrefix, "report", id.Report, state.RestoreReport)
	}
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

// restoreTime has the clock go on behind what it had shown when the snapshot was saved: the log may
// begin behind the newest stamp. Snapshots of an earlier program do not have it.
func (e *Engine) restoreTime() error {
	if e.config.TestClock {
		ahead, err := datadir.ReadAdvance(e.config.Dir)
		if err != nil {
			return err
		}
		e.clock.ahead.Store(ahead)
	}
	section, _, ok, err := e.snapshot.Read(datadir.TimeKey)
	switch {
	case err != nil:
		return fmt.Errorf("time of the service: %w", err)
	case ok && len(section) != 8:
		return fmt.Errorf("time of the service: %d bytes", len(section))
	case ok:
		e.clock.note(int64(binary.BigEndian.Uint64(section)))
	}
	return nil
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
