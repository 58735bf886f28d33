package actors

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// crowded is an engine with more projects than fit into memory, all saved and passive.
func crowded(t *testing.T, projectBytes int64, count, files int) (*Engine, id.ID, []id.ID) {
	t.Helper()
	config := quiet(t.TempDir())
	e := start(t, config)
	owner := register(t, e, "owner")
	projects := make([]id.ID, count)
	for i := range projects {
		projects[i] = createProject(t, e, owner, work.Public)
		for n := range files {
			mustPut(t, e, projects[i], owner, fmt.Sprint("file", n), fmt.Sprint(i, n))
		}
	}
	saveAll(t, e)
	stop(t, e)
	config.ProjectBytes = projectBytes
	return start(t, config), owner, projects
}

// residentBytes adds up what the projects in memory take.
func residentBytes(e *Engine) (bytes int64) {
	e.handles.Range(func(_ id.ID, h *handle) bool {
		if view := h.view.Load(); view != nil {
			bytes += view.project.MemoryBytes()
		}
		return true
	})
	return bytes
}

// TestProjectsLeaveMemoryByPressure reads and writes more projects than fit, one after the other
// and at the same time. Their memory stays within the bound, nothing is refused for long, and the
// account equals what is in memory.
func TestProjectsLeaveMemoryByPressure(t *testing.T) {
	const bound, count = 400 << 10, 100
	e, owner, projects := crowded(t, bound, count, 5)
	for round := range 3 {
		var all sync.WaitGroup
		for worker := range 4 {
			all.Go(func() {
				for n := worker; n < count; n += 4 {
					for {
						_, err := put(e, projects[n], owner, "file1", fmt.Sprint(round))
						if err == nil {
							break
						}
						if fault.CodeOf(err) != fault.RateLimited {
							t.Errorf("project %d: %v", n, err)
							return
						}
						// What is in the way has changed since the last save.
						if err := e.Save(); err != nil {
							t.Error(err)
							return
						}
					}
					if p, err := e.Project(projects[n]); err == nil {
						if text, _, err := contentOf(e, p, "file1"); err != nil ||
							text != fmt.Sprint(round) {
							t.Errorf("project %d has %q: %v", n, text, err)
						}
					}
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
	}
	if e.residents.evicted.Load() < count {
		t.Errorf("%d projects left memory", e.residents.evicted.Load())
	}
	saveAll(t, e)
	e.evict(math.MaxInt64, func() bool { return true })
	counted, real := e.residents.shares.total(), residentBytes(e)
	if counted != real || counted > bound {
		t.Errorf("%d bytes are counted, %d in memory, at most %d wanted", counted, real, bound)
	}
	if count := e.residents.count(); count == 0 || count > len(projects)/2 {
		t.Errorf("%d projects are in memory", count)
	}
	for e.residents.count() > 0 {
		e.sweep(e.clock.Now() + 1000)
	}
	if left := e.residents.shares.total(); left != 0 {
		t.Errorf("%d bytes are counted without a project in memory", left)
	}
}

// TestLoadsThatDoNotFitAreRefused fills the memory with projects that changed since the last
// snapshot, which cannot leave it: others are refused BEFORE they are loaded, and loaded AFTER the
// next snapshot.
func TestLoadsThatDoNotFitAreRefused(t *testing.T) {
	const bound = 200 << 10
	e, owner, projects := crowded(t, bound, 40, 5)
	written := 0
	var refusal error
	for _, project := range projects {
		if _, refusal = put(e, project, owner, "file1", "new"); refusal != nil {
			break
		}
		written++
	}
	said, ok := refusal.(*fault.Error)
	if !ok || said.Code != fault.RateLimited || said.Details["reason"] != "MEMORY_FULL" ||
		said.Details["retry_after_seconds"] != 1 {
		t.Fatalf("%d projects were written, then: %v", written, refusal)
	}
	if bytes := residentBytes(e); bytes > bound {
		t.Errorf("%d bytes are in memory, at most %d wanted", bytes, bound)
	}
	// Those that were not written may leave memory for each other.
	for _, project := range projects[written+1:] {
		if _, err := e.Project(project); err != nil && fault.CodeOf(err) != fault.RateLimited {
			t.Errorf("a read: %v", err)
		}
	}
	if bytes := residentBytes(e); bytes > bound {
		t.Errorf("%d bytes are in memory AFTER reads, at most %d wanted", bytes, bound)
	}
	// What is in memory is still read.
	if _, err := e.Project(projects[0]); err != nil {
		t.Error(err)
	}
	saveAll(t, e)
	e.residents.mu.Lock()
	e.residents.mu.notBefore = e.residents.mu.notBefore.Add(-evictAgainAfter)
	e.residents.mu.Unlock()
	if _, err := put(e, projects[written], owner, "file1", "new"); err != nil {
		t.Errorf("AFTER a snapshot: %v", err)
	}
}

// TestWritesAreRefusedWhileMemoryIsFull refuses writes while projects take more than their bound,
// but not what only ends something.
func TestWritesAreRefusedWhileMemoryIsFull(t *testing.T) {
	config := quiet(t.TempDir())
	config.ProjectBytes = 100 << 10
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	var refusal error
	for n := 0; refusal == nil && n < 10_000; n++ {
		_, refusal = put(e, project, owner, fmt.Sprint("file", n), "text")
	}
	if fault.CodeOf(refusal) != fault.RateLimited {
		t.Fatalf("a write into a full memory: %v", refusal)
	}
	private := &work.UpdateProject{Visibility: work.Private}
	mustDo(t, e, project, owner, private)
}

// TestContentsAreRefusedWhileTooManyAreUnpacked refuses contents while too many of them are in
// memory alone.
func TestContentsAreRefusedWhileTooManyAreUnpacked(t *testing.T) {
	config := quiet(t.TempDir())
	config.RecentBytesMax, config.SnapshotBlobBytes = 100<<10, 1<<30
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	text := strings.Repeat("x", 30<<10)
	var refusal error
	for n := 0; refusal == nil && n < 1000; n++ {
		_, refusal = put(e, project, owner, "file", fmt.Sprint(n)+text)
	}
	if fault.CodeOf(refusal) != fault.RateLimited {
		t.Fatalf("contents beyond the bound: %v", refusal)
	}
	if recent := e.blobs.RecentBytes(); recent > 140<<10 {
		t.Errorf("%d bytes are in memory alone", recent)
	}
	saveAll(t, e)
	mustPut(t, e, project, owner, "file", "short")
}

// TestTextsOfHandoffsOutliveRestarts reads the texts of a handoff from the log and from packs.
func TestTextsOfHandoffsOutliveRestarts(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	said := work.Continuation{Summary: "s", NextActions: []string{strings.Repeat("next ", 800)}}
	mustDo(t, e, project, owner, &work.CreateHandoff{Continuation: said})
	check := func(when string) {
		t.Helper()
		left := viewOf(t, e, project).LatestHandoff()
		if left.Away == nil || len(left.Continuation.NextActions) > 0 {
			t.Fatalf("%s: the texts are in memory", when)
		}
		content, err := e.Blob(left.Away.Hash)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		whole, err := left.WithTexts(content)
		if err != nil || whole.Continuation.NextActions[0] != said.NextActions[0] {
			t.Fatalf("%s: %v", when, err)
		}
	}
	check("at once")
	stop(t, e)
	e = start(t, config)
	check("from the log")
	saveAll(t, e)
	check("from a pack")
	stop(t, e)
	report, err := Verify(config.Dir)
	if err != nil || report.Contents != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	e = start(t, config)
	check("from a pack, AFTER a restart")
	hash := viewOf(t, e, project).LatestHandoff().Away.Hash
	if err := e.PurgeContent(hash, "leaked"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Blob(hash); fault.CodeOf(err) != fault.ContentRemoved {
		t.Errorf("a purged text: %v", err)
	}
	if left := viewOf(t, e, project).LatestHandoff(); left.Continuation.Summary != "s" {
		t.Errorf("the record is %+v", left)
	}
}

// TestTextsOfTasksOutliveRestarts reads the texts of a task from the log and from packs.
func TestTextsOfTasksOutliveRestarts(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	spec := work.TaskSpec{
		Title: "t", Description: strings.Repeat("what ", 800),
		Conditions: []string{strings.Repeat("until ", 300), strings.Repeat("then ", 300)},
	}
	mustDo(t, e, project, owner, &work.CreateTask{Spec: spec})
	task := func() *work.Task { return viewOf(t, e, project).NewestTasks(1, e.Now())[0] }
	check := func(when string) {
		t.Helper()
		stored := task()
		whole, err := stored.WithTexts(e.Blob)
		if err != nil || stored.Spec.Description != "" || len(stored.Spec.Conditions) > 0 ||
			whole.Spec.Description != spec.Description ||
			!slices.Equal(whole.Spec.Conditions, spec.Conditions) {
			t.Fatalf("%s: %v, %+v", when, err, stored)
		}
	}
	check("at once")
	stop(t, e)
	e = start(t, config)
	check("from the log")
	saveAll(t, e)
	check("from a pack")
	stop(t, e)
	report, err := Verify(config.Dir)
	if err != nil || report.Contents != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	e = start(t, config)
	check("from a pack, AFTER a restart")
	if err := e.PurgeContent(task().Spec.Away.Description.Hash, "leaked"); err != nil {
		t.Fatal(err)
	}
	_, err = task().WithTexts(e.Blob)
	if fault.CodeOf(err) != fault.ContentRemoved {
		t.Errorf("a purged text: %v", err)
	}
}
