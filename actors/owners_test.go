package actors

import (
	"fmt"
	"path/filepath"
	"testing"

	"pws/index"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// ownersSections counts the sections of things, and what they hold.
func ownersSections(t testing.TB, e *Engine) (sections, things int) {
	t.Helper()
	for key := range e.sectionKeys("d") {
		sections++
		data, _, _, err := e.snapshot.Read(key)
		if err == nil {
			err = ownersOf(data, func(_, _ id.ID) { things++ })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return sections, things
}

// TestOwnersSectionsAreFew saves a few new things very often.
func TestOwnersSectionsAreFew(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	want := 1
	for round := range 100 {
		n := 1 + round%7
		createTasks(t, e, project, owner, n)
		want += n
		if err := e.Save(); err != nil {
			t.Fatal(err)
		}
		if round%20 > 0 {
			continue
		}
		if sections, things := ownersSections(t, e); things != want || sections > 9 {
			t.Fatalf("round %d: %d things in %d sections, want %d", round, things, sections, want)
		}
	}
	mustPut(t, e, project, owner, "a", "nothing that is found by its ID")
	before, _ := ownersSections(t, e)
	if err := e.Save(); err != nil {
		t.Fatal(err)
	}
	if sections, things := ownersSections(t, e); things != want || sections != before {
		t.Fatalf("%d things in %d sections where nothing was new", things, sections)
	}
	config := e.config
	config.Dir = crashCopy(t, e.config.Dir)
	again := start(t, config)
	checkFound(t, "after a start", again)
	// What the start has found is saved already.
	createTasks(t, again, project, owner, 1)
	if err := again.Save(); err != nil {
		t.Fatal(err)
	}
	if _, things := ownersSections(t, again); things != want+1 {
		t.Fatalf("%d things are saved, want %d", things, want+1)
	}
}

// TestOwnersOfAFailedSave expects the next snapshot to hold what one has taken that was given up.
func TestOwnersOfAFailedSave(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	createTasks(t, e, project, owner, 5)
	taken := e.takeDirty()
	createTasks(t, e, project, owner, 5)
	e.giveBack(taken)
	if err := e.Save(); err != nil {
		t.Fatal(err)
	}
	if _, things := ownersSections(t, e); things != 11 {
		t.Fatalf("%d things are saved, want 11", things)
	}
	config := e.config
	config.Dir = crashCopy(t, e.config.Dir)
	checkFound(t, "after a start", start(t, config))
}

// TestThingsMadeWhileASaveRuns makes a task after a snapshot has taken what is new, in a project
// that it has not written yet: the section of the project has the task, that of owners has not.
func TestThingsMadeWhileASaveRuns(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	position, taken := e.wal.Durable(), e.takeDirty()
	task := createTasks(t, e, project, owner, 1)[0]
	if err := e.saveAt(position, taken); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		config := e.config
		config.Dir = crashCopy(t, e.config.Dir)
		again := start(t, config)
		if owner, ok := again.Owner(task); !ok || owner != project {
			t.Fatalf("the task is found in %v, %v", owner, ok)
		}
		checkFound(t, "after a start", again)
		mustVerify(t, crashCopy(t, e.config.Dir))
		if err := e.Save(); err != nil {
			t.Fatal(err)
		}
	}
}

// spoil puts sections into the snapshot of a directory that no server uses, or takes them out.
func spoil(t *testing.T, dir string, change func(s *snapshot.Store, w *snapshot.Writer) error) {
	t.Helper()
	store, err := snapshot.Open(snapshot.Options{Dir: filepath.Join(dir, "snapshot")})
	if err != nil {
		t.Fatal(err)
	}
	writer, err := store.Begin()
	if err == nil {
		err = change(store, writer)
	}
	if err == nil {
		err = writer.Commit(store.Position())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyChecksWhatFindsTasks(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	tasks := createTasks(t, e, project, owner, 3)
	if err := e.Save(); err != nil {
		t.Fatal(err)
	}
	sound, nowhere := crashCopy(t, e.config.Dir), id.New(1, [10]byte{7})
	if r := mustVerify(t, sound); r.Tasks != 3 || r.Unfinished != 3 || r.Owned != 4 {
		t.Fatalf("%d tasks, %d of them unfinished, %d found by their ID", r.Tasks, r.Unfinished,
			r.Owned)
	}
	open := tasksOf(viewOf(t, e, project))
	fewer := open
	fewer.Entries = fewer.Entries[1:]
	pair := func(thing, project id.ID) []byte { return append(thing[:], project[:]...) }
	name := project.Format(id.Project)
	for _, c := range []struct {
		name   string
		change func(s *snapshot.Store, w *snapshot.Writer) error
		want   []string
	}{
		{"owner that does not exist", func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(ownersKey(9), s.Position(), pair(nowhere, nowhere))
		}, []string{nowhere.Format(id.Task), nowhere.Format(id.Project), "does not exist"}},
		{"two owners", func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(ownersKey(9), s.Position(), pair(tasks[1], nowhere))
		}, []string{tasks[1].Format(id.Task), name, nowhere.Format(id.Project)}},
		{"no owner", func(_ *snapshot.Store, w *snapshot.Writer) error {
			return w.Delete(ownersKey(0))
		}, []string{name, tasks[2].Format(id.Task), "is not found"}},
		{"owners from the future", func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(ownersKey(9), s.Position()+100, pair(tasks[0], project))
		}, []string{"owners", "the log ends with"}},
		{"half a pair", func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(ownersKey(9), s.Position(), tasks[0][:])
		}, []string{"owners 9", "16 bytes"}},
		{"another list of open tasks", func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(tasksKey(project), s.Position(), encodeTasks(fewer))
		}, []string{name, "open tasks"}},
		{"no list of open tasks", func(_ *snapshot.Store, w *snapshot.Writer) error {
			return w.Delete(tasksKey(project))
		}, []string{name, "open tasks"}},
		{"open tasks of nobody", func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(tasksKey(nowhere), s.Position(), encodeTasks(open))
		}, []string{nowhere.Format(id.Project), "no section of it"}},
		{"no tasks", func(_ *snapshot.Store, w *snapshot.Writer) error {
			return w.Delete(taskChunkKey(project, 0))
		}, []string{name, "chunk t 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := crashCopy(t, sound)
			spoil(t, dir, c.change)
			wantFaults(t, dir, c.want...)
		})
	}
}

