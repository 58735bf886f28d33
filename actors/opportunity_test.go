package actors

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pws/index"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// checkOffers expects of the indexes of profiles, reviews and subjects what a walk over all
// projects finds.
func checkOffers(t testing.TB, what string, e *Engine) {
	t.Helper()
	e.catchUp()
	want, about := index.NewProfiles(), index.NewSubjects()
	agents, terms, waiting := map[id.ID]bool{}, map[string]bool{}, 0
	e.handles.Range(func(project id.ID, _ *handle) bool {
		p := viewOf(t, e, project)
		if p == nil {
			return true
		}
		o := offersOf(p)
		want.Add(project, o.public, o.evidence)
		about.Replace(project, index.Terms{}, o.subjects)
		for _, one := range o.evidence {
			agents[one.Agent] = true
		}
		for _, word := range append(p.Languages(), p.Topics...) {
			terms[word] = true
		}
		waiting += len(o.reviews.Entries)
		if got := e.reviews.Get(project); !sameReviews(got, o.reviews) {
			t.Errorf("%s: %s has reviews %+v, want %+v", what, project.Format(id.Project), got,
				o.reviews)
		}
		again, err := decodeOffers(project, encodeOffers(o))
		if data := encodeOffers(o); data != nil &&
			(err != nil || !bytes.Equal(encodeOffers(again), data)) {
			t.Errorf("%s: %x is decoded as %+v, %v", what, data, again, err)
		}
		return true
	})
	for agent := range agents {
		if got, want := e.profiles.Of(agent), want.Of(agent); !slices.Equal(got, want) {
			t.Errorf("%s: %s is known for %+v, want %+v", what, agent.Format(id.Agent), got, want)
		}
	}
	for term := range terms {
		if got, want := e.subjects.Find(term, 1000), about.Find(term, 1000); !slices.Equal(got, want) {
			t.Errorf("%s: %q is found in %v, want %v", what, term, got, want)
		}
	}
	if e.reviews.Len() != waiting {
		t.Errorf("%s: %d reviews are indexed, want %d", what, e.reviews.Len(), waiting)
	}
}

func sameReviews(a, b index.ProjectReviews) bool {
	return a.Public == b.Public && slices.Equal(a.Entries, b.Entries) &&
		slices.Equal(a.Members, b.Members)
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
	known := e.Known(owner)
	if len(known) != 1 || known[0].Trait.Value != "go" || known[0].Count != 3 {
		t.Fatalf("known for %+v", known)
	}
	expect := func(what, dir string) {
		t.Helper()
		again := start(t, quiet(dir))
		if got := again.Known(owner); !slices.Equal(got, known) {
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
		return errors.Join(w.Delete(offersKey(project)), w.Delete(offersMark))
	})
	mustVerify(t, dir)
	expect("an old snapshot", dir)
	mustWrite(t, e, project, owner, "e.go", "e.py", "f.py")
	known = e.Known(owner)
	if len(known) != 2 || known[0].Count != 4 || known[1].Trait.Value != "python" {
		t.Fatalf("known for %+v", known)
	}
	expect("a snapshot and the log", crashCopy(t, e.config.Dir))
}

// A project that is PUBLIC no more shows nothing of its agents from that answer on.
func TestProfilesOfHiddenProjects(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	mustWrite(t, e, project, owner, "a.go", "b.go", "c.go")
	for _, visibility := range []work.Visibility{
		work.Private, work.Public, work.Unlisted, work.Private, work.Public,
	} {
		mustDo(t, e, project, owner, &work.UpdateProject{
			Visibility: visibility, Reuse: work.AllowReuse,
		})
		if got := len(e.Known(owner)); got != 0 != (visibility == work.Public) {
			t.Errorf("%s: %d entries", visibility, got)
		}
		checkFound(t, visibility.String(), e)
	}
}

// What is saved for the indexes is checked against the projects.
func TestVerifyChecksWhatIsOffered(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	mustWrite(t, e, project, owner, "a.go", "b.go")
	saveAll(t, e)
	sound, nowhere := crashCopy(t, e.config.Dir), id.New(1, [10]byte{7})
	mustVerify(t, sound)
	more := offersOf(viewOf(t, e, project))
	more.evidence[0].Count++
	name := project.Format(id.Project)
	for _, c := range []struct {
		name   string
		change func(s *snapshot.Store, w *snapshot.Writer) error
		want   []string
	}{
		{"more evidence", func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(offersKey(project), s.Position(), encodeOffers(more))
		}, []string{name, "have shown"}},
		{"no evidence", func(_ *snapshot.Store, w *snapshot.Writer) error {
			return w.Delete(offersKey(project))
		}, []string{name, "have shown"}},
		{"evidence of nobody", func(s *snapshot.Store, w *snapshot.Writer) error {
			return w.Put(offersKey(nowhere), s.Position(), encodeOffers(more))
		}, []string{nowhere.Format(id.Project), "no section"}},
	} {
		dir := crashCopy(t, sound)
		spoil(t, dir, c.change)
		wantFaults(t, dir, c.want...)
	}
}
