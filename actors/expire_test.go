package actors

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"pws/api"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// storedTask is a task without the expiry that a reader adds to it.
func storedTask(t testing.TB, e *Engine, project, task id.ID) *work.Task {
	t.Helper()
	stored, ok := viewOf(t, e, project).Task(task, work.AsStored)
	if !ok {
		t.Fatal("the task is lost")
	}
	return stored
}

// TestClaimEndsWhenItExpires moves the clock alone, so that nobody notes the end.
func TestClaimEndsWhenItExpires(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	task := createTasks(t, e, project, owner, 1)[0]
	mustDo(t, e, project, owner, &work.ClaimTask{Task: task})
	expiry := storedTask(t, e, project, task).Claim.ExpiresAt
	if list := places(e, work.TaskInProgress); len(list) != 1 {
		t.Fatalf("in progress: %v", list)
	}
	e.clock.Advance(expiry - e.Now() - 1000)
	if list := places(e, work.TaskOpen); len(list) != 0 {
		t.Fatalf("open before its time: %v", list)
	}
	e.clock.Advance(expiry - e.Now())
	if list := places(e, work.TaskOpen); len(list) != 1 || list[0].Task != task {
		t.Fatalf("open: %v", list)
	}
	if list := places(e, work.TaskInProgress); len(list) != 0 {
		t.Fatalf("in progress: %v", list)
	}
	if storedTask(t, e, project, task).Claim == nil {
		t.Fatal("somebody has noted the end: the test shows nothing")
	}
	// A start finds the same, without having loaded the project.
	saveAll(t, e)
	config := e.config
	config.Dir = crashCopy(t, e.config.Dir)
	again := start(t, config)
	again.clock.raise(expiry)
	if list := places(again, work.TaskOpen); len(list) != 1 || viewsLoaded(again) != 0 {
		t.Fatalf("open after a start: %v, %d projects loaded", list, viewsLoaded(again))
	}
}

// TestAdvanceRecordsExpiries has claims run out in many projects, most of them passive.
func TestAdvanceRecordsExpiries(t *testing.T) {
	config := quiet(filepath.Join(t.TempDir(), "data"))
	e := start(t, config)
	owner := register(t, e, "owner")
	claimed := map[id.ID]id.ID{}
	for n := range 2*expireAtOnce + 1 {
		project := createProject(t, e, owner, work.Visibility(1+n%3))
		task := createTasks(t, e, project, owner, 1)[0]
		mustDo(t, e, project, owner, &work.ClaimTask{Task: task})
		claimed[project] = task
	}
	saveAll(t, e)
	if passive := e.sweep(e.Advance(1000)); passive != len(claimed) {
		t.Fatalf("%d projects are passive", passive)
	}
	e.Advance(leaseMillis)
	for project, task := range claimed {
		stored := storedTask(t, e, project, task)
		if stored.Claim != nil || stored.Status != work.TaskOpen || stored.Attempts != 1 {
			t.Fatalf("the end of a claim was not noted: %+v", stored)
		}
	}
	if due, _ := e.Indexes(index.ForTasks).Tasks.Due(e.Now(), (index.Expiry{}), 10); len(due) != 0 {
		t.Fatalf("still due: %v", due)
	}
	checkFound(t, "after it", e)
}

// TestExpiryContinuesAfterFailures leaves a project that cannot be loaded, and goes on with the
// others.
func TestExpiryContinuesAfterFailures(t *testing.T) {
	e, broken, owner := oneProject(t, nil)
	sound := createProject(t, e, owner, work.Public)
	for _, project := range []id.ID{broken, sound} {
		task := createTasks(t, e, project, owner, 1)[0]
		mustDo(t, e, project, owner, &work.ClaimTask{Task: task})
	}
	h, _ := e.handles.Load(broken)
	e.breakProject(h, fmt.Errorf("on purpose"))
	e.clock.Advance(leaseMillis)
	after := (index.Expiry{})
	for range 2 {
		after = e.expireClaims(after, 1)
	}
	for project, want := range map[id.ID]bool{broken: false, sound: true} {
		noted := true
		viewOf(t, e, project).Tasks(id.ID{}, work.AsStored, func(task *work.Task) bool {
			noted = noted && task.Claim == nil
			return true
		})
		if noted != want {
			t.Errorf("noted %v, want %v", noted, want)
		}
	}
	if after != (index.Expiry{}) && e.expireClaims(after, 1) != (index.Expiry{}) {
		t.Error("the round does not begin again")
	}
}

// TestExpiryEndsWithTheEngine asks after Close.
func TestExpiryEndsWithTheEngine(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	task := createTasks(t, e, project, owner, 1)[0]
	mustDo(t, e, project, owner, &work.ClaimTask{Task: task})
	stop(t, e)
	e.Advance(leaseMillis)
	if after := e.expireClaims((index.Expiry{}), 10); after != (index.Expiry{}) {
		t.Fatalf("it goes on from %v", after)
	}
	_, err := e.Do(api.Order{Project: project, Command: &work.ExpireClaims{}})
	if fault.CodeOf(err) != fault.ShuttingDown {
		t.Fatal(err)
	}
}

// TestSweepRecordsExpiries waits for the loop that does it in service.
func TestSweepRecordsExpiries(t *testing.T) {
	e, project, owner := oneProject(t, func(c *Config) { c.SweepEvery = time.Millisecond })
	task := createTasks(t, e, project, owner, 1)[0]
	mustDo(t, e, project, owner, &work.ClaimTask{Task: task})
	e.clock.Advance(leaseMillis)
	late := time.Now().Add(time.Minute)
	for storedTask(t, e, project, task).Claim != nil {
		if time.Now().After(late) {
			t.Fatal("nobody notes it")
		}
		runtime.Gosched()
	}
}

// TestListShowsExpiredClaimOfPassiveProject lists a passive project whose claim has run out since
// it was saved.
func TestListShowsExpiredClaimOfPassiveProject(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	tasks := createTasks(t, e, project, owner, 3)
	mustDo(t, e, project, owner, &work.ClaimTask{Task: tasks[0]})
	saveAll(t, e)
	if e.sweep(e.Advance(1000)) != 1 {
		t.Fatal("the project is still in memory")
	}
	open := func() int {
		t.Helper()
		list, err := e.PublicProjects(index.Position{}, 10)
		if err != nil || len(list) != 1 || list[0].ID != project {
			t.Fatalf("%v, %v", list, err)
		}
		return list[0].TaskCount(work.TaskOpen, e.Now())
	}
	if got := open(); got != 2 || viewsLoaded(e) != 0 {
		t.Fatalf("%d tasks are open, %d projects loaded", got, viewsLoaded(e))
	}
	e.clock.Advance(leaseMillis)
	if got := open(); got != 3 {
		t.Fatalf("%d tasks are open once the claim has run out", got)
	}
}
