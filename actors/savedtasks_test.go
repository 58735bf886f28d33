package actors

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pws/index"
	"pws/internal/datadir"
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

func TestVerifyFindsLostTasks(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	createTasks(t, e, project, owner, 3)
	saveAll(t, e)
	if r := mustVerify(t, crashCopy(t, e.config.Dir)); r.Tasks != 3 || r.Unfinished != 3 {
		t.Fatalf("%d tasks, %d of them unfinished", r.Tasks, r.Unfinished)
	}
	dir := crashCopy(t, e.config.Dir)
	spoil(t, dir, func(_ *snapshot.Store, w *snapshot.Writer) error {
		return w.Delete(taskChunkKey(project, 0))
	})
	wantFaults(t, dir, project.Format(id.Project), "chunk t 0")
}

// cardOfAll has something in each part.
func cardOfAll(t testing.TB) (e *Engine, project id.ID, card []byte) {
	e, project, owner := oneProject(t, nil)
	friend, other := register(t, e, "friend"), createProject(t, e, owner, work.Public)
	tasks := createTasks(t, e, project, owner, 3)
	mustDo(t, e, project, owner, &work.ClaimTask{Task: tasks[1]})
	mustWrite(t, e, project, owner, "a.go")
	mustDo(t, e, project, owner, relate(other))
	mustDo(t, e, project, friend, &work.WatchProject{})
	mustDo(t, e, project, friend, &work.OpenWorkspace{})
	e.Indexes(index.All)
	return e, project, e.projections.indexes.EncodeCard(viewOf(t, e, project))
}

// TestStartRejectsCardsThatDoNotDecode names the project.
func TestStartRejectsCardsThatDoNotDecode(t *testing.T) {
	e, project, card := cardOfAll(t)
	saveAll(t, e)
	for name, bad := range map[string][]byte{
		"another version": append([]byte{9}, card[1:]...),
		"a byte more":     append(card[:len(card):len(card)], 0),
		"a byte less":     card[:len(card)-1], "a head alone": card[:3],
		"no visibility":       append([]byte{card[0], 0}, card[2:]...),
		"another one":         append([]byte{card[0], 9}, card[2:]...),
		"a part that is none": append(card[:len(card):len(card)], 99, 1, 1),
		"a part twice":        append(card[:len(card):len(card)], 7, 1, 1),
	} {
		dir := crashCopy(t, e.config.Dir)
		spoil(t, dir, func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(datadir.CardKey(project), s.Position(), bad)
		})
		config := e.config
		config.Dir = dir
		again, _, err := Open(config)
		if err == nil {
			stop(t, again)
			t.Fatalf("%s: it is taken as it is", name)
		}
		want := "card of project " + project.Format(id.Project)
		if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStartComparesCardsWithProjects loses a card, and finds one of no project.
func TestStartComparesCardsWithProjects(t *testing.T) {
	e, project, _ := cardOfAll(t)
	owner := viewOf(t, e, project).Owner
	projects := []id.ID{project}
	for range 3 {
		projects = append(projects, createProject(t, e, owner, work.Public))
	}
	slices.SortFunc(projects, id.ID.Compare)
	extra := id.ID{1}
	saveAll(t, e)
	card := e.projections.indexes.EncodeCard(viewOf(t, e, projects[1]))
	open := func(change func(s *snapshot.Store, w *snapshot.Writer) error) (*Engine, error) {
		dir := crashCopy(t, e.config.Dir)
		spoil(t, dir, change)
		config := e.config
		config.Dir = dir
		again, _, err := Open(config)
		return again, err
	}
	for i, lost := range projects {
		_, err := open(func(s *snapshot.Store, w *snapshot.Writer) error {
			if err := w.Put(datadir.CardKey(extra), s.Position(), card); err != nil {
				return err
			}
			return w.Delete(datadir.CardKey(lost))
		})
		want := "card of project " + lost.Format(id.Project) + ": its section is missing"
		if err == nil || err.Error() != want {
			t.Errorf("without card %d: %v", i, err)
		}
	}
	again, err := open(func(s *snapshot.Store, w *snapshot.Writer) error {
		return w.Put(datadir.CardKey(extra), s.Position(), card)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, again)
	places := again.Indexes(index.ForListing).Listing.After(index.Position{}, 10)
	if slices.ContainsFunc(places, func(p index.Position) bool { return p.ID == extra }) ||
		len(places) < 3 {
		t.Errorf("the listing has %v", places)
	}
}

// FuzzRestoreCard expects that a card which is none is refused, and that no card breaks the
// indexes.
func FuzzRestoreCard(f *testing.F) {
	_, project, card := cardOfAll(f)
	f.Add(card)
	f.Fuzz(func(t *testing.T, data []byte) {
		of := index.NewProjections()
		if err := of.Restore(index.All, project, data); err != nil {
			return
		}
		of.Tasks.Public(work.TaskOpen, 1, index.TaskPosition{}, 10)
		of.Subjects.Find("go", 10)
		of.Reviews.Public("", id.ID{}, 10)
	})
}
