package index

import (
	"pws/internal/id"
	"pws/internal/sorted"
	"pws/work"
)

// addTerms adds an OPEN task of a public project to the lists of its terms, and its project to the
// lists of the project's subjects.
func (t *Tasks) addTerms(n *taskNode, order sorted.Set[*taskNode]) {
	p := &n.project.kept
	if order != t.orders.public[work.TaskOpen] || !p.active {
		return
	}
	n.record.Terms.each(func(term string) { t.orders.terms.set(term, n) })
	if p.free++; p.free == 1 {
		t.orders.subjects.set("", n.project)
		p.subjects.each(func(term string) { t.orders.subjects.set(term, n.project) })
	}
}

// removeTerms is the reverse of addTerms.
func (t *Tasks) removeTerms(n *taskNode, order sorted.Set[*taskNode]) {
	p := &n.project.kept
	if order != t.orders.public[work.TaskOpen] || !p.active {
		return
	}
	n.record.Terms.each(func(term string) { t.orders.terms.delete(term, n) })
	if p.free--; p.free == 0 {
		t.orders.subjects.delete("", n.project)
		p.subjects.each(func(term string) { t.orders.subjects.delete(term, n.project) })
	}
}

// SetSubjects sets whether the tasks of a project can be claimed, and the project's subjects. It
// has no effect on a project without unfinished tasks.
func (t *Tasks) SetSubjects(project id.ID, active bool, subjects Terms) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.mu.projects[project]
	if p == nil || p.kept.active == active && p.kept.subjects == subjects {
		return
	}
	if p.kept.active != active {
		t.relink(p, func() { p.kept.active, p.kept.subjects = active, subjects })
		return
	}
	if p.kept.free > 0 {
		p.kept.subjects.each(func(term string) { t.orders.subjects.delete(term, p) })
		subjects.each(func(term string) { t.orders.subjects.set(term, p) })
	}
	p.kept.subjects = subjects
}

// Skilled lists up to limit OPEN tasks of public projects that now have a term, in the order in
// which they should be claimed, after a position.
func (t *Tasks) Skilled(term string, now int64, after TaskPosition, limit int) []TaskPlace {
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	order := t.orders.terms.orders[term]
	if order == nil {
		return nil
	}
	return placesBehind(order, after, limit)
}

// Working returns up to limit public projects that have OPEN tasks now and a subject, the newest
// first. The empty term matches all.
func (t *Tasks) Working(term string, now int64, limit int) (found []id.ID) {
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	t.orders.subjects.scan(term, func(p *taskProject) bool {
		if len(found) < limit {
			found = append(found, p.id)
		}
		return len(found) < limit
	})
	return found
}
