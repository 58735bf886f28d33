package actors

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

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
	// breath is when the last pause ended.
	breath time.Time
	// size is the size of the index on disk, measured at sizedAt.
	size    int64
	sizedAt time.Time
	// seen is the entry that was the newest at seenAt, to estimate how many writers there are.
	seen   uint64
	seenAt time.Time
}

// run indexes until the engine stops or the index fails. An index that failed on a full disk is
// opened again when there is space.
func (s *searching) run() {
	defer s.settle()
	defer s.openOnce.Do(func() { close(s.opened) })
	for s.runOnce() && s.awaitRoom(searchMargin) {
		s.again()
	}
}

// runOnce reports whether the index failed because the disk was full.
func (s *searching) runOnce() (full bool) {
	x, err := s.open()
	if err != nil {
		if s.wasFull(err) {
			return true
		}
		s.fault.Store(&err)
		s.engine.log.Error("search is unavailable", "error", err)
		return false
	}
	s.index.Store(x)
	s.openOnce.Do(func() { close(s.opened) })
	f := &searchFill{searching: s, x: x, batch: search.NewBatch(), seenAt: time.Now()}
	err = f.fill()
	if err == nil {
		err = f.finish()
	}
	if err != nil && !errors.Is(err, errSearchStopped) {
		if full = s.wasFull(err); !full {
			s.fault.CompareAndSwap(nil, &err)
			s.engine.log.Error("search is unavailable; everything else works", "error", err)
		}
	}
	if err := x.Close(); err != nil && !full {
		s.engine.log.Warn("cannot close the search index", "error", err)
	}
	return full
}

