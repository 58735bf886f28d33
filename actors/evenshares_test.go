package actors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// operationsOf make files with long paths, which take room in memory.
func operationsOf(round, count int) (operations []work.Operation) {
	content := blobOf("x")
	for n := range count {
		operations = append(operations, work.Operation{
			Action: work.Create, Content: &content, ContentType: "text/plain",
			Path: fmt.Sprintf("%s/%d/%d", strings.Repeat("p", 200), round, n),
		})
	}
	return operations
}

// hog is an owner that fills the memory of projects.
type hog struct {
	owner, project id.ID
	round          int
}

// write publishes a changeset in the newest project, if there is one.
func (h *hog) write(e *Engine, operations int) error {
	if h.project.IsZero() {
		return nil
	}
	view, err := e.Project(h.project)
	if err != nil {
		return err
	}
	h.round++
	_, err = e.Do(api.Order{Project: h.project, Agent: h.owner, Command: &work.PublishChangeset{
		Base: view.Head().ID, Operations: operationsOf(h.round, operations),
	}})
	return err
}

// fill creates projects and writes until nothing more is accepted.
func (h *hog) fill(t *testing.T, e *Engine) {
	t.Helper()
	accepted := func(err error) bool {
		if err != nil && fault.CodeOf(err) != fault.RateLimited &&
			fault.CodeOf(err) != fault.FileLimitReached {
			t.Fatal(err)
		}
		return err == nil
	}
	for {
		project := e.stamp(h.owner).ID(0)
		if _, err := e.Do(api.Order{
			Project: project, Agent: h.owner, Command: creationOf(project, work.Public),
		}); !accepted(err) {
			return
		}
		h.project = project
		for _, operations := range []int{work.OperationsMax, 10, 1} {
			for accepted(h.write(e, operations)) {
			}
		}
	}
}

// TestStrangersWorkBesideThoseWhoFillTheMemory has one owner, then a hundred, fill the memory of
// projects as far as they can, one after the other, and go on writing, while no snapshot lets
// anything leave memory. A stranger reads and writes a passive project, and creates and writes
// another, without one refusal.
func TestStrangersWorkBesideThoseWhoFillTheMemory(t *testing.T) {
	for _, owners := range []int{1, 100} {
		t.Run(fmt.Sprint(owners), func(t *testing.T) {
			config := quiet(t.TempDir())
			e := start(t, config)
			stranger := register(t, e, "stranger")
			passive := createProject(t, e, stranger, work.Public)
			mustPut(t, e, passive, stranger, "f", "before")
			saveAll(t, e)
			stop(t, e)
			config.ProjectBytes = 32 << 20
			e = start(t, config)
			e.saver.running.Lock()
			e.saver.hook = func(string) error { return errors.New("no snapshot") }
			e.saver.running.Unlock()
			hogs := make([]*hog, owners)
			for i := range hogs {
				hogs[i] = &hog{owner: register(t, e, fmt.Sprint("hog", i))}
				hogs[i].fill(t, e)
			}
			again := func() {
				for _, one := range hogs {
					if err := one.write(e, 1); err != nil && fault.CodeOf(err) != fault.RateLimited {
						t.Fatal(err)
					}
				}
			}
			again()
			if text, _, err := contentOf(e, viewOf(t, e, passive), "f"); text != "before" {
				t.Errorf("the passive project has %q: %v", text, err)
			}
			again()
			mustPut(t, e, passive, stranger, "f", "AFTER")
			again()
			created := createProject(t, e, stranger, work.Public)
			for n := range 5 {
				again()
				mustPut(t, e, created, stranger, "f", fmt.Sprint(n))
				viewOf(t, e, created)
			}
			if bytes := residentBytes(e); bytes > config.ProjectBytes {
				t.Errorf("%d bytes are in memory, at most %d wanted", bytes, config.ProjectBytes)
			}
		})
	}
}

// numbered is an ID for a number.
func numbered(n int) (party id.ID) {
	binary.BigEndian.PutUint64(party[:], uint64(n)+1)
	return party
}

// TestEvenSharesLeaveRoomForNewcomers has parties take all that they can get, one after the other.
// Each one, and then a newcomer, gets what is documented.
func TestEvenSharesLeaveRoomForNewcomers(t *testing.T) {
	const bound = 128 << 20
	for _, parties := range []int{0, 1, 10, 100} {
		s := newEvenShares(bound)
		for n := range parties {
			for step := int64(bound); step > 0; {
				if !s.take(numbered(n), step) {
					step /= 2
				}
			}
		}
		if parties == 1 && s.total() < bound/4*3-1024 {
			t.Errorf("one party gets %d bytes", s.total())
		}
		if !s.take(numbered(parties), bound/1400) {
			t.Errorf("%d parties hold %d bytes, and a newcomer gets nothing", parties, s.total())
		}
		if s.total() > bound {
			t.Errorf("%d parties hold %d bytes", parties, s.total())
		}
		for n := range parties + 1 {
			s.add(numbered(n), -s.of(numbered(n)))
		}
		if s.total() != 0 || len(s.mu.held) > 0 {
			t.Errorf("%d bytes are left", s.total())
		}
	}
	small := newEvenShares(bound)
	small.add(numbered(0), bound-bound/smallShare)
	if small.take(numbered(1), bound/smallShare+1) || !small.take(numbered(1), bound/smallShare) {
		t.Error("the last part is not for small parties alone")
	}
}

