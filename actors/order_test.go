package actors

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"pws/api"
	"pws/identity"
	"pws/index"
	"pws/index/search"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/journal"
	"pws/work"
)

// checkWaits runs an order while the newest entry is not durable, and expects that it is answered
// AFTER the entry, with the error where the entry failed.
func checkWaits(t *testing.T, done chan struct{}, last *waiters, run func(), answer func() error) {
	t.Helper()
	run()
	select {
	case <-done:
		t.Error("it is answered BEFORE what it depends on is durable")
		return
	default:
	}
	failed := errors.New("the log failed")
	last.finish(failed)
	<-done
	if err := answer(); !errors.Is(err, failed) {
		t.Errorf("the log failed, and the answer is %v", err)
	}
	// The entry is over, and so is the wait of those that come later.
	run()
	<-done
	if err := answer(); !errors.Is(err, failed) {
		t.Errorf("the log has failed, and the answer is %v", err)
	}
}

// TestAnswersWaitForTheLog has orders decided on a state that the log has not confirmed: refusals,
// repeats and orders that change nothing wait for it.
func TestAnswersWaitForTheLog(t *testing.T) {
	e := start(t, quiet(filepath.Join(t.TempDir(), "data")))
	owner, other := register(t, e, "owner"), register(t, e, "other")
	project := createProject(t, e, owner, work.Public)
	first := api.Order{
		Project: project, Agent: owner, Command: putOf("a", "1"), Idempotency: keyFor("k", "r"),
	}
	if _, err := e.Do(first); err != nil {
		t.Fatal(err)
	}
	h, _ := e.handles.Load(project)
	refused := first
	refused.Idempotency = keyFor("k", "another request")
	for name, one := range map[string]api.Order{
		"refused by role": {Project: project, Agent: other, Command: putOf("a", "2")},
		"repeat":          first,
		"key reused":      refused,
		"changes nothing": {Project: project, Agent: other, Command: &work.UnwatchProject{}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &projectActor{
				engine: e, handle: h, reign: e.leading(), working: viewOf(t, e, project),
			}
			a.keys, a.keysFirst = indexKeys(a.working)
			a.last = new(waiters)
			o := newOrder()
			o.Order = one
			checkWaits(t, o.done, a.last, func() { a.run(o) }, func() error { return o.err })
		})
	}
}

// TestRepeatWhileTheFirstRequestRuns repeats a request whose effect is not published yet.
func TestRepeatWhileTheFirstRequestRuns(t *testing.T) {
	e := start(t, quiet(filepath.Join(t.TempDir(), "data")))
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	for name, view := range map[string]*published{
		"nothing is published": nil,
		"the state before is":  {project: viewOf(t, e, project)},
	} {
		t.Run(name, func(t *testing.T) {
			one := api.Order{
				Project: project, Agent: owner, Command: putOf(name, "1"),
				Idempotency: keyFor(name, "r"),
			}
			if _, err := e.Do(one); err != nil {
				t.Fatal(err)
			}
			a := &projectActor{
				engine: e, handle: &handle{id: project}, reign: e.leading(),
				working: viewOf(t, e, project),
			}
			a.handle.view.Store(view)
			a.keys, a.keysFirst = indexKeys(a.working)
			o := newOrder()
			o.Order = one
			a.run(o)
			if <-o.done; fault.CodeOf(o.err) != fault.IdempotencyInProgress {
				t.Errorf("%+v, %v", o.out.Result, o.err)
			}
		})
	}
}

// TestIdentityAnswersWaitForTheLog is the same for identity.
func TestIdentityAnswersWaitForTheLog(t *testing.T) {
	e := start(t, quiet(filepath.Join(t.TempDir(), "data")))
	for name, command := range map[string]identity.Command{
		"refused":         &identity.EndSession{},
		"changes nothing": &identity.Prune{},
	} {
		t.Run(name, func(t *testing.T) {
			a := &identityActor{
				engine: e, reign: e.leading(), working: e.Identity(), last: new(waiters),
			}
			o := newIdentityOrder()
			o.Command = command
			checkWaits(t, o.done, a.last, func() { a.run(o) }, func() error { return o.err })
		})
	}
}

