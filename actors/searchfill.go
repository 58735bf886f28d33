package actors

import (
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"pws/api"
	"pws/index/search"
	"pws/internal/datadir"
	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// searchFill is the goroutine that indexes.
type searchFill struct {
	*searching
	x     *search.Index
	batch *search.Batch
	// projects and agents are what is left of the backlog of a start.
	projects []id.ID
	agents   []id.ID
	// from is the position that the index had at the start, which it keeps until the backlog is done.
	from uint64
	// mark is the newest entry whose changes were in the queue when the round began.
	mark uint64
	// written is the position of the last batch, writtenAt when that was.
	written   uint64
	writtenAt time.Time
	// views are those that this round has read from disk.
	views map[id.ID]*work.Project
	// viewBytes is the memory of the views.
	viewBytes int64
	// looked is how many documents this round has looked at, and copiesTook how long it has worked on
	// the files of forks, which rest until copiesFrom.
	looked     int
	copiesTook time.Duration
	copiesFrom time.Time
	// size is the size of the index on disk, measured at sizedAt.
	size    int64
	sizedAt time.Time
	pace    searchPace
}

// run indexes until the engine stops. An index that failed on a full disk is opened again when
// there is space, and one that failed otherwise at once; if it fails once more, behind pauses that
// grow. The cause may have passed: a full disk is one that the index reports late and as text.
func (s *searching) run() {
	defer s.settle()
	defer s.openOnce.Do(func() { close(s.opened) })
	defer close(s.ended)
	for failures := 0; ; {
		began := time.Now()
		full, err := s.runOnce()
		switch {
		case s.stops():
			if err != nil {
				s.noteFault(err)
			}
			return
		case s.renewal.Load() != nil:
		case full:
			if errors.Is(s.awaitRoom(searchMargin), errSearchStopped) {
				return
			}
		case err == nil:
			return
		default:
			if time.Since(began) >= searchAgainMax {
				failures = 0
			}
			if !s.awaitAgain(err, failures) {
				return
			}
			failures++
		}
		// It is made again even if the old one cannot be removed at once.
		s.discard = s.discard || s.renewal.Load() != nil
		s.again()
	}
}

const (
	// searchAgainMin is the first pause behind an index that failed again, searchAgainMax the longest,
	// and how long an index works that is not said to have failed again.
	searchAgainMin = time.Second
	searchAgainMax = 5 * time.Minute
)

// searchPauseAfter is the pause behind an index that failed, AFTER so many failures.
func searchPauseAfter(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	// 9 doublings of a second are more than the most.
	return min(searchAgainMax, searchAgainMin<<min(failures-1, 9))
}

// awaitAgain pauses behind an index that failed AFTER so many failures. One that was opened again
// in vain is a fault, and is thrown away. It reports false when the engine stops.
func (s *searching) awaitAgain(err error, failures int) (goOn bool) {
	pause := searchPauseAfter(failures)
	if failures == 0 {
		s.engine.log.Warn("the search index failed and is opened again", "error", err)
		return true
	}
	s.noteFault(err)
	s.openOnce.Do(func() { close(s.opened) })
	s.settle()
	// Files of somebody else are no index.
	s.discard = !errors.Is(err, search.ErrForeign)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for s.renewal.Load() == nil {
		select {
		case <-s.engine.stop:
			return false
		case <-s.hurry:
			// A renewal that is wanted is stored BEFORE this comes.
		case <-timer.C:
			return true
		}
	}
	return true
}

func (s *searching) noteFault(err error) {
	s.fault.Store(&err)
	s.engine.log.Error("search is unavailable; everything else works", "error", err)
}

// runOnce reports whether the index failed because the disk was full, and the error of one that
// failed otherwise.
func (s *searching) runOnce() (full bool, err error) {
	x, err := s.open()
	if err != nil {
		if s.wasFull(err) {
			return true, nil
		}
		return false, err
	}
	s.index.Store(x)
	s.fault.Store(nil)
	s.openOnce.Do(func() { close(s.opened) })
	f := &searchFill{searching: s, x: x, batch: search.NewBatch()}
	err = f.fill()
	if err == nil {
		err = f.finish()
	}
	switch {
	case errors.Is(err, errSearchStopped), errors.Is(err, errSearchRenewed):
		err = nil
	case err != nil && s.wasFull(err):
		full, err = true, nil
	}
	if err := x.Close(); err != nil && !full {
		s.engine.log.Warn("cannot close the search index", "error", err)
	}
	return full, err
}

// wasFull says whether the index failed for want of space.
func (s *searching) wasFull(err error) bool {
	full := disk.IsFull(err) || !s.engine.space.roomy(searchMargin)
	if full {
		s.paused.Store(true)
		s.engine.log.Warn("search waits for disk space", "reason", err)
	}
	return full
}

// again prepares for an index that is opened again: what was in hand is found by its position, and
// agents of which nothing was saved since are looked at once more.
func (s *searching) again() {
	s.queue.Done()
	cell := &s.engine.identity
	cell.dirty.Lock()
	defer cell.dirty.Unlock()
	s.replayed = slices.Collect(maps.Keys(cell.dirty.agents))
}

// searchRoomEvery is how often indexing that waits for space looks whether there is any.
const searchRoomEvery = time.Second

// awaitRoom waits until so many bytes can be written without touching the reserve. It returns
// errSearchStopped when the engine stops. When the index is to be made again it returns
// errSearchRenewed, because what waits for that may be what makes room.
func (s *searching) awaitRoom(bytes int64) error {
	if s.engine.space.roomy(bytes) {
		s.paused.Store(false)
		return nil
	}
	if !s.paused.Swap(true) {
		s.engine.log.Warn("search indexing waits for disk space; searches still work")
	}
	tick := time.NewTicker(searchRoomEvery)
	defer tick.Stop()
	for s.renewal.Load() == nil {
		select {
		case <-s.engine.stop:
			return errSearchStopped
		case <-s.hurry:
			// A renewal that is wanted is stored BEFORE this comes.
		case <-tick.C:
			if s.engine.space.roomy(bytes) {
				s.paused.Store(false)
				s.engine.log.Info("search indexing resumed")
				return nil
			}
		}
	}
	return errSearchRenewed
}

// needs is what the next batch may take: itself, and a merge of all there is.
func (f *searchFill) needs() int64 {
	const sizeAge = 5 * time.Second
	if now := time.Now(); f.sizedAt.IsZero() || now.Sub(f.sizedAt) >= sizeAge {
		f.size = folderBytes(filepath.Join(f.engine.config.Dir, datadir.SearchName))
		f.sizedAt = now
	}
	return f.size + searchMargin
}

func (s *searching) settle() {
	select {
	case <-s.settled:
	default:
		close(s.settled)
	}
}

// errSearchStopped says that a project was looked through in part when the engine stopped. The
// position of the index stays where it was, so that the next start looks through it again.
var errSearchStopped = errors.New("indexing was stopped")

// errSearchRenewed says that the index is thrown away and made again.
var errSearchRenewed = errors.New("the search index is made again")

func (s *searching) stops() bool {
	select {
	case <-s.engine.stop:
		return true
	default:
		return false
	}
}

func (f *searchFill) fill() error {
	var err error
	if f.from, err = f.x.Position(); err != nil {
		return err
	}
	f.written, f.writtenAt = f.from, time.Now()
	f.collect()
	for {
		if f.renewal.Load() != nil {
			return errSearchRenewed
		}
		began := time.Now()
		if err := f.round(); err != nil {
			return err
		}
		if !f.pauseAfter(time.Since(began)) {
			return nil
		}
		if goOn, err := f.waitForWork(); err != nil || !goOn {
			return err
		}
	}
}

// collect finds the projects and agents that may have changed behind the position of the index.
func (f *searchFill) collect() {
	e := f.engine
	e.handles.Range(func(project id.ID, h *handle) bool {
		if e.newestOf(h) > f.from {
			f.projects = append(f.projects, project)
		}
		return true
	})
	f.agents = f.replayed
	f.replayed = nil
	for key := range e.sectionKeys(datadir.AgentPrefix) {
		if at, ok := e.snapshot.SectionPosition(key); ok && at > f.from {
			f.agents = append(f.agents, datadir.IDOf(key))
		}
	}
	f.backlog.Store(int64(len(f.projects) + len(f.agents)))
}

// newestOf is the position of the newest entry of a project. A view leaves memory AFTER a section
// of its position is there, so that one of the three says it.
func (e *Engine) newestOf(h *handle) (newest uint64) {
	h.mu.Lock()
	if tail := h.waiting(); len(tail) > 0 {
		newest = tail[len(tail)-1].position
	}
	if view := h.view.Load(); view != nil {
		newest = max(newest, view.position)
	}
	h.mu.Unlock()
	saved, _ := e.snapshot.SectionPosition(datadir.ProjectKey(h.id))
	return max(newest, saved)
}

// round indexes what waits, up to a bound.
func (f *searchFill) round() error {
	f.views = map[id.ID]*work.Project{}
	f.looked, f.copiesTook, f.viewBytes = 0, 0, 0
	f.mark = f.noted.Load()
	most := f.pace.roundMax()
	for f.batch.Len() < most && f.batch.Bytes() < searchBatchBytes &&
		f.looked < searchLooksMax {
		f.feedBacklog()
		began := time.Now()
		step, any := f.queue.Take(!began.Before(f.copiesFrom))
		if !any {
			break
		}
		if err := f.step(&step); err != nil {
			return err
		}
		if step.Copies {
			f.copiesTook += time.Since(began)
		}
		if f.stops() {
			return errSearchStopped
		}
	}
	if f.copiesTook > 0 && !f.discard {
		f.copiesFrom = time.Now().Add(searchCopiesShare * f.copiesTook)
	}
	if err := f.agentBacklog(); err != nil {
		return err
	}
	if err := f.write(); err != nil {
		return err
	}
	f.queue.Done()
	f.reach()
	return nil
}

// reach publishes how far the index is, AFTER everything taken was written.
func (f *searchFill) reach() {
	f.reachedNamed.Store(min(f.mark, f.queue.OldestNamed(false).Position-1))
	if f.backlog.Load() == 0 {
		f.reached.Store(min(f.mark, f.queue.Oldest(false).Position-1))
	}
	f.notify()
}

// step does one step of the queue.
func (f *searchFill) step(step *search.Step) error {
	if len(step.Keys) == 0 {
		return f.look(step)
	}
	for _, key := range step.Keys {
		if err := f.one(key); err != nil {
			return err
		}
	}
	f.looked += len(step.Keys)
	return nil
}

// backlogAhead is how many projects of the backlog are queued at one time.
const backlogAhead = 16

// feedBacklog queues projects of the backlog. Their owners are not known before they are read.
func (f *searchFill) feedBacklog() {
	for len(f.projects) > 0 && f.queue.Wholes() < backlogAhead {
		last := len(f.projects) - 1
		f.queue.PutWhole(search.Mark{Position: f.from + 1, Millis: f.began}, id.ID{},
			f.projects[last], 1)
		f.projects = f.projects[:last]
	}
	f.backlog.Store(int64(len(f.projects) + len(f.agents)))
}

// agentBacklog looks at some agents of the backlog.
func (f *searchFill) agentBacklog() error {
	state, rest := f.engine.Identity(), max(0, len(f.agents)-searchRoundMax)
	var documents []*search.Document
	for _, agent := range f.agents[rest:] {
		if d := search.LiveAgent(state, agent); d != nil {
			documents = append(documents, d)
		}
	}
	f.agents = f.agents[:rest]
	_, err := f.putChanged(documents, math.MaxInt)
	f.backlog.Store(int64(len(f.projects) + len(f.agents)))
	return err
}

// one indexes the document of a key as it is now.
func (f *searchFill) one(key search.Key) error {
	if key.Kind == search.Agent {
		if d := search.LiveAgent(f.engine.Identity(), key.Entity); d != nil {
			_, err := f.putChanged([]*search.Document{d}, math.MaxInt)
			return err
		}
		return nil
	}
	p, err := f.view(key.Project)
	if err != nil {
		// It is out of service, and nothing of it is shown.
		return nil
	}
	var d *search.Document
	if p != nil {
		d = search.Live(p, key, f.engine.Now())
	}
	if d == nil {
		f.batch.Drop(key)
		return nil
	}
	if key.Kind == search.Project {
		// It is named with every change in the project, and most change nothing in it.
		_, err := f.putChanged([]*search.Document{d}, math.MaxInt)
		return err
	}
	f.put(d)
	return nil
}

// view is a project to be indexed. One that rests is read and not kept in memory.
func (f *searchFill) view(project id.ID) (*work.Project, error) {
	e := f.engine
	h, ok := e.handles.Load(project)
	if !ok {
		return nil, nil
	}
	if view := h.view.Load(); view != nil {
		return view.project, nil
	}
	if p, read := f.views[project]; read {
		return p, nil
	}
	p, err := e.look(h)
	if err != nil {
		if !errors.Is(err, api.ErrDamaged) {
			e.log.Error("cannot index project", "project", project.Format(id.Project),
				"error", err)
		}
		return nil, err
	}
	if p != nil && h.view.Load() == nil {
		if f.viewBytes += p.MemoryBytes(); f.viewBytes > searchViewBytes {
			clear(f.views)
			f.viewBytes = p.MemoryBytes()
		}
		f.views[project] = p
	}
	return p, nil
}

// position is how far the index is: what is in hand counts as not there before the end of a round.
func (f *searchFill) position(inHand bool) uint64 {
	position := min(f.mark, f.queue.Oldest(inHand).Position-1)
	if f.backlog.Load() > 0 {
		position = min(position, f.from)
	}
	return max(position, f.written)
}

// write makes what was collected found.
func (f *searchFill) write() error {
	if f.batch.Len() == 0 {
		return nil
	}
	return f.writeBatch(f.position(false), nil)
}

func (f *searchFill) writeBatch(position uint64, durable func()) error {
	if f.engine.config.indexing != nil {
		f.engine.config.indexing(&f.pace)
	}
	if f.engine.config.ReserveBytes >= 0 {
		if err := f.awaitRoom(f.needs()); err != nil {
			return err
		}
	}
	f.written, f.writtenAt = position, time.Now()
	return f.x.Write(f.batch, position, durable)
}

// pauseAfter pauses behind a round that took so long. It reports false when the engine stops.
func (f *searchFill) pauseAfter(took time.Duration) bool {
	if now := time.Now(); f.pace.isDue(now) {
		f.pace.note(newSearchSample(now, f.noted.Load()))
	}
	all, _, ofCopies := f.queue.Len()
	switch {
	case f.pace.isBusy():
		return f.sleep(f.pace.pause(took))
	case f.backlog.Load() > 0 || all-ofCopies > searchSmall:
		// Much waits, and few write.
		return true
	case all > 0 && all == ofCopies:
		return f.sleepUntil(f.copiesFrom)
	}
	return f.sleep(searchRest)
}

// waitForWork waits until something is to be indexed or the index is to be made again. It writes
// the position now and then. It reports false when the engine stops.
func (f *searchFill) waitForWork() (goOn bool, err error) {
	note := time.NewTicker(searchNote)
	defer note.Stop()
	for f.waitingNow() == 0 && f.renewal.Load() == nil {
		f.settle()
		if f.mark = f.noted.Load(); f.waitingNow() == 0 {
			// Nothing of these entries is to be indexed.
			f.reach()
		}
		select {
		case <-f.engine.stop:
			return false, nil
		case <-f.queue.Wake():
		case <-f.hurry:
		case <-note.C:
			if err := f.x.Fault(); err != nil {
				return false, err
			}
			if position := f.position(true); position > f.written && f.engine.space.roomy(f.needs()) {
				if err := f.writeBatch(position, nil); err != nil {
					return false, err
				}
			}
		}
	}
	return !f.stops(), nil
}

// sleep is cut short when a search waits for little.
func (f *searchFill) sleep(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-f.engine.stop:
		return false
	case <-f.hurry:
	case <-timer.C:
	}
	return true
}

// sleepUntil is cut short when something else than the files of forks is to be indexed.
func (f *searchFill) sleepUntil(then time.Time) bool {
	timer := time.NewTimer(time.Until(then))
	defer timer.Stop()
	select {
	case <-f.engine.stop:
		return false
	case <-f.queue.Wake():
	case <-timer.C:
	}
	return true
}

// finish writes the position that was reached, and waits a little until it is durable.
func (f *searchFill) finish() error {
	if !f.engine.space.roomy(f.needs()) {
		// The next start looks through what lies behind the position.
		return nil
	}
	durable := make(chan struct{})
	if err := f.writeBatch(f.position(true), func() { close(durable) }); err != nil {
		return err
	}
	limit := time.NewTimer(searchCloseWait)
	defer limit.Stop()
	select {
	case <-durable:
	case <-limit.C:
	}
	return nil
}
