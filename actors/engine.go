package actors

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	cmap "github.com/orcaman/concurrent-map"
	"github.com/puzpuzpuz/xsync/v3"

	"pws/actors/offline"
	"pws/api"
	"pws/blobs"
	"pws/identity"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/internal/spill"
	"pws/journal"
	"pws/snapshot"
	"pws/work"
)

// Config is how an engine runs. Zero values mean the defaults that are named here.
type Config struct {
	// Dir is the data directory.
	Dir string
	// CacheBytes bounds the contents kept in memory after they were read from disk; 256 MiB.
	CacheBytes int64
	// ReserveBytes is the free disk space below which writes are refused; what a snapshot needs at
	// most, and no more than a quarter of what the disk has for the server. Negative switches all
	// checks off.
	ReserveBytes int64
	// SnapshotLogBytes is how much log, before compression, makes a snapshot due; 128 MiB. It and
	// the next one are less where the reserve would not cover such a snapshot.
	SnapshotLogBytes int64
	// SnapshotBlobBytes is how many bytes of contents that are not in packs make one due; 256 MiB.
	SnapshotBlobBytes int64
	// SnapshotEvery makes one due after this time where anything changed; 5 minutes.
	SnapshotEvery time.Duration
	// SnapshotAtClose writes a snapshot when the engine is closed, for a start that has nothing to
	// replay.
	SnapshotAtClose bool
	// PassivateAfter is how long a project stays in memory unused; 10 minutes.
	PassivateAfter time.Duration
	// ProjectBytes bounds the memory of projects: they leave it, and requests for which there is no
	// room are refused, so that it is even between those who created them (evenShares). 0 means no
	// bound.
	ProjectBytes int64
	// RecentBytesMax bounds the contents that are not in packs, likewise between those who wrote them.
	// 0 means no bound.
	RecentBytesMax int64
	// QueueBytesMax bounds the entries that wait for the log; 64 MiB.
	QueueBytesMax int64
	// SweepEvery is how often idle projects and expired records are looked for; 15 seconds.
	SweepEvery time.Duration
	// QueueMax bounds the orders in flight of one project; 8192.
	QueueMax int
	// Stored are the limits of what requests store; none where it is 0.
	Stored api.StoredLimits
	// NoSearch turns search off: nothing is indexed, and a search returns an error.
	NoSearch bool
	// SearchWait is how long a search waits for what was written BEFORE it to be indexed; 100 ms.
	SearchWait time.Duration
	// discardSearch removes the search index first.
	discardSearch bool
	// FeedEvents is how many events of all projects are kept for those who poll, and FeedAge how old
	// they may be before they are not; 1,000,000 and 30 days. See feed.Options.
	FeedEvents int
	FeedAge    time.Duration
	// OnFailure is called once, when storage has failed and the process has to stop.
	OnFailure func(error)
	Log       *slog.Logger
	// SharedJournal says that several servers hold the journal, each with packs of its own: contents
	// that get into packs BEFORE their entry go through the journal, too.
	SharedJournal bool
	// SeeSession has the server that leads note that a session is in use. It is called where this one
	// does not lead, and returns when that is done or has failed; the next use tries again.
	SeeSession func(identity.Caller)
	// OtherLeads reports whether another server is known to lead. Absent: none is.
	OtherLeads func() bool
	// AskMark has the server that leads call Mark. It is called where this one does not lead.
	AskMark func()
	// AskGiveUp has the server that leads call GiveUp. It is called where this one does not lead.
	AskGiveUp func(upload id.ID, hashes []byte)
	// AskContent has another server answer ContentOf.
	AskContent func(ctx context.Context, hash []byte) ([]byte, error)
	// AskHeld has another server, that has followed all that this one has, answer HeldOf.
	AskHeld func(ctx context.Context, hashes []byte) ([]byte, error)
	// TrustClock says whether other servers show about the time of the system's clock, AFTER that has
	// jumped forward; nil means that there are none.
	TrustClock func() bool
	// TestClock has Advance survive the process: the data directory says how far it has come.
	TestClock bool
	// OpenJournal opens the log of entries; journal.OpenLocal.
	OpenJournal func(journal.Options) (journal.Journal, *journal.Recovery, error)

	// free is the free disk space, for tests; nil asks the file system.
	free func() (int64, error)
	// indexing, for tests, is called BEFORE each batch of the search index, with the pace of the next.
	indexing func(*searchPace)
}

func orDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

func (c *Config) complete() {
	orDefault(&c.CacheBytes, 256<<20)
	orDefault(&c.SnapshotLogBytes, 128<<20)
	orDefault(&c.SnapshotBlobBytes, 256<<20)
	orDefault(&c.SnapshotEvery, 5*time.Minute)
	orDefault(&c.PassivateAfter, 10*time.Minute)
	orDefault(&c.SweepEvery, 15*time.Second)
	orDefault(&c.QueueMax, 8192)
	orDefault(&c.SearchWait, 100*time.Millisecond)
	orDefault(&c.FeedEvents, 1_000_000)
	orDefault(&c.FeedAge, 30*24*time.Hour)
	orDefault(&c.Log, slog.Default())
	if c.OpenJournal == nil {
		c.OpenJournal = journal.OpenLocal
	}
	if c.OnFailure == nil {
		c.OnFailure = func(error) {}
	}
}

// Engine implements api.Engine.
type Engine struct {
	config Config
	log    *slog.Logger
	clock  clock
	secret []byte

	journal  journal.Journal
	blobs    *blobs.Store
	snapshot *snapshot.Store
	// spill has the histories of projects in memory, but for their ends.
	spill *spill.File

	// system is that of all engines of the process; handles and identity name our actors in it.
	system  *actor.ActorSystem
	handles *xsync.MapOf[id.ID, *handle]
	// broken says why projects take no orders, until the process is started again.
	broken *xsync.MapOf[id.ID, error]
	owners *ownerIndex
	inbox  *index.Inbox
	// accounts count what agents store.
	accounts  *accounts
	residents *residents
	recents   *recents
	// projections are asked through Indexes alone.
	projections projections
	trees       *trees
	feed        *follower
	search      *searching
	eventIDs    eventIDs
	identity    identityCell
	// reign is the reign of this server, 0 while it does not lead.
	reign atomic.Uint64
	// suspendedHold says that freeing what suspended agents hold has failed.
	suspendedHold atomic.Bool

	damages   damages[id.ID]
	corrupted damages[work.Hash]
	// repairing has a value when repairLoop has to look.
	repairing wakeup
	summaries summaries
	failure   atomic.Pointer[error]
	saver     *saver
	erasing   *eraser
	uploading *uploading
	space     *diskSpace
	// advancing is held while a test moves the clock.
	advancing sync.Mutex

	stop    chan struct{}
	stopped sync.WaitGroup
	closing atomic.Bool
	// inFlight counts the orders that no actor has answered yet. An order is counted under the lock
	// of its handle (or of identity) AFTER closing was found false there, so that Close, which takes
	// each of these locks once, waits for all there will ever be.
	inFlight sync.WaitGroup
}

var _ api.Engine = (*Engine)(nil)

// Open takes the data directory, brings back what it holds, and starts the actors. The report says
// what was found.
func Open(config Config) (*Engine, *Recovery, error) {
	config.complete()
	e := &Engine{
		config: config,
		log:    config.Log,
		owners: newOwnerIndex(),
		inbox:  index.NewInbox(),
		stop:   make(chan struct{}),
	}
	e.clock.trusts = config.TrustClock
	e.clock.follows.Store(config.SharedJournal)
	e.accounts = newAccounts(config.Stored)
	e.residents = newResidents(config.ProjectBytes)
	e.recents = newRecents(config.RecentBytesMax)
	e.space = newDiskSpace(e)
	e.saver = newSaver(e)
	e.projections.indexes = index.NewProjections()
	e.trees = newTrees(e.content)
	e.feed = newFollower(e)
	e.search = newSearching(e)
	e.identity.seeing = xsync.NewMapOf[id.ID, struct{}]()
	e.erasing = newEraser(e)
	e.uploading = newUploading(e)
	e.erasing.wake()
	e.repairing = newWakeup()
	began := time.Now()
	report, err := e.openStores()
	if err == nil {
		err = e.recover(report)
	}
	if err == nil {
		err = e.uploading.openUploads()
	}
	if err != nil {
		e.closeStores()
		return nil, nil, err
	}
	report.Took = time.Since(began)
	e.system = actorSystem()
	e.startIdentity()
	e.feed.start(report.Log.Last)
	e.search.start(report.Log.Last)
	e.journal.Start(e)
	e.saver.lastAt = time.Now()
	e.space.noteSpace()
	e.stopped.Add(8)
	go e.evictLoop()
	go e.sweepLoop()
	go e.uploading.uploadLoop()
	go e.erasing.endLoop()
	go e.saver.saveLoop()
	go e.erasing.followErasures()
	go e.repairLoop()
	go e.checkLoop()
	return e, report, nil
}

