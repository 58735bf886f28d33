package actors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"pws/blobs"
	"pws/index"
	"pws/index/feed"
	"pws/internal/datadir"
	"pws/internal/disk"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// saver writes snapshots: one goroutine does when one is due, and others may.
type saver struct {
	engine *Engine
	// dirty holds the handles that changed since the last snapshot began.
	dirty struct {
		sync.Mutex
		handles []*handle
	}
	// fault is why the last snapshot failed.
	fault atomic.Pointer[error]
	// running is held by the one save at a time.
	running sync.Mutex
	// lastAt is when the last save ended, lastBytes how much the log had taken when it began.
	lastAt    time.Time
	lastBytes uint64
	// hook is called between any two steps of a save, with the name of the one that is over. Tests
	// let others write there, or have the save fail.
	hook stepHook
	// woken asks for a save at once.
	woken wakeup
	// pacer makes pauses in a save that nobody waits for.
	pacer pacer
}

func newSaver(e *Engine) *saver {
	s := &saver{engine: e, woken: newWakeup()}
	s.pacer = pacer{now: time.Now, pause: s.pauseSave}
	return s
}

// saveAtOnceAfter is the least time between a save and one that was asked for.
const saveAtOnceAfter = 200 * time.Millisecond

// hurry asks for a save at once, because memory waits for it.
func (s *saver) hurry() {
	s.woken.wake()
}

// saveLoop writes a snapshot whenever one is due.
func (s *saver) saveLoop() {
	e := s.engine
	defer e.stopped.Done()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-e.stop:
			return
		case now := <-tick.C:
			e.space.noteSpace()
			if s.saveDue(now) {
				s.save(nil, withPauses)
			}
		case <-s.woken:
			if !s.awaitSave() {
				return
			}
			if now := time.Now(); s.saveAllowed(now) {
				e.Save()
			}
		}
	}
}

// awaitSave waits until a save that was asked for may begin. It reports false when the engine
// stops.
func (s *saver) awaitSave() bool {
	s.running.Lock()
	pause := time.NewTimer(saveAtOnceAfter - time.Since(s.lastAt))
	s.running.Unlock()
	defer pause.Stop()
	select {
	case <-s.engine.stop:
		return false
	case <-pause.C:
		return true
	}
}

// saveAllowed reports whether a save may begin now: AFTER one that failed there is a pause.
func (s *saver) saveAllowed(now time.Time) bool {
	s.running.Lock()
	defer s.running.Unlock()
	return !s.saveWaits(now)
}

// saveAgainAfter is how long a save that failed is left alone.
const saveAgainAfter = 30 * time.Second

func (s *saver) saveDue(now time.Time) bool {
	e := s.engine
	s.running.Lock()
	defer s.running.Unlock()
	if s.saveWaits(now) {
		return false
	}
	s.dirty.Lock()
	dirty := len(s.dirty.handles) > 0
	s.dirty.Unlock()
	e.identity.dirty.Lock()
	dirty = dirty || e.identity.dirty.any
	e.identity.dirty.Unlock()
	if !dirty {
		return false
	}
	// A snapshot lets the log be cut, which gives space back.
	short := e.space.short.Load() &&
		(e.space.paused.Load() || now.Sub(s.lastAt) >= saveAgainAfter)
	written := e.journal.Stats().RawBytes - s.lastBytes
	return short || written >= uint64(e.config.SnapshotLogBytes) ||
		e.blobs.RecentBytes() >= e.config.SnapshotBlobBytes ||
		now.Sub(s.lastAt) >= e.config.SnapshotEvery
}

// saveWaits says that the last snapshot failed and is not tried again yet. One that failed for want
// of space is tried as soon as there is space: until then writes may be refused.
func (s *saver) saveWaits(now time.Time) bool {
	space := s.engine.space
	if now.Sub(s.lastAt) >= saveAgainAfter {
		return false
	}
	if !space.paused.Load() {
		return s.fault.Load() != nil
	}
	return !space.freed.Load() && (!space.unfit.Load() || space.roomToSave() != nil)
}