// TestFailedEntryAnswersAll has an entry fail: the order that made it is answered, and so are those
// that wait for it.
func TestFailedEntryAnswersAll(t *testing.T) {
	project, identities := &commit{order: newOrder()}, &identityCommit{order: newIdentityOrder()}
	later, laterIdentity := newOrder(), newIdentityOrder()
	project.waiters.after(later)
	identities.waiters.after(laterIdentity)
	project.Committed(7, journal.ErrLatched)
	identities.Committed(8, journal.ErrLatched)
	for what, one := range map[string]struct {
		done chan struct{}
		err  *error
	}{
		"order":          {project.order.done, &project.order.err},
		"a later order":  {later.done, &later.err},
		"identity":       {identities.order.done, &identities.order.err},
		"later identity": {laterIdentity.done, &laterIdentity.err},
	} {
		select {
		case <-one.done:
			if fault.CodeOf(*one.err) != fault.StorageUnavailable {
				t.Errorf("%s: %v", what, *one.err)
			}
		default:
			t.Errorf("%s is not answered", what)
		}
	}
}

func newOrder() *order { return &order{done: make(chan struct{}, 1)} }

func newIdentityOrder() *identityOrder { return &identityOrder{done: make(chan struct{}, 1)} }

// TestHiddenProjectInTheListingIsNotShown puts a project that is not PUBLIC into the listing: it is
// not listed, and a hit of it in the search index shows nothing.
func TestHiddenProjectInTheListingIsNotShown(t *testing.T) {
	e := start(t, quiet(filepath.Join(t.TempDir(), "data")))
	owner := register(t, e, "owner")
	live := func(p *work.Project) bool {
		return search.Live(p, search.Key{Kind: search.Project, Project: p.ID}, e.Now()) != nil
	}
	for _, visibility := range []work.Visibility{work.Private, work.Unlisted} {
		p := viewOf(t, e, createProject(t, e, owner, visibility))
		e.Indexes(index.ForListing).Listing.Set(index.Position{Millis: p.CreatedAt, ID: p.ID}, true)
		if live(p) {
			t.Errorf("search shows a project that is %s", visibility)
		}
	}
	list, err := e.PublicProjects(index.Position{}, 10)
	if err != nil || len(list) != 0 {
		t.Errorf("%d projects are listed, %v", len(list), err)
	}
	if !live(viewOf(t, e, createProject(t, e, owner, work.Public))) {
		t.Error("search shows no public project")
	}
}

// TestErasuresDoNotNeedRoomInQueues fills the queue of a project. Agents are refused; who waits for
// the orders that are in flight is not.
func TestErasuresDoNotNeedRoomInQueues(t *testing.T) {
	e, project, owner := oneProject(t, func(c *Config) { c.QueueMax = 1 })
	h, _ := e.handles.Load(project)
	waiting := func(count int32) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.mu.inFlight >= count
	}
	h.deciding.Lock()
	ended := make(chan error, 2)
	go func() {
		_, err := put(e, project, owner, "a", "1")
		ended <- err
	}()
	for !waiting(1) {
		runtime.Gosched()
	}
	if _, err := put(e, project, owner, "b", "1"); fault.CodeOf(err) != fault.RateLimited {
		t.Errorf("an agent gets %v", err)
	}
	go func() { ended <- e.settleOrders() }()
	for !waiting(2) && len(ended) == 0 {
		runtime.Gosched()
	}
	h.deciding.Unlock()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// brokenJournal panics once instead of taking an entry.
type brokenJournal struct {
	journal.Journal
	broken atomic.Bool
}

func (j *brokenJournal) Append(
	reign journal.Reign, entry journal.Entry, done journal.Committed,
) error {
	if j.broken.Swap(false) {
		panic("an entry that nobody expects")
	}
	return j.Journal.Append(reign, entry, done)
}

// TestPanicsLeaveNothingBehind has the log panic over an entry of a project, and over one of
// identity. Nothing of it is in the states that later entries are made of.
func TestPanicsLeaveNothingBehind(t *testing.T) {
	broken := &brokenJournal{}
	e, project, owner := oneProject(t, func(c *Config) {
		c.OpenJournal = func(o journal.Options) (journal.Journal, *journal.Recovery, error) {
			opened, found, err := journal.OpenLocal(o)
			broken.Journal = opened
			return broken, found, err
		}
	})
	mustPut(t, e, project, owner, "a", "1")
	broken.broken.Store(true)
	if _, err := put(e, project, owner, "a", "2"); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a change of the project ends with %v", err)
	}
	mustPut(t, e, project, owner, "b", "1")
	broken.broken.Store(true)
	suspend := &identity.SuspendAgent{Agent: owner.Format(id.Agent), Reason: "spam"}
	if _, err := e.OperatorDo(suspend); err == nil {
		t.Error("a change of identity is done")
	}
	register(t, e, "another")
	if e.Identity().Suspended(owner) {
		t.Error("identity has a change that is not in the log")
	}
	want := fullState(t, e)
	sameState(t, "AFTER a kill", want, fullState(t, start(t, quiet(crashCopy(t, e.config.Dir)))))
}
