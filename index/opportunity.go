package index

import (
	"sync"

	"pws/internal/id"
)

// Subjects finds projects by what they are about. It is safe for concurrent use.
type Subjects struct {
	mu struct {
		sync.RWMutex
		projects postings[id.ID]
	}
}

// NewSubjects makes an empty index.
func NewSubjects() *Subjects {
	s := new(Subjects)
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