// pauseSave waits for a time, but not when the engine stops, or while memory or disk space waits
// for the snapshot.
func (s *saver) pauseSave(d time.Duration) {
	if len(s.woken) > 0 || s.engine.space.short.Load() {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.engine.stop:
	}
}

// noteSave keeps why the last snapshot failed. A full disk is no fault: the log keeps everything,
// and the snapshot is tried again. No snapshot succeeds AFTER a store is uncertain, and the log
// would never be cut again: the process has to stop.
func (s *saver) noteSave(err error) {
	e := s.engine
	full := err != nil && disk.IsFull(err) && !uncertain(err)
	before := e.space.paused.Swap(full)
	switch {
	case err == nil:
		s.fault.Store(nil)
		if before {
			e.log.Info("snapshots resumed")
		}
	case full && !before:
		e.log.Warn("snapshot waits for disk space; no data is lost", "reason", err)
	case !full:
		s.fault.Store(&err)
		e.log.Error("snapshot failed; no data is lost", "error", err)
		if uncertain(err) {
			e.fail(err)
		}
	}
}

// uncertain reports whether a store has failed so that only a start shows what is on the disk.
func uncertain(err error) bool {
	return errors.Is(err, blobs.ErrUncertain) || errors.Is(err, snapshot.ErrUncertain) ||
		errors.Is(err, feed.ErrUncertain)
}

// Save writes a snapshot of all that changed, and cuts the log behind it. Writers go on: what they
// change after a view was taken stays in the log. The order is: packs, sections, manifest, and only
// AFTER all of that was read back, the cut.
func (e *Engine) Save() error { return e.saver.save(nil, atOnce) }

// saveSpeed is how a save uses the processor.
type saveSpeed bool

const (
	atOnce     saveSpeed = false
	withPauses saveSpeed = true
)

// save is Save. Earlier sections of the given projects leave the files of the snapshot.
func (s *saver) save(gone map[id.ID]bool, speed saveSpeed) error {
	e := s.engine
	s.running.Lock()
	defer s.running.Unlock()
	if speed == withPauses {
		s.pacer.begin()
		defer s.pacer.end()
	}
	if e.failure.Load() != nil {
		return *e.failure.Load()
	}
	began := time.Now()
	bytes := e.journal.Stats().RawBytes
	e.space.freed.Store(false)
	e.space.unfit.Store(false)
	recent := e.recents.begin()
	position := e.journal.Durable()
	err := s.hook.after("position")
	taken := s.drainDirty()
	taken.gone, taken.recent = gone, recent
	if err == nil {
		err = s.saveAt(position, taken)
	}
	s.lastAt = time.Now()
	s.noteSave(err)
	if err != nil {
		s.requeueDirty(taken)
		return err
	}
	s.lastBytes = bytes
	// What was saved can leave memory.
	e.residents.hurryIfFull()
	e.log.Debug("snapshot", "position", position, "projects", len(taken.handles),
		"agents", len(taken.agents), "took", time.Since(began))
	return nil
}

