package actors

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"pws/identity"
	"pws/index/search"
	"pws/internal/datadir"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

const (
	// searchRoundMax is how many documents one round of indexing changes, searchRoundCalm how many
	// while processors are free, searchBatchBytes how much text they have, and searchLooksMax how many
	// it compares. One step may exceed each of them.
	searchRoundMax   = 256
	searchRoundCalm  = 2048
	searchBatchBytes = 1 << 20
	searchLooksMax   = 4096
	// searchViewBytes is how much memory the projects take that a round has read from disk.
	searchViewBytes = 32 << 20
	// searchStepBytes is how much text one step through a project changes, one document more at most,
	// searchStepLooks how many documents it compares, and searchLookMax how many at a time.
	searchStepBytes = 256 << 10
	searchStepLooks = 1024
	searchLookMax   = 64
	// searchCopiesShare is how many times as long as the work on files of forks the pause behind it
	// is.
	searchCopiesShare = 2
	// searchSmall is how many waiting documents a search waits for.
	searchSmall = 64
	// searchOpenWait is how long a search waits for the index to be opened after a start, unless it
	// waits longer for what was written.
	searchOpenWait = 2 * time.Second
	// searchRest is the least time between rounds that nobody waits for, so that what changes often
	// is indexed once; searchRestMax is the most.
	searchRest    = 50 * time.Millisecond
	searchRestMax = 2 * time.Second
	// searchNote is how often the position is written where nothing else is.
	searchNote = 5 * time.Second
	// searchCloseWait bounds how long a stop waits for the last batch to be durable.
	searchCloseWait = 3 * time.Second
)

// searching keeps the search index behind the log. The committer leaves the names of what changed,
// one goroutine reads the live views and indexes what they say.
//
// The index holds a position: all entries up to it are in the index. A start finds what lies behind
// it without the log, which may have been cut: projects and agents whose sections, or whose entries
// behind the snapshot, are of a later position. These are looked through for documents of another
// version than the indexed one.
type searching struct {
	engine *Engine
	queue  *search.Queue
	index  atomic.Pointer[search.Index]
	// opened is closed once the index has been opened, or could not be.
	opened   chan struct{}
	openOnce sync.Once
	fault    atomic.Pointer[error]
	// noted is the newest entry whose changes are in the queue, reached the one up to which
	// everything is in the index, and reachedNamed the one up to which everything is but projects
	// that are looked through.
	noted        atomic.Uint64
	reached      atomic.Uint64
	reachedNamed atomic.Uint64
	// backlog is how many projects and agents of before the start have yet to be looked through.
	backlog atomic.Int64
	// settled is closed once nothing waits any more for the first time, or never will.
	settled chan struct{}
	// ended is closed when nothing is indexed any more.
	ended chan struct{}
	// discard says that what is there of an index is thrown away first, whatever it is.
	discard bool
	// renewal is a request to throw the index away and make it again, nil for none. It gets the
	// outcome AFTER the old one has left the disk, or cannot. renewing has one request at a time.
	renewal  atomic.Pointer[chan error]
	renewing sync.Mutex
	// paused says that indexing waits for disk space.
	paused atomic.Bool
	// hurry says that a search waits.
	hurry wakeup
	// replayed are agents of which the log behind the snapshot has entries.
	replayed []id.ID
	began    int64

	waiting struct {
		sync.Mutex
		list []searchWaiter
	}
}

type searchWaiter struct {
	target uint64
	// named says that it does not wait for projects that are looked through.
	named bool
	done  chan struct{}
}

func newSearching(e *Engine) *searching {
	return &searching{
		engine: e, queue: search.NewQueue(), opened: make(chan struct{}),
		hurry: newWakeup(), settled: make(chan struct{}), ended: make(chan struct{}),
	}
}

// start begins to follow; a log without a newer entry is indexed as far as it goes.
func (s *searching) start(last uint64) {
	e := s.engine
	s.began = e.Now()
	s.noted.Store(last)
	for agent := range e.identity.dirty.agents {
		s.replayed = append(s.replayed, agent)
	}
	if e.config.NoSearch {
		err := errors.New("the server was started without search")
		s.fault.Store(&err)
		close(s.opened)
		return
	}
	s.discard = e.config.discardSearch
	e.stopped.Go(s.run)
}