// actorSystem holds the mailboxes of all engines of the process. Its registry spreads them over
// 1,024 maps, each of which would have 32 parts: objects that take longer to make than a short log
// takes to read, and that each collection would look at.
var actorSystem = sync.OnceValue(func() *actor.ActorSystem {
	cmap.SHARD_COUNT = 1
	return actor.NewActorSystem(actor.WithLoggerFactory(
		func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
})

func (e *Engine) openStores() (*Recovery, error) {
	dir := e.config.Dir
	if !e.config.SharedJournal {
		if err := datadir.RequireSingle(dir); err != nil {
			return nil, err
		}
	}
	if err := datadir.Prepare(dir); err != nil {
		return nil, err
	}
	if err := offline.Adopt(dir); err != nil {
		return nil, err
	}
	if err := e.space.fitDisk(); err != nil {
		return nil, err
	}
	log, found, err := e.config.OpenJournal(e.space.logOptions(filepath.Join(dir, datadir.LogName)))
	if err != nil {
		return nil, err
	}
	e.journal = log
	report := &Recovery{Log: *found}
	if e.secret, err = datadir.LoadSecret(dir); err != nil {
		return nil, err
	}
	e.eventIDs = newEventIDs(e.secret)
	feedOpened := make(chan error, 1)
	go func() { feedOpened <- e.feed.open() }()
	err = e.openSaved(dir)
	if err == nil {
		// BEFORE the feed is compared with a log that lacks a part: the advice differs.
		err = offline.CheckJoin(dir, e.snapshot.Position(), found.First, found.Last)
	}
	if err == nil {
		err = e.openSpill(dir)
	}
	if failed := <-feedOpened; err == nil {
		err = failed
	}
	if err == nil {
		report.Feed = e.feed.log.Found()
		err = e.feed.join(found.First, found.Last)
	}
	return report, err
}

// openSaved opens the stores that a snapshot writes.
func (e *Engine) openSaved(dir string) (err error) {
	e.snapshot, err = snapshot.Open(snapshot.Options{
		Dir: filepath.Join(dir, datadir.SnapshotName), Room: e.space.room, MayCompact: e.space.roomy,
	})
	if err != nil {
		return err
	}
	e.blobs, err = blobs.Open(blobs.Options{
		Dir: filepath.Join(dir, datadir.BlobsName), CacheBytes: e.config.CacheBytes, Room: e.space.room,
		Yield: e.saver.pacer.step, InUse: e.snapshot.Generation() > 0,
	})
	return err
}

func (e *Engine) closeStores() error {
	var faults []error
	if e.feed.log != nil {
		faults = append(faults, e.feed.log.Close())
	}
	if e.journal != nil {
		faults = append(faults, e.journal.Close())
	}
	if e.uploading.store != nil {
		faults = append(faults, e.uploading.store.Close())
	}
	if e.snapshot != nil {
		faults = append(faults, e.snapshot.Close())
	}
	if e.blobs != nil {
		faults = append(faults, e.blobs.Close())
	}
	if e.spill != nil {
		faults = append(faults, e.spill.Close())
	}
	return errors.Join(faults...)
}

// Close stops the engine: orders are refused, those in flight are finished, the log is synced. An
// erasure that an operator waits for ends at its next step, BEFORE the stores are closed.
func (e *Engine) Close() error {
	if e.closing.Swap(true) {
		return nil
	}
	close(e.stop)
	e.stopped.Wait()
	e.barrier()
	e.inFlight.Wait()
	e.erasing.wait()
	ended := []*actor.Future{e.system.Root.PoisonFuture(e.identity.pid)}
	e.handles.Range(func(_ id.ID, h *handle) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.mu.pid != nil {
			ended = append(ended, e.system.Root.PoisonFuture(h.mu.pid))
		}
		return true
	})
	for _, one := range ended {
		if err := one.Wait(); err != nil {
			e.log.Warn("actor did not stop in time", "error", err)
		}
	}
	if e.config.SnapshotAtClose {
		// The log holds everything; the failure of a snapshot is logged and loses nothing.
		_ = e.Save()
	}
	e.feed.close()
	return e.closeStores()
}

// barrier returns once nobody who found the engine open is still about to count an order.
func (e *Engine) barrier() {
	e.identity.gate.Lock()
	//lint:ignore SA2001 taking the lock is the point
	e.identity.gate.Unlock()
	e.handles.Range(func(_ id.ID, h *handle) bool {
		h.mu.Lock()
		//lint:ignore SA2001 taking the lock is the point
		h.mu.Unlock()
		return true
	})
}

// fail takes note, once, that the log or the spill file has failed, or a store is uncertain:
// nothing can be made durable, what is in memory cannot be trusted, or the log is never cut again.
func (e *Engine) fail(err error) {
	if e.failure.CompareAndSwap(nil, &err) {
		e.log.Error("storage failed; stopping the server", "error", err)
		e.config.OnFailure(err)
	}
}

// Now implements api.Engine.
func (e *Engine) Now() int64 { return e.clock.Now() }

// Advance moves the clock of the service forward, for tests, and returns the new time AFTER the
// claims that ran out by it are noted, and the deleted projects that ended by it are dropped.
func (e *Engine) Advance(millis int64) int64 {
	now := e.advance(millis)
	e.expireClaims(index.Expiry{}, math.MaxInt)
	e.erasing.dropEnded()
	e.uploading.sweepUploads()
	if err := e.feed.expire(); err != nil {
		e.log.Error("cannot remove expired events", "error", err)
	}
	return now
}

func (e *Engine) advance(millis int64) int64 {
	e.advancing.Lock()
	defer e.advancing.Unlock()
	now := e.clock.Advance(millis)
	if e.config.TestClock {
		if err := datadir.WriteAdvance(e.config.Dir, e.clock.ahead.Load()); err != nil {
			e.log.Error("the clock will be behind after a restart", "error", err)
		}
	}
	return now
}

// Secret implements api.Engine.
func (e *Engine) Secret() []byte { return e.secret }

// Stamp implements api.Engine.
func (e *Engine) Stamp(agent, project id.ID) work.Stamp { return e.stamp(agent).In(project) }

// stamp gives time and entropy to one command.
func (e *Engine) stamp(agent id.ID) work.Stamp {
	s := work.Stamp{Now: e.clock.Now(), Agent: agent}
	if _, err := rand.Read(s.Entropy[:]); err != nil {
		panic(err)
	}
	return s
}

// Blob implements api.Engine. Errors: BLOB_CORRUPT, CONTENT_REMOVED; anything else is internal.
func (e *Engine) Blob(hash work.Hash) ([]byte, error) {
	if e.Identity().Purged(hash) {
		return nil, errContentRemoved(hash)
	}
	content, err := e.content(hash)
	if errors.Is(err, blobs.ErrCorrupt) {
		e.log.Error("stored content is damaged", "blob", fmt.Sprintf("%x", hash), "error", err)
		return nil, fault.New(fault.BlobCorrupt, "Stored content does not match its hash.").
			With("blob_hash", fmt.Sprintf("%x", hash))
	}
	if removed, ok := work.RemovedContent(content); ok {
		return nil, errContentRemoved(removed)
	}
	return content, err
}

// Health implements api.Engine.
func (e *Engine) Health() []api.Check {
	state := func(err error) string {
		if err != nil {
			return err.Error()
		}
		return ""
	}
	check := func(at *atomic.Pointer[error]) string {
		if err := at.Load(); err != nil {
			return state(*err)
		}
		return ""
	}
	saved := check(&e.saver.fault)
	if saved == "" {
		saved = state(e.projectFault())
	}
	problem, waiting := e.search.health()
	return []api.Check{
		{Name: "wal", Fault: state(e.journal.Healthy())},
		{Name: "snapshot", Fault: saved, Paused: e.space.paused.Load()},
		{Name: "blobs", Fault: state(e.contentFault())},
		{Name: "search", Fault: problem, Waiting: waiting, Paused: e.search.paused.Load()},
	}
}