func (s *saver) saveAt(position uint64, taken changes) error {
	e := s.engine
	if taken.fault != nil {
		return taken.fault
	}
	if err := e.space.roomToSave(); err != nil {
		e.space.unfit.Store(true)
		return err
	}
	if err := e.blobs.Pack(position); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	e.recents.packed(taken.recent)
	if err := s.hook.after("packs"); err != nil {
		return err
	}
	writer, err := e.snapshot.Begin()
	if err != nil {
		return err
	}
	if len(taken.gone) > 0 {
		writer.Expel(func(key string) bool { return taken.gone[datadir.OwnerOf(key)] })
	}
	run, err := s.writeSections(writer, position, taken)
	if err == nil {
		err = s.hook.after("sections")
	}
	if err != nil {
		writer.Abort()
		return err
	}
	if err := writer.Commit(run.position); err != nil {
		return err
	}
	if run.complete {
		e.projections.saved.Store(uint32(index.All))
	}
	if err := s.hook.after("manifest"); err != nil {
		return err
	}
	for i, h := range taken.handles {
		if h.behind() > 0 {
			s.markDirty(h)
			continue
		}
		if saved := run.revisions[i]; saved > 0 {
			h.savedRevision = saved
		}
		h.stored.Store(true)
	}
	if err := s.hook.after("marks of what is saved"); err != nil {
		return err
	}
	if err := e.feed.cut(run.position + 1); err != nil {
		return err
	}
	if err := s.hook.after("cut"); err != nil {
		return err
	}
	return s.mergePacks()
}

// mergePacks merges packs if that is due and there is room.
func (s *saver) mergePacks() error {
	e := s.engine
	if !e.blobs.NeedsMerge() || !e.space.roomy(e.blobs.MergeBytes()) {
		return nil
	}
	// A Drop may take long: it reads all projects. The next save merges what is left.
	err := e.blobs.TryMerge()
	if errors.Is(err, blobs.ErrCorrupt) {
		// The snapshot is there, and merges leave the damaged pack alone from now on.
		e.log.Error("packs are not merged; reads find which contents are damaged", "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("merge packs: %w", err)
	}
	return nil
}

// savedRun is what becomes true when a run is committed.
type savedRun struct {
	// position is what the snapshot covers then.
	position uint64
	// complete says that the cards of all projects became complete.
	complete bool
	// revisions are those of the projects that were written, in the order of the handles that were
	// taken, 0 where nothing was.
	revisions []uint64
}

// writeSections writes the sections of all that changed.
func (s *saver) writeSections(
	writer *snapshot.Writer, position uint64, taken changes,
) (run savedRun, err error) {
	e := s.engine
	run = savedRun{position: position, revisions: make([]uint64, len(taken.handles))}
	var cards cardsWriter
	for i, h := range taken.handles {
		run.revisions[i], err = s.saveProject(writer, &cards, h)
		if errors.Is(err, errLeftOut) {
			if first := h.behind(); first > 0 {
				run.position = min(run.position, first-1)
			}
			taken.complete = false
			err = nil
		}
		if err == nil {
			err = s.hook.after("project")
		}
		if err != nil {
			return run, err
		}
		// A snapshot is long work in small steps, and those who wait for a write come first.
		runtime.Gosched()
		s.pacer.step()
	}
	if err := cards.flush(writer); err != nil {
		return run, err
	}
	for _, old := range datadir.ObsoletePrefixes {
		for key := range e.sectionKeys(old) {
			if err := writer.Delete(key); err != nil {
				return run, err
			}
		}
	}
	if err := e.saveInboxes(writer, taken.inboxes); err != nil {
		return run, err
	}
	if err := s.hook.after("inbox sections"); err != nil {
		return run, err
	}
	if err := saveAccounts(writer, taken.accounts); err != nil {
		return run, err
	}
	if taken.identity != nil {
		if err := saveIdentity(writer, taken); err != nil {
			return run, err
		}
	}
	if position > e.snapshot.Position() {
		bound := binary.BigEndian.AppendUint64(nil, uint64(e.clock.bound()))
		if err := writer.Put(datadir.TimeKey, position, bound); err != nil {
			return run, err
		}
	}
	if run.complete = taken.complete && !e.cardsSaved(); run.complete {
		return run, e.saveCardsMark(writer, position)
	}
	return run, nil
}

// errLeftOut says that a project cannot be loaded, and so not saved: its entries stay in the log.
var errLeftOut = errors.New("the project cannot be loaded")

// behind is the first entry that waits to be applied, 0 where none does.
func (h *handle) behind() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting()) == 0 {
		return 0
	}
	return h.waiting()[0].position
}