// note keeps what an entry of a project has changed. The committer calls it BEFORE the entry is
// answered.
func (s *searching) note(before, next *work.Project, position uint64, events []work.Event) {
	if s.engine.config.NoSearch {
		return
	}
	mark := search.Mark{Position: position, Millis: next.UpdatedAt}
	itself := search.Key{Kind: search.Project, Project: next.ID}
	wasPublic := before != nil && before.Visibility == work.Public
	whole := before != nil && (!wasPublic || before.Status != next.Status ||
		before.License != next.License)
	switch public := next.Visibility == work.Public; {
	case !public && wasPublic:
		s.queue.PutHidden(mark, next.ID)
	case !public:
	default:
		var room [16]search.Key
		keys := append(room[:0], itself)
		for _, event := range events {
			switch event.(type) {
			case *work.ProjectForked, *work.ProjectImported:
				whole = true
			default:
				keys = appendChanged(keys, next.ID, event)
			}
		}
		s.queue.Put(mark, next.Owner, keys...)
		if whole {
			s.queue.PutWhole(mark, next.Owner, next.ID, next.FilesCount()+next.TasksTotal())
		}
	}
	s.noted.Store(position)
}

// appendChanged adds the documents that an event changes, beside that of the project.
func appendChanged(keys []search.Key, project id.ID, event work.Event) []search.Key {
	key := search.Key{Project: project}
	if task, ok := work.TaskOf(event); ok {
		key.Kind, key.Entity = search.Task, task
		return append(keys, key)
	}
	switch event := event.(type) {
	case *work.ChangesetPublished:
		key.Kind = search.File
		for i := range event.Ops {
			op := &event.Ops[i]
			if key.Path = op.Path; op.From != "" {
				keys = append(keys, search.Key{Kind: search.File, Project: project, Path: op.From})
			}
			keys = append(keys, key)
		}
		return keys
	case *work.HandoffCreated:
		key.Kind, key.Entity = search.Handoff, event.ID
	case *work.ArtifactCreated:
		key.Kind, key.Entity = search.Artifact, event.ID
	case *work.VerificationCreated:
		if event.Finding.Entity.Type != work.EntityArtifact {
			return keys
		}
		key.Kind, key.Entity = search.Artifact, event.Finding.Entity.ID
	case *work.DiscussionCreated:
		key.Kind, key.Entity = search.Discussion, event.ID
	case *work.CommentAdded:
		key.Kind, key.Entity = search.Discussion, event.Discussion
	case *work.HandoffDeleted:
		key.Kind, key.Entity = search.Handoff, event.Handoff
	case *work.VerificationDeleted:
		if event.Entity.Type != work.EntityArtifact {
			return keys
		}
		key.Kind, key.Entity = search.Artifact, event.Entity.ID
	case *work.DiscussionDeleted:
		key.Kind, key.Entity = search.Discussion, event.Discussion
	case *work.CommentDeleted:
		key.Kind, key.Entity = search.Discussion, event.Discussion
	default:
		return keys
	}
	return append(keys, key)
}

// noteIdentity notes what an entry of identity has changed.
func (s *searching) noteIdentity(position uint64, events []identity.Event) {
	if s.engine.config.NoSearch {
		return
	}
	for _, event := range events {
		if agent, changes := searchedIn(event); changes {
			s.queue.Put(search.Mark{Position: position, Millis: s.engine.Now()}, id.ID{},
				search.Key{Kind: search.Agent, Entity: agent})
		}
	}
	s.noted.Store(position)
}

// searchedIn is the agent whose document an event changes.
func searchedIn(event identity.Event) (agent id.ID, changes bool) {
	switch event := event.(type) {
	case *identity.AgentRegistered:
		return event.Agent, true
	case *identity.ProfileDeclared:
		return event.Agent, true
	}
	return agent, false
}

// errSearch is the error while the index cannot be used. The log and the health have the reason.
func errSearch() error {
	return fault.New(fault.DependencyUnavailable, "The search index cannot be used now.").
		With("retry_after_seconds", 30)
}