// TestStartRefusesOpenTasksThatDoNotDecode names the project.
func TestStartRefusesOpenTasksThatDoNotDecode(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	createTasks(t, e, project, owner, 3)
	if err := e.Save(); err != nil {
		t.Fatal(err)
	}
	good := encodeTasks(tasksOf(viewOf(t, e, project)))
	config := e.config
	for length := range good {
		if _, err := decodeTasks(good[:length]); err == nil {
			t.Fatalf("%d bytes of %d decode", length, len(good))
		}
	}
	for _, at := range []int{0, 2 + 1 + 1 + 17} {
		bad := append([]byte(nil), good...)
		bad[at] = 9
		dir := crashCopy(t, e.config.Dir)
		spoil(t, dir, func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(tasksKey(project), s.Position(), bad)
		})
		config.Dir = dir
		again, _, err := Open(config)
		if err == nil {
			stop(t, again)
			t.Fatalf("byte %d is taken as it is", at)
		}
		if want := fmt.Sprint("tasks of project ", project.Format(id.Project)); err.Error()[:len(want)] !=
			want {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

// FuzzDecodeTasks expects what decodes to encode to something that decodes to the same.
func FuzzDecodeTasks(f *testing.F) {
	e, project, owner := oneProject(f, nil)
	tasks := createTasks(f, e, project, owner, 3)
	mustDo(f, e, project, owner, &work.ClaimTask{Task: tasks[1]})
	f.Add(encodeTasks(tasksOf(viewOf(f, e, project))))
	mustDo(f, e, project, owner, &work.UpdateProject{Visibility: work.Private})
	f.Add(encodeTasks(tasksOf(viewOf(f, e, project))))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := decodeTasks(data)
		if err != nil {
			return
		}
		again, err := decodeTasks(encodeTasks(all))
		if err != nil || string(encodeTasks(again)) != string(encodeTasks(all)) {
			t.Fatalf("%+v became %+v: %v", all, again, err)
		}
		e.tasks.Replace(project, all)
		e.tasks.Public(work.TaskOpen, 1, index.TaskPosition{}, 10)
	})
}
