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
	createTasks(t, e, project, owner, 3)
	saveAll(t, e)
	sound, nowhere := crashCopy(t, e.config.Dir), id.New(1, [10]byte{7})
	if r := mustVerify(t, sound); r.Tasks != 3 || r.Unfinished != 3 {
		t.Fatalf("%d tasks, %d of them unfinished", r.Tasks, r.Unfinished)
	}
	open := tasksOf(viewOf(t, e, project))
	fewer := open
	fewer.Entries = fewer.Entries[1:]
	name := project.Format(id.Project)
	for _, c := range []struct {
		name   string
		change func(s *snapshot.Store, w *snapshot.Writer) error
		want   []string
	}{
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
	saveAll(t, e)
	good := encodeTasks(tasksOf(viewOf(t, e, project)))
	config := e.config
	for length := range good {
		if _, err := decodeTasks(good[:length]); err == nil {
			t.Fatalf("%d bytes of %d decode", length, len(good))
		}
	}
	for _, at := range []int{0, 2 + 1 + 1 + 1 + 1 + 17} {
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