// TestLargestHolderIsRefusedWhileAnotherWaits has a party that holds most of the memory use all of
// it, so that one that holds less is refused. While that one waits, the larger one is refused, too,
// and smaller ones are not.
func TestLargestHolderIsRefusedWhileAnotherWaits(t *testing.T) {
	const bound = 128 << 20
	s := newEvenShares(bound)
	large, medium, small := numbered(1), numbered(2), numbered(3)
	for s.take(large, 1<<20) {
	}
	if s.fits(medium, 20<<20) || !s.fits(large, 0) {
		t.Fatal("the memory is not full")
	}
	s.await(medium, 20<<20)
	if s.fits(large, 0) || !s.fits(medium, 0) || !s.fits(small, 100<<10) {
		t.Error("while a party waits, others are refused than those that hold more")
	}
	// A larger one that waits changes nothing.
	s.await(large, 0)
	if s.fits(large, 0) {
		t.Error("a larger party has taken the place of the one that waits")
	}
	s.add(large, -s.of(large))
	if !s.take(medium, 20<<20) {
		t.Error("the party that waits gets nothing")
	}
	s.mu.until = s.mu.until.Add(-awaitedFor)
	if !s.fits(large, 30<<20) {
		t.Error("the time of the party that waits does not end")
	}
}

// TestMemoryCountsForTheCreator gives a project that fills the memory to a stranger, who is not
// refused because of it.
func TestMemoryCountsForTheCreator(t *testing.T) {
	config := quiet(t.TempDir())
	config.ProjectBytes = 4 << 20
	e := start(t, config)
	stranger := register(t, e, "stranger")
	own := createProject(t, e, stranger, work.Public)
	one := &hog{owner: register(t, e, "hog")}
	one.project = createProject(t, e, one.owner, work.Public)
	given := one.project
	mustDo(t, e, given, one.owner, &work.AddMember{Agent: stranger, Role: work.Maintainer})
	mustDo(t, e, given, one.owner, &work.ChangeMember{Agent: stranger, Role: work.Owner})
	var refusal error
	for refusal == nil {
		refusal = one.write(e, work.OperationsMax)
	}
	said, ok := refusal.(*fault.Error)
	if !ok || said.Details["limit_bytes"] != config.ProjectBytes/projectPart {
		t.Fatalf("a project that is too large: %v", refusal)
	}
	if viewOf(t, e, given).Owner != stranger {
		t.Error("the project is not the stranger's")
	}
	mustPut(t, e, own, stranger, "f", "text")
	for range 3 {
		createProject(t, e, stranger, work.Public)
	}
	// What only ends something is accepted, and what makes the project smaller.
	mustDo(t, e, given, stranger, &work.UpdateProject{Visibility: work.Private})
}

// TestLargestHolderIsEvictedFirst fills the memory with two passive projects of one owner, used
// just now, and small ones of others that nobody uses.
func TestLargestHolderIsEvictedFirst(t *testing.T) {
	config := quiet(t.TempDir())
	config.ProjectBytes = 2 << 20
	e := start(t, config)
	var small []id.ID
	for n := range 10 {
		owner := register(t, e, fmt.Sprint("small", n))
		small = append(small, createProject(t, e, owner, work.Public))
	}
	one := &hog{owner: register(t, e, "hog")}
	var large []id.ID
	for range 2 {
		one.project = createProject(t, e, one.owner, work.Public)
		for range 7 {
			if err := one.write(e, work.OperationsMax); err != nil {
				t.Fatal(err)
			}
		}
		large = append(large, one.project)
	}
	saveAll(t, e)
	if !e.makeRoom(numbered(1), 1<<20) {
		t.Fatal("no room is made")
	}
	loaded := func(project id.ID) bool {
		h, _ := e.handles.Load(project)
		return h.view.Load() != nil
	}
	for _, project := range small {
		if !loaded(project) {
			t.Error("a small project has left memory")
		}
	}
	if loaded(large[0]) {
		t.Error("the large project that was used least recently is in memory")
	}
}

// TestRecentContentsAreShared has one agent fill the memory for contents that are not in packs,
// while there is no snapshot. Others still write.
func TestRecentContentsAreShared(t *testing.T) {
	config := quiet(t.TempDir())
	config.RecentBytesMax, config.SnapshotBlobBytes = 8<<20, 1<<30
	e := start(t, config)
	fill := func(e *Engine, name string) {
		t.Helper()
		owner := register(t, e, name)
		project := createProject(t, e, owner, work.Public)
		var refusal error
		for n := 0; refusal == nil; n++ {
			_, refusal = put(e, project, owner, "f", fmt.Sprint(name, n, strings.Repeat("x", 100<<10)))
		}
		if fault.CodeOf(refusal) != fault.RateLimited {
			t.Fatal(refusal)
		}
	}
	noSnapshot := func(e *Engine) {
		e.saver.running.Lock()
		defer e.saver.running.Unlock()
		e.saver.hook = func(string) error { return errors.New("no snapshot") }
	}
	noSnapshot(e)
	fill(e, "hog")
	stranger := register(t, e, "stranger")
	own := createProject(t, e, stranger, work.Public)
	mustPut(t, e, own, stranger, "f", strings.Repeat("y", 10<<10))
	// A start finds the contents in the log.
	held := e.recents.total()
	stop(t, e)
	e = start(t, config)
	if found := e.recents.total(); found != held || held > config.RecentBytesMax {
		t.Errorf("AFTER a start %d bytes are counted, %d before", found, held)
	}
	noSnapshot(e)
	fill(e, "another")
	mustPut(t, e, own, stranger, "g", strings.Repeat("z", 10<<10))
	e.saver.running.Lock()
	e.saver.hook = nil
	e.saver.running.Unlock()
	saveAll(t, e)
	if left := e.recents.total(); left != 0 {
		t.Errorf("%d bytes are counted AFTER a snapshot", left)
	}
	fill(e, "last")
}
