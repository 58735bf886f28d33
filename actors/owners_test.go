package actors

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"pws/api"
	"pws/internal/datadir"
	"pws/internal/heaptest"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// createOf creates a project with project bits that a creator cannot choose otherwise.
func createOf(t testing.TB, e *Engine, owner id.ID, bits byte, v work.Visibility) id.ID {
	t.Helper()
	project := e.stamp(owner).In(id.New(0, [10]byte{bits, 1, 2, 255})).ID(0)
	mustDo(t, e, project, owner, creationOf(project, v))
	return project
}

func wantNobody(t testing.TB, e *Engine, kind id.Prefix, record, agent id.ID) {
	t.Helper()
	if p, err := e.Owner(kind, record, agent); p != nil || err != nil {
		t.Errorf("%s is found in %v, %v", record.Format(kind), p, err)
	}
}

// TestOwnerIsFoundByID looks in projects that share project bits and in others, in those that are
// in memory, those that were unloaded, and those that a start has not touched.
func TestOwnerIsFoundByID(t *testing.T) {
	config := quiet(filepath.Join(t.TempDir(), "data"))
	e := start(t, config)
	owner := register(t, e, "owner")
	var projects []id.ID
	for n := range 60 {
		visibility := work.Visibility(1 + n%3)
		project := createProject(t, e, owner, visibility)
		if n%2 == 0 {
			project = createOf(t, e, owner, byte(250+n%12/2), visibility)
		}
		projects = append(projects, project)
	}
	for round := range 3 {
		for n, project := range projects {
			if n%3 == round%2 {
				createTasks(t, e, project, owner, 1+n%4)
			}
			mustPut(t, e, project, owner, "a", fmt.Sprint(round, n))
		}
		checkFound(t, "in memory", e)
		config.Dir = crashCopy(t, e.config.Dir)
		checkFound(t, "after a kill", start(t, config))
		saveAll(t, e)
		if e.sweep(e.Advance(1000)) == 0 {
			t.Fatal("nothing rests")
		}
		checkFound(t, "after a rest", e)
	}
	for _, project := range projects {
		p := viewOf(t, e, project)
		wantNobody(t, e, id.Task, p.Head().ID, owner)
		wantNobody(t, e, id.Changeset, p.Head().ID.Next(), owner)
		wantNobody(t, e, id.Handoff, p.Head().ID, owner)
		wantNobody(t, e, id.WorkSession, project, owner)
	}
	wantNobody(t, e, id.Task, id.ID{}, owner)
	wantNobody(t, e, id.Task, e.stamp(owner).ID(0), owner)
}

// TestOwnerLoadsFewProjects makes more projects with the same project bits than Owner looks in.
func TestOwnerLoadsFewProjects(t *testing.T) {
	e, other, owner := oneProject(t, nil)
	var projects []id.ID
	for range candidatesMax + 2 {
		projects = append(projects, createOf(t, e, owner, 7, work.Private))
		e.Advance(1)
	}
	heads := make([]id.ID, len(projects))
	for n, project := range projects {
		heads[n] = viewOf(t, e, project).Head().ID
	}
	saveAll(t, e)
	for n, head := range heads {
		config := e.config
		config.Dir = crashCopy(t, e.config.Dir)
		again := start(t, config)
		p, err := again.Owner(id.Changeset, head, owner)
		loaded := min(n+1, candidatesMax)
		if err != nil || (p != nil) != (n < candidatesMax) || viewsLoaded(again) != loaded {
			t.Fatalf("project %d: %v, %v, %d are loaded, want %d", n, p, err,
				viewsLoaded(again), loaded)
		}
		if p != nil && p.ID != projects[n] {
			t.Fatalf("%v of %v is found in %v", head, projects[n], p.ID)
		}
		if n > 1 {
			continue
		}
		if wantNobody(t, again, id.Task, e.stamp(owner).ID(0), owner); viewsLoaded(again) != n+1 {
			t.Fatal("project bits that no project has have loaded one")
		}
		wantNobody(t, again, id.Task, head, owner)
		if viewsLoaded(again) != candidatesMax || again.handles.Size() != len(projects)+1 {
			t.Fatalf("%d are loaded", viewsLoaded(again))
		}
		if h, _ := again.handles.Load(other); h.view.Load() != nil {
			t.Fatal("a project with other project bits is loaded")
		}
	}
}

