package index

import (
	"github.com/tidwall/btree"

	"pws/internal/id"
	"pws/work"
)

// addTerms lets a task be found by its terms where it belongs to the OPEN ones of a public project,
// and its project by what that is about.
func (t *Tasks) addTerms(n *taskNode, order *btree.BTreeG[*taskNode]) {
	p := n.project
	if order != t.mu.public[work.TaskOpen] || !p.active {
		return
	}
	n.Terms.each(func(term string) { t.mu.terms.set(term, n) })
	if p.free++; p.free == 1 {
		t.mu.subjects.set("", p)
		p.subjects.each(func(term string) { t.mu.subjects.set(term, p) })
	}
}

// removeTerms is the reverse of addTerms.
func (t *Tasks) removeTerms(n *taskNode, order *btree.BTreeG[*taskNode]) {
	p := n.project
	if order != t.mu.public[work.TaskOpen] || !p.active {
		return
	}
	n.Terms.each(func(term string) { t.mu.terms.delete(term, n) })
	if p.free--; p.free == 0 {
		t.mu.subjects.delete("", p)
		p.subjects.each(func(term string) { t.mu.subjects.delete(term, p) })
	}
}

// SetSubjects says whether the tasks of a project can be taken, and what the project is about,
// where it has unfinished tasks.
func (t *Tasks) SetSubjects(project id.ID, active bool, subjects Terms) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.mu.projects[project]
	if p == nil || p.active == active && p.subjects == subjects {
		return
	}
	if p.active != active {
		t.relink(p, func() { p.active, p.subjects = active, subjects })
		return
	}
	if p.free > 0 {
		p.subjects.each(func(term string) { t.mu.subjects.delete(term, p) })
		subjects.each(func(term string) { t.mu.subjects.set(term, p) })
	}
	p.subjects = subjects
}

// Skilled lists up to limit OPEN tasks of public projects that have a term now, in the order in
// which they should be taken.
func (t *Tasks) Skilled(term string, now int64, limit int) (found []TaskPlace) {
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	t.mu.terms.scan(term, func(n *taskNode) bool {
		if len(found) < limit {
			found = append(found, TaskPlace{n.position(), n.project.id})
		}
		return len(found) < limit
	})
	return found
}

// Working names up to limit public projects that have OPEN tasks now and are about something, all
// such for the empty term, the newest first.
func (t *Tasks) Working(term string, now int64, limit int) (found []id.ID) {
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	t.mu.subjects.scan(term, func(p *taskProject) bool {
		if len(found) < limit {
			found = append(found, p.id)
		}
		return len(found) < limit
	})
	return found
}