// wasFull says whether the index failed for want of space.
func (s *searching) wasFull(err error) bool {
	full := disk.IsFull(err) || !s.engine.roomy(searchMargin)
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

// awaitRoom waits until so many bytes can be written without touching the reserve. It reports false
// when the engine stops.
func (s *searching) awaitRoom(bytes int64) bool {
	if s.engine.roomy(bytes) {
		s.paused.Store(false)
		return true
	}
	if !s.paused.Swap(true) {
		s.engine.log.Warn("search indexing waits for disk space; searches still work")
	}
	tick := time.NewTicker(searchRoomEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.engine.stop:
			return false
		case <-tick.C:
			if s.engine.roomy(bytes) {
				s.paused.Store(false)
				s.engine.log.Info("search indexing resumed")
				return true
			}
		}
	}
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

func (f *searchFill) fill() error {
	var err error
	if f.from, err = f.x.Position(); err != nil {
		return err
	}
	f.written, f.writtenAt = f.from, time.Now()
	f.collect()
	for {
		f.breath = time.Now()
		if err := f.round(); err != nil {
			return err
		}
		if goOn, err := f.rest(time.Since(f.breath)); err != nil || !goOn {
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
	if tail := h.mu.tail; len(tail) > 0 {
		newest = tail[len(tail)-1].position
	}
	if view := h.view.Load(); view != nil {
		newest = max(newest, view.position)
	}
	h.mu.Unlock()
	saved, _ := e.snapshot.SectionPosition(datadir.ProjectKey(h.id))
	return max(newest, saved)
}

// round indexes what waits, up to a bound, and a piece of the backlog.
func (f *searchFill) round() error {
	f.views = map[id.ID]*work.Project{}
	f.mark = f.noted.Load()
	keys := f.queue.Take(searchRoundMax)
	for _, key := range keys {
		if err := f.one(key); err != nil {
			return err
		}
	}
	if err := f.someBacklog(); err != nil {
		return err
	}
	if err := f.write(false); err != nil {
		return err
	}
	f.queue.Done()
	if f.backlog.Load() == 0 {
		f.reached.Store(min(f.mark, f.queue.Oldest(false).Position-1))
		f.notify()
	}
	return nil
}

// someBacklog looks through one project, or some agents.
func (f *searchFill) someBacklog() error {
	var err error
	switch {
	case len(f.projects) > 0:
		last := len(f.projects) - 1
		err = f.whole(f.projects[last])
		f.projects = f.projects[:last]
	case len(f.agents) > 0:
		state, rest := f.engine.Identity(), max(0, len(f.agents)-searchRoundMax)
		var documents []*search.Document
		for _, agent := range f.agents[rest:] {
			if d := search.LiveAgent(state, agent); d != nil {
				documents = append(documents, d)
			}
		}
		err = f.putChanged(documents)
		f.agents = f.agents[:rest]
	default:
		return nil
	}
	f.backlog.Store(int64(len(f.projects) + len(f.agents)))
	return err
}

// one indexes the document of a key as it is now.
func (f *searchFill) one(key search.Key) error {
	switch key.Kind {
	case 0:
		return f.whole(key.Project)
	case search.Agent:
		if d := search.LiveAgent(f.engine.Identity(), key.Entity); d != nil {
			return f.putChanged([]*search.Document{d})
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
		return f.putChanged([]*search.Document{d})
	}
	return f.put(d)
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
	h.mu.Lock()
	defer h.mu.Unlock()
	if view := h.view.Load(); view != nil || len(h.mu.tail) > 0 {
		view, err := e.load(h)
		if err != nil {
			return nil, err
		}
		return view.project, nil
	}
	if !h.stored.Load() {
		return nil, nil
	}
	p, _, err := e.restore(project)
	if err != nil {
		e.log.Error("cannot index project", "project", project.Format(id.Project),
			"error", err)
		return nil, err
	}
	f.views[project] = p
	return p, nil
}

// whole looks through a project: what is of another version is indexed, what is not there any more
// leaves the index.
func (f *searchFill) whole(project id.ID) error {
	public, err := f.isPublic(project)
	if err != nil {
		return nil
	}
	var p *work.Project
	if public {
		if p, err = f.view(project); err != nil {
			return nil
		}
		delete(f.views, project)
	}
	indexed, err := f.x.KeysOf(project)
	if err != nil {
		return err
	}
	now := f.engine.Now()
	for _, key := range indexed {
		if p == nil || search.Live(p, key, now) == nil {
			f.batch.Drop(key)
			if err := f.writeFull(); err != nil {
				return err
			}
		}
	}
	if p == nil {
		return nil
	}
	var documents []*search.Document
	search.Keys(p, now, func(key search.Key) bool {
		if d := search.Live(p, key, now); d != nil {
			documents = append(documents, d)
		}
		if len(documents) == searchRoundMax {
			err = f.putChanged(documents)
			documents = documents[:0]
		}
		if f.stopping() {
			err = errSearchStopped
		}
		return err == nil
	})
	if err == nil {
		err = f.putChanged(documents)
	}
	return err
}

// isPublic asks the saved record of a project that rests, and does not load it.
func (f *searchFill) isPublic(project id.ID) (bool, error) {
	p, err := f.engine.summary(project)
	return p != nil && p.Visibility == work.Public, err
}

func (f *searchFill) stopping() bool {
	select {
	case <-f.engine.stop:
		return true
	default:
		return false
	}
}

// putChanged indexes those documents that are not indexed as they are.
func (f *searchFill) putChanged(documents []*search.Document) error {
	keys := make([]search.Key, len(documents))
	for at, d := range documents {
		keys[at] = d.Key
	}
	versions, err := f.x.Versions(keys)
	if err != nil {
		return err
	}
	for at, d := range documents {
		if versions[at] == d.Version {
			continue
		}
		if err := f.put(d); err != nil {
			return err
		}
	}
	return nil
}

// searchBatchBytes is how much text one batch has at most, and one document more.
const searchBatchBytes = 1 << 20

func (f *searchFill) put(d *search.Document) error {
	if d.Key.Kind == search.File {
		content, err := f.engine.Blob(d.Blob)
		if err == nil {
			d.Load(content)
		}
	}
	f.batch.Put(d)
	return f.writeFull()
}

func (f *searchFill) writeFull() error {
	if f.batch.Len() < searchRoundMax && f.batch.Bytes() < searchBatchBytes {
		return nil
	}
	if err := f.write(true); err != nil {
		return err
	}
	// A long round has its pauses in the middle too.
	now := time.Now()
	if f.busy() && !f.sleep(min(searchShare*now.Sub(f.breath), searchRestMax)) {
		return errSearchStopped
	}
	f.breath = time.Now()
	return nil
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
func (f *searchFill) write(inHand bool) error {
	if f.batch.Len() == 0 {
		return nil
	}
	return f.writeBatch(f.position(inHand), nil)
}

func (f *searchFill) writeBatch(position uint64, durable func()) error {
	if f.engine.config.ReserveBytes >= 0 && !f.awaitRoom(f.needs()) {
		return errSearchStopped
	}
	batch := f.batch
	f.batch = search.NewBatch()
	f.written, f.writtenAt = position, time.Now()
	return f.x.Write(batch, position, durable)
}

// busy says whether there are many writers, who come first.
func (f *searchFill) busy() bool {
	now, newest := time.Now(), f.noted.Load()
	passed := now.Sub(f.seenAt).Seconds()
	busy := float64(newest-f.seen) > searchBusy*passed
	f.seen, f.seenAt = newest, now
	return busy
}

// rest pauses behind a round, of which the last part took so long, then waits for something to do.
// It reports false when the engine stops.
func (f *searchFill) rest(took time.Duration) (goOn bool, err error) {
	pause := searchRest
	switch busy := f.busy(); {
	case busy:
		pause = min(max(pause, searchShare*took), searchRestMax)
	case f.backlog.Load() > 0 || f.queue.Len() > searchSmall:
		// Nobody minds.
		pause = 0
	}
	if pause > 0 && !f.sleep(pause) {
		return false, nil
	}
	note := time.NewTicker(searchNote)
	defer note.Stop()
	for f.waitingNow() == 0 {
		f.settle()
		if f.mark = f.noted.Load(); f.queue.Len() == 0 {
			// Nothing of these entries is to be indexed.
			f.reached.Store(f.mark)
			f.notify()
		}
		select {
		case <-f.engine.stop:
			return false, nil
		case <-f.queue.Wake():
		case <-f.hurry:
		case <-note.C:
			if position := f.position(true); position > f.written && f.engine.roomy(f.needs()) {
				if err := f.writeBatch(position, nil); err != nil {
					return false, err
				}
			}
		}
	}
	return !f.stopping(), nil
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

// finish writes the position that was reached, and waits a little until it is durable.
func (f *searchFill) finish() error {
	if !f.engine.roomy(f.needs()) {
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
