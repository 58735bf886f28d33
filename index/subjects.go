package index

import (
	"slices"
	"sync"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// Subjects finds projects by languages and topics. It also updates these in Tasks for projects with
// open tasks. It is safe for concurrent use.
type Subjects struct {
	tasks *Tasks
	mu    struct {
		sync.RWMutex
		projects postings[id.ID]
	}
}

// NewSubjects makes an empty index.
func NewSubjects(tasks *Tasks) *Subjects {
	s := &Subjects{tasks: tasks}
	s.mu.projects = newPostings(func(a, b id.ID) bool { return a.Compare(b) > 0 })
	return s
}

// Replace replaces the terms of a project. The terms of a project that must not be found are empty.
func (s *Subjects) Replace(project id.ID, before, after Terms) {
	if before == after {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before.each(func(term string) { s.mu.projects.delete(term, project) })
	after.each(func(term string) { s.mu.projects.set(term, project) })
}

// Find returns up to limit projects that have a term, the newest first.
func (s *Subjects) Find(term string, limit int) (found []id.ID) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.mu.projects.scan(term, func(project id.ID) bool {
		if len(found) < limit {
			found = append(found, project)
		}
		return len(found) < limit
	})
	return found
}

// Kinds implements Projection. Tasks stores the subjects of a project too, but is not loaded for
// them: a query that needs the subjects in Tasks requests both projections.
func (s *Subjects) Kinds() []work.Kind {
	return kindsOf(
		new(work.ProjectCreated), new(work.ProjectForked), new(work.ProjectImported),
		new(work.ProjectUpdated), new(work.ChangesetPublished), new(work.ContributionAccepted),
		new(work.ProjectDeleted), new(work.ProjectRestored),
	)
}

// Update implements Projection.
func (s *Subjects) Update(before, next *work.Project, _ []work.Event) {
	if before != nil && open(before) == open(next) && before.SameLanguages(next) &&
		slices.Equal(before.Topics, next.Topics) {
		return
	}
	subjects := SubjectsOf(next)
	s.Replace(next.ID, SubjectsOf(before), subjects)
	s.tasks.SetSubjects(next.ID, next.Status == work.Active, subjects)
}

// open reports whether a project is visible to everybody and accepts work.
func open(p *work.Project) bool { return p.Visibility == work.Public && p.Status == work.Active }

// SubjectsOf returns the terms by which a project is found: its languages and topics. They are
// empty if the project is not public and active.
func SubjectsOf(p *work.Project) Terms {
	if p == nil || !open(p) {
		return Terms{}
	}
	return MakeTerms(append(p.Languages(), p.Topics...)...)
}

// Append implements Projection: the part is Terms.String.
func (s *Subjects) Append(out []byte, p *work.Project) []byte {
	return append(out, SubjectsOf(p).String()...)
}

// Restore implements Projection.
func (s *Subjects) Restore(c *Card, part *disk.Reader) error {
	subjects := JoinedTerms(string(part.Fixed(part.Len())))
	s.Replace(c.Project, Terms{}, subjects)
	s.tasks.SetSubjects(c.Project, c.Active, subjects)
	return nil
}
