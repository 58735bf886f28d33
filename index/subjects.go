package index

import (
	"slices"
	"sync"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// Subjects finds projects by what they are about, and says to Tasks what those with open tasks are
// about. It is safe for concurrent use.
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

// Replace says what a project is about in the place of what it was about before; of one that nobody
// is to find that is nothing.
func (s *Subjects) Replace(project id.ID, before, after Terms) {
	if before == after {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before.each(func(term string) { s.mu.projects.delete(term, project) })
	after.each(func(term string) { s.mu.projects.set(term, project) })
}

// Find names up to limit projects that are about something, the newest first.
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

// Kinds implements Projection. Tasks knows the subjects of a project too, and is not loaded for
// them: whoever asks it for them asks for both.
func (s *Subjects) Kinds() []work.Kind {
	return kindsOf(
		new(work.ProjectCreated), new(work.ProjectForked), new(work.ProjectImported),
		new(work.ProjectUpdated), new(work.ChangesetPublished), new(work.ContributionAccepted),
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

// open reports whether everybody finds a project and may be asked to work in it.
func open(p *work.Project) bool { return p.Visibility == work.Public && p.Status == work.Active }

// SubjectsOf is what a project is found by: its languages and its topics. It is nothing where
// nobody is to find the project so.
func SubjectsOf(p *work.Project) Terms {
	if p == nil || !open(p) {
		return Terms{}
	}
	return MakeTerms(append(p.Languages(), p.Topics...)...)
}

// Append implements Projection: the part is the subjects, as Terms writes them.
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
