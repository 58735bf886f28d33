package actors

import (
	"errors"
	"slices"
	"testing"

	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// checkOffers expects of the indexes of profiles, reviews and subjects what a walk over all
// projects finds.
func checkOffers(t testing.TB, what string, e *Engine) {
	t.Helper()
	of, again := e.Indexes(index.All), index.NewProjections()
	want, about := index.NewProfiles(), index.NewSubjects(index.NewTasks())
	agents, terms, waiting := map[id.ID]bool{}, map[string]bool{}, 0
	e.handles.Range(func(project id.ID, _ *handle) bool {
		p := viewOf(t, e, project)
		if p == nil {
			return true
		}
		evidence, reviews := index.EvidenceOf(p), index.ReviewsOf(p)
		want.Add(project, p.Visibility == work.Public, evidence)
		about.Replace(project, index.Terms{}, index.SubjectsOf(p))
		for _, one := range evidence {
			agents[one.Agent] = true
		}
		for _, word := range append(p.Languages(), p.Topics...) {
			terms[word] = true
		}
		waiting += len(reviews.Entries)
		if got := of.Reviews.Get(project); !sameReviews(got, reviews) {
			t.Errorf("%s: %s has reviews %+v, want %+v", what, project.Format(id.Project), got,
				reviews)
		}
		card := e.projections.indexes.EncodeCard(p)
		if err := again.Restore(index.All, project, card); err != nil {
			t.Errorf("%s: card %x: %v", what, card, err)
		}
		if got := again.Reviews.Get(project); !sameReviews(got, reviews) {
			t.Errorf("%s: reviews are restored as %+v, want %+v", what, got, reviews)
		}
		want := index.UndecidedOf(p)
		for _, undecided := range []*index.Undecided{of.Undecided, again.Undecided} {
			got := undecided.Of([]id.ID{project}, id.ID{}, 1000)
			if !slices.EqualFunc(got, want, func(place index.ReviewPlace, one id.ID) bool {
				return place == index.ReviewPlace{Contribution: one, Project: project}
			}) {
				t.Errorf("%s: undecided are %v, want %v", what, got, want)
			}
		}
		if got, want := again.Tasks.Get(project), index.TasksOf(p); !sameTasks(got, want) {
			t.Errorf("%s: tasks are restored as %+v, want %+v", what, got, want)
		}
		return true
	})
	for agent := range agents {
		for _, profiles := range []*index.Profiles{of.Profiles, again.Profiles} {
			if got, want := profiles.Of(agent), want.Of(agent); !slices.Equal(got, want) {
				t.Errorf("%s: %s is known for %+v, want %+v", what, agent.Format(id.Agent), got, want)
			}
		}
	}
	for term := range terms {
		for _, subjects := range []*index.Subjects{of.Subjects, again.Subjects} {
			if got, want := subjects.Find(term, 1000), about.Find(term, 1000); !slices.Equal(got, want) {
				t.Errorf("%s: %q is found in %v, want %v", what, term, got, want)
			}
		}
	}
	if of.Reviews.Len() != waiting {
		t.Errorf("%s: %d reviews are indexed, want %d", what, of.Reviews.Len(), waiting)
	}
}

func sameReviews(a, b index.ProjectReviews) bool {
	return a.Public == b.Public && slices.Equal(a.Entries, b.Entries) &&
		slices.Equal(a.Members, b.Members)
}

func sameTasks(a, b index.ProjectTasks) bool {
	return a.Public == b.Public && a.Active == b.Active && a.Subjects == b.Subjects &&
		slices.Equal(a.Entries, b.Entries) && slices.Equal(a.Members, b.Members)
}

// mustWrite publishes files, each in a changeset of its own.
func mustWrite(t testing.TB, e *Engine, project, agent id.ID, paths ...string) {
	t.Helper()
	for _, path := range paths {
		mustPut(t, e, project, agent, path, path+" is new")
	}
}

// What is known of agents after a start is what was known before, from the log alone, from a
// snapshot, and from a snapshot that an older program has written.
func TestProfilesAfterAStart(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	mustWrite(t, e, project, owner, "a.go", "b.go", "c.go", "d.py")
	known := e.Indexes(index.ForProfiles).Profiles.Of(owner)
	if len(known) != 1 || known[0].Trait.Value != "go" || known[0].Count != 3 {
		t.Fatalf("known for %+v", known)
	}
	expect := func(what, dir string) {
		t.Helper()
		again := start(t, quiet(dir))
		if got := again.Indexes(index.ForProfiles).Profiles.Of(owner); !slices.Equal(got, known) {
			t.Errorf("%s: known for %+v, want %+v", what, got, known)
		}
		checkFound(t, what, again)
	}
	expect("the log", crashCopy(t, e.config.Dir))
	saveAll(t, e)
	dir := crashCopy(t, e.config.Dir)
	mustVerify(t, dir)
	expect("a snapshot", dir)
	dir = crashCopy(t, e.config.Dir)
	spoil(t, dir, func(_ *snapshot.Store, w *snapshot.Writer) error {
		for _, old := range []string{"e", "q", "v", "x"} {
			if err := w.Put(old+string(project[:]), 1, []byte{1}); err != nil {
				return err
			}
		}
		return errors.Join(w.Delete(datadir.CardKey(project)), w.Delete(datadir.CardsMark))
	})
	mustVerify(t, dir)
	expect("an old snapshot", crashCopy(t, dir))
	again := start(t, quiet(dir))
	saveAll(t, again)
	if again.cardsSaved() {
		t.Error("a snapshot is complete, and nobody has asked the indexes")
	}
	checkFound(t, "an old snapshot", again)
	again.saver.hook = func(step string) error {
		if step == "marks of projects" {
			again.sweep(again.Now() + again.config.PassivateAfter.Milliseconds())
		}
		return nil
	}
	saveAll(t, again)
	again.saver.hook = nil
	for _, old := range []string{"e", "q", "v", "x"} {
		for key := range again.sectionKeys(old) {
			t.Errorf("the section %q is still there", key)
		}
	}
	if !again.cardsSaved() {
		t.Error("all projects were loaded and saved, and the cards are not complete")
	}
	dir = crashCopy(t, dir)
	mustVerify(t, dir)
	expect("an old snapshot that was saved again", dir)
	mustWrite(t, e, project, owner, "e.go", "e.py", "f.py")
	known = e.Indexes(index.ForProfiles).Profiles.Of(owner)
	if len(known) != 2 || known[0].Count != 4 || known[1].Trait.Value != "python" {
		t.Fatalf("known for %+v", known)
	}
	expect("a snapshot and the log", crashCopy(t, e.config.Dir))
}

// A project that is no longer PUBLIC shows nothing of its agents from that answer on.
func TestProfilesOfHiddenProjects(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	mustWrite(t, e, project, owner, "a.go", "b.go", "c.go")
	for _, visibility := range []work.Visibility{
		work.Private, work.Public, work.Unlisted, work.Private, work.Public,
	} {
		mustDo(t, e, project, owner, &work.UpdateProject{
			Visibility: visibility, Reuse: work.AllowReuse,
		})
		known := e.Indexes(index.ForProfiles).Profiles.Of(owner)
		if len(known) != 0 != (visibility == work.Public) {
			t.Errorf("%s: %d entries", visibility, len(known))
		}
		checkFound(t, visibility.String(), e)
	}
}

// What is saved for the indexes is checked against the projects.
func TestVerifyChecksCards(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	mustWrite(t, e, project, owner, "a.go", "b.go")
	createTasks(t, e, project, owner, 1)
	saveAll(t, e)
	sound, nowhere := crashCopy(t, e.config.Dir), id.New(1, [10]byte{7})
	mustVerify(t, sound)
	e.Indexes(index.All)
	of := e.projections.indexes
	old := of.EncodeCard(viewOf(t, e, project))
	put := func(change work.Command) func(s *snapshot.Store, w *snapshot.Writer) error {
		mustDo(t, e, project, owner, change)
		card := of.EncodeCard(viewOf(t, e, project))
		return func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(datadir.CardKey(project), s.Position(), card)
		}
	}
	name, other := project.Format(id.Project), createProject(t, e, owner, work.Public)
	for _, c := range []struct {
		name   string
		change func(s *snapshot.Store, w *snapshot.Writer) error
		want   []string
	}{
		{"more tasks", put(&work.CreateTask{Spec: work.TaskSpec{Title: "t"}}), []string{name, "tasks"}},
		{"more watchers", put(&work.WatchProject{}), []string{name, "tasks, watchers"}},
		{"more links", put(relate(other)), []string{name, "tasks, links, watchers"}},
		{"another visibility", put(&work.UpdateProject{Visibility: work.Private}),
			[]string{name, "listing, tasks, links"}},
		{"no card", func(_ *snapshot.Store, w *snapshot.Writer) error {
			return w.Delete(datadir.CardKey(project))
		}, []string{name, "card"}},
		{"a card that ends too soon", func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(datadir.CardKey(project), s.Position(), old[:len(old)-1])
		}, []string{name, "card"}},
		{"a card of nobody", func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(datadir.CardKey(nowhere), s.Position(), old)
		}, []string{nowhere.Format(id.Project), "no section"}},
	} {
		dir := crashCopy(t, sound)
		spoil(t, dir, c.change)
		wantFaults(t, dir, c.want...)
	}
}