// saveProject writes the sections of one project that are not there yet, and returns the revision
// that was saved.
func (s *saver) saveProject(
	writer *snapshot.Writer, cards *cardsWriter, h *handle,
) (saved uint64, err error) {
	e := s.engine
	h.mu.Lock()
	view := h.view.Load()
	// One that has become passive since it was drained is saved, but perhaps without a complete card.
	cardLost := h.mu.tail != nil && h.mu.tail.cardLost
	if len(h.waiting()) > 0 || view == nil && (cardLost || !e.cardsSaved()) {
		if view, err = e.load(h); err != nil {
			err = errLeftOut
		}
	}
	h.mu.Unlock()
	if view == nil || err != nil {
		// Without an error it has become passive since, which only a saved project does.
		return saved, err
	}
	p := view.project
	if p.Erased() {
		err = s.deleteChunks(writer, p.ID)
	}
	for _, kind := range work.ChunkKinds {
		if err != nil {
			return saved, err
		}
		if err := s.saveChunks(writer, view, kind, h.savedRevision); err != nil {
			return saved, err
		}
	}
	head, err := p.EncodeHead()
	if err == nil {
		err = writer.Put(datadir.ProjectKey(p.ID), view.position, head)
	}
	if err == nil {
		err = e.saveCard(cards, writer, view)
	}
	return p.Revision, err
}

// deleteChunks deletes all chunks of an erased project, which has none.
func (s *saver) deleteChunks(writer *snapshot.Writer, project id.ID) error {
	for _, kind := range work.ChunkKinds {
		for key := range s.engine.sectionKeys(datadir.ChunkPrefix(project, kind)) {
			if !datadir.IsChunk(key) {
				continue
			}
			if err := writer.Delete(key); err != nil {
				return err
			}
		}
	}
	return nil
}

// saveChunks writes the chunks that are not there yet, or have changed since the revision that was
// saved, and deletes those of which nothing is kept any longer. Of chunks that never change, the
// new ones and those to delete are at the ends of the range.
func (s *saver) saveChunks(
	writer *snapshot.Writer, view *published, kind work.ChunkKind, saved uint64,
) error {
	p := view.project
	first, end := p.Chunks(kind)
	for n := end - 1; n >= first; n-- {
		name := work.Chunk{Kind: kind, Number: n}
		key := datadir.ChunkKey(p.ID, name)
		_, there := s.engine.snapshot.SectionPosition(key)
		if there && !kind.Changes() {
			break
		}
		if there && p.ChunkRevision(name) <= saved {
			continue
		}
		chunk, err := p.EncodeChunk(name)
		if err == nil {
			err = writer.Put(key, view.position, chunk)
		}
		if err != nil {
			return err
		}
		s.pacer.step()
	}
	for n := first - 1; n >= 0; n-- {
		key := datadir.ChunkKey(p.ID, work.Chunk{Kind: kind, Number: n})
		if _, there := s.engine.snapshot.SectionPosition(key); !there {
			break
		}
		if err := writer.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

func saveIdentity(writer *snapshot.Writer, taken changes) error {
	state, position := taken.identity.state, taken.identity.position
	for agent := range taken.agents {
		if err := writer.Put(datadir.AgentKey(agent), position, state.EncodeAgent(agent)); err != nil {
			return err
		}
	}
	for report := range taken.reports {
		var err error
		if section := state.EncodeReport(report); section != nil {
			err = writer.Put(datadir.ReportKey(report), position, section)
		} else {
			err = writer.Delete(datadir.ReportKey(report))
		}
		if err != nil {
			return err
		}
	}
	if taken.operator {
		if err := writer.Put(datadir.OperatorKey, position, state.EncodeOperator()); err != nil {
			return err
		}
	}
	return writer.Put(datadir.ChallengesKey, position, state.EncodeChallenges())
}