// TestCandidateThatCannotBeLoaded expects that it hides nothing of others, and is an error where
// nothing was found.
func TestCandidateThatCannotBeLoaded(t *testing.T) {
	e, _, owner := oneProject(t, nil)
	broken := createOf(t, e, owner, 7, work.Public)
	e.Advance(1)
	sound := createOf(t, e, owner, 7, work.Public)
	task := createTasks(t, e, sound, owner, 1)[0]
	saveAll(t, e)
	config := e.config
	config.Dir = crashCopy(t, e.config.Dir)
	spoil(t, config.Dir, func(s *snapshot.Store, w *snapshot.Writer) error {
		return w.Put(datadir.ProjectKey(broken), s.Position(), []byte("no project"))
	})
	again := start(t, config)
	if p, err := again.Owner(id.Task, task, owner); err != nil || p == nil || p.ID != sound {
		t.Fatalf("the task is found in %v, %v", p, err)
	}
	if p, err := again.Owner(id.Task, task.Next(), owner); err == nil || p != nil {
		t.Fatalf("a task that may be there or not is found in %v, %v", p, err)
	}
}

// TestOwnerOfNewRecords looks up records at the moment in which their makers learn of them.
func TestOwnerOfNewRecords(t *testing.T) {
	e, _, owner := oneProject(t, nil)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for n := range 40 {
				project := createOf(t, e, owner, byte(10*worker+n%10), work.Private)
				done, err := e.Do(api.Order{Project: project, Agent: owner,
					Command: &work.CreateTask{Spec: work.TaskSpec{Title: "task"}}})
				if err != nil {
					t.Error(err)
					return
				}
				checkOwned(t, "just made", e, done.Project)
			}
		})
	}
	all.Wait()
}

// TestOwnerIndexIsSmall bounds the memory that the index takes for a project.
func TestOwnerIndexIsSmall(t *testing.T) {
	handles := make([]handle, 200_000)
	for n := range handles {
		handles[n].id = id.New(int64(n), [10]byte{byte(n * 7919 >> 8), byte(n * 7919), byte(n)})
	}
	before, index := heaptest.Live(), newOwnerIndex()
	for n := range handles {
		index.add(&handles[n])
	}
	each := float64(heaptest.Live()-before) / float64(len(handles))
	if each < 8 || each > 24 {
		t.Errorf("%.1f bytes a project", each)
	}
	if last := &handles[len(handles)-1]; len(index.of(last.id)) == 0 {
		t.Error("the last one is not there")
	}
}

// TestSnapshotRemovesObsoleteSections are taken out by the next snapshot.
func TestSnapshotRemovesObsoleteSections(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	saveAll(t, e)
	config := e.config
	config.Dir = crashCopy(t, e.config.Dir)
	spoil(t, config.Dir, func(s *snapshot.Store, w *snapshot.Writer) error {
		for n := range 3 {
			if err := w.Put(fmt.Sprint("d0000000", n), s.Position(), []byte("data")); err != nil {
				return err
			}
		}
		return nil
	})
	mustVerify(t, config.Dir)
	again := start(t, config)
	mustPut(t, again, project, owner, "a", "1")
	saveAll(t, again)
	for key := range again.sectionKeys("d") {
		t.Errorf("%q is still there", key)
	}
	checkFound(t, "at last", again)
}

func BenchmarkOwnerIndexAtStart(b *testing.B) {
	const projects = 100_000
	handles := make([]handle, projects)
	for n := range handles {
		handles[n].id = id.New(int64(n), [10]byte{byte(n * 7919 >> 8), byte(n * 7919), byte(n)})
	}
	for b.Loop() {
		index := newOwnerIndex()
		for n := range handles {
			index.add(&handles[n])
		}
	}
}

// TestHandleIsSmall bounds what a passive project takes. The next size of objects in the runtime is
// 128 bytes.
func TestHandleIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(handle{}); size > 112 {
		t.Errorf("a handle takes %d bytes", size)
	}
}