// Search implements api.Engine. Errors: DEPENDENCY_UNAVAILABLE, search.ErrWeights.
func (e *Engine) Search(query *search.Query) (hits []search.Hit, err error) {
	x, err := e.search.ready()
	if err == nil {
		hits, err = x.Search(query)
	}
	if err != nil && !errors.Is(err, search.ErrWeights) {
		return nil, errSearch()
	}
	return hits, err
}

// WordsNear implements api.Engine. Errors: DEPENDENCY_UNAVAILABLE.
func (e *Engine) WordsNear(word string) (near []string, err error) {
	x, err := e.search.ready()
	if err == nil {
		near, err = x.Near(word)
	}
	if err != nil {
		return nil, errSearch()
	}
	return near, nil
}

// AwaitSearch implements api.Engine.
func (e *Engine) AwaitSearch() { e.search.await() }

// ready is the index, once it has been opened.
func (s *searching) ready() (*search.Index, error) {
	select {
	case <-s.opened:
	default:
		limit := time.NewTimer(max(searchOpenWait, s.engine.config.SearchWait))
		defer limit.Stop()
		select {
		case <-s.opened:
		case <-limit.C:
			return nil, errors.New("the search index is being opened")
		}
	}
	if err := s.fault.Load(); err != nil {
		return nil, *err
	}
	return s.index.Load(), nil
}

// await returns once the index has what was published when it was called, or soon where that
// takes too long: with much to index, at once. With large projects to look through it waits for the
// other changes.
func (s *searching) await() {
	one := searchWaiter{target: s.noted.Load(), done: make(chan struct{})}
	all, named, _ := s.queue.Len()
	one.named = all+int(s.backlog.Load()) > searchSmall
	if s.has(&one) || s.fault.Load() != nil || s.paused.Load() || named > searchSmall {
		return
	}
	s.waiting.Lock()
	s.waiting.list = append(s.waiting.list, one)
	s.waiting.Unlock()
	// It may have been reached while nobody was in the list.
	s.notify()
	s.hurry.wake()
	limit := time.NewTimer(s.engine.config.SearchWait)
	defer limit.Stop()
	select {
	case <-one.done:
	case <-limit.C:
	}
}

// notify wakes the waiters whose entries are in the index, and those that have given up.
func (s *searching) notify() {
	s.waiting.Lock()
	defer s.waiting.Unlock()
	kept := s.waiting.list[:0]
	for _, one := range s.waiting.list {
		if s.has(&one) {
			close(one.done)
			continue
		}
		kept = append(kept, one)
	}
	clear(s.waiting.list[len(kept):])
	s.waiting.list = kept
}

// has says whether the index has what a search waits for.
func (s *searching) has(one *searchWaiter) bool {
	if one.named {
		return one.target <= s.reachedNamed.Load()
	}
	return one.target <= s.reached.Load()
}

// health is the fault of the index, and how much waits to be indexed.
func (s *searching) health() (problem string, waiting int) {
	if s.engine.config.NoSearch {
		return "", 0
	}
	if err := s.fault.Load(); err != nil {
		return (*err).Error(), s.waitingNow()
	}
	if x := s.index.Load(); x != nil && x.Fault() != nil && !s.paused.Load() {
		return x.Fault().Error(), s.waitingNow()
	}
	return "", s.waitingNow()
}

func (s *searching) waitingNow() int {
	all, _, _ := s.queue.Len()
	return all + int(s.backlog.Load())
}

// lag is how long the oldest change has waited, in seconds.
func (s *searching) lag() float64 {
	oldest := s.queue.Oldest(true)
	if s.backlog.Load() > 0 && (oldest.Millis == 0 || oldest.Millis > s.began) {
		oldest.Millis = s.began
	}
	return s.age(oldest)
}

// lagNamed is how long the oldest change of a single document has waited, in seconds.
func (s *searching) lagNamed() float64 { return s.age(s.queue.OldestNamed(true)) }

func (s *searching) age(mark search.Mark) float64 {
	if mark.Millis == 0 {
		return 0
	}
	return float64(max(0, s.engine.Now()-mark.Millis)) / 1000
}

func (s *searching) changes() float64 {
	_, named, _ := s.queue.Len()
	return float64(named)
}

func (s *searching) copies() float64 {
	_, _, ofCopies := s.queue.Len()
	return float64(ofCopies)
}

func (s *searching) documents() float64 {
	if x := s.index.Load(); x != nil {
		return float64(x.Len())
	}
	return 0
}

// metrics are the figures of the search index.
func (s *searching) metrics() []Metric {
	return []Metric{
		{Name: "pws_search_lag_seconds", Value: s.lag,
			Help: "Age of the oldest change that is not indexed for search."},
		{Name: "pws_search_documents", Help: "Documents in the search index.", Value: s.documents},
		{Name: "pws_search_changes_lag_seconds", Value: s.lagNamed,
			Help: "Age of the oldest change of a single document that is not indexed for search."},
		{Name: "pws_search_queue", Value: func() float64 { return float64(s.waitingNow()) },
			Help: "Documents that wait for indexing; estimated for projects to look through."},
		{Name: "pws_search_queue_changes", Value: s.changes,
			Help: "Documents that wait because they have changed themselves."},
		{Name: "pws_search_queue_forks", Value: s.copies,
			Help: "Documents of forks that wait for indexing, behind all others; estimated."},
		{Name: "pws_search_position", Help: "Position of the log up to which search is indexed.",
			Value: func() float64 { return float64(s.reached.Load()) }},
	}
}

// renew has the index made again, and returns AFTER the old one has left the disk. Searches find
// less until all is indexed.
func (s *searching) renew() error {
	dir := filepath.Join(s.engine.config.Dir, datadir.SearchName)
	if s.engine.config.NoSearch {
		return os.RemoveAll(dir)
	}
	s.renewing.Lock()
	defer s.renewing.Unlock()
	renewed := make(chan error, 1)
	s.renewal.Store(&renewed)
	s.hurry.wake()
	select {
	case err := <-renewed:
		return err
	case <-s.engine.stop:
		return errSearchStopped
	case <-s.ended:
		return os.RemoveAll(dir)
	}
}

// open opens the index, or rebuilds it where it cannot be used.
func (s *searching) open() (*search.Index, error) {
	e := s.engine
	mac := hmac.New(sha256.New, e.secret)
	mac.Write([]byte("search"))
	mark := mac.Sum(nil)[:8]
	dir := filepath.Join(e.config.Dir, datadir.SearchName)
	renewal := s.renewal.Swap(nil)
	if s.discard || renewal != nil {
		err := os.RemoveAll(dir)
		if renewal != nil {
			*renewal <- err
		}
		if err != nil {
			return nil, err
		}
		s.discard = false
	}
	x, reason, err := search.Open(dir, mark)
	if err != nil {
		return nil, err
	}
	if reason != nil {
		e.log.Warn("rebuilding the search index", "reason", reason)
	}
	position, err := x.Position()
	if err == nil && position > s.noted.Load() {
		// It is of another history of this directory.
		e.log.Warn("rebuilding the search index", "reason",
			fmt.Sprintf("it is at entry %d, and the log ends before", position))
		if err = errors.Join(x.Close(), search.Remove(dir)); err == nil {
			x, _, err = search.Open(dir, mark)
		}
	}
	return x, err
}

// Reindex rebuilds the search index of a data directory, and returns how many documents it has. No
// server may run on the directory: the error says so. Errors: datadir.ErrMember for the data of a
// member of a group.
func Reindex(dir string, log *slog.Logger) (documents uint64, err error) {
	if err := datadir.Check(dir); err != nil {
		return 0, err
	}
	e, _, err := Open(Config{Dir: dir, ReserveBytes: -1, Log: log, discardSearch: true})
	if err != nil {
		return 0, err
	}
	<-e.search.settled
	failed := e.search.fault.Load()
	if x := e.search.index.Load(); x != nil {
		documents = x.Len()
	}
	err = e.Close()
	if failed == nil {
		failed = e.search.fault.Load()
	}
	if failed != nil {
		err = errors.Join(*failed, err)
	}
	return documents, err
}
