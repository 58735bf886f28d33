package index

import (
	"slices"

	"pws/internal/id"
	"pws/work"
)

// offered reports whether the OPEN tasks of a project are listed for those who look for work.
func offered(p *taskProject) bool { return p.public && p.kept.active && !p.kept.parked }

func (t *Tasks) relistTasks(p *taskProject, change func()) {
	t.unlist(p, nil)
	change()
	t.list(p, nil)
}

// list adds a project to the common lists, without one of its nodes.
func (t *Tasks) list(p *taskProject, except *taskNode) {
	if p.public {
		t.eachListed(p, except, func(n *taskNode, status work.TaskStatus, like int) {
			t.orders.counts[status] += like
			if p.kept.big == nil {
				t.orders.public[status].Set(n)
			} else {
				t.orders.heads[status].Set(n)
			}
		})
	}
	t.offer(p, except)
}

// unlist is the reverse of list.
func (t *Tasks) unlist(p *taskProject, except *taskNode) {
	t.withdraw(p, except)
	if !p.public {
		return
	}
	t.eachListed(p, except, func(n *taskNode, status work.TaskStatus, like int) {
		t.orders.counts[status] -= like
		if p.kept.big == nil {
			t.orders.public[status].Delete(n)
		} else {
			t.orders.heads[status].Delete(n)
		}
	})
}

// eachListed yields the nodes of a project that are in the lists by status: those of a big one
// stand for all nodes of the same status and priority.
func (t *Tasks) eachListed(
	p *taskProject, except *taskNode, yield func(n *taskNode, status work.TaskStatus, like int),
) {
	if big := p.kept.big; big != nil {
		for i := 0; i < len(big.ranked); {
			like := len(t.alike(big, i))
			yield(big.ranked[i], t.status(big.ranked[i]), like)
			i += like
		}
		return
	}
	for _, n := range p.nodes {
		if n != except {
			yield(n, t.status(n), 1)
		}
	}
}

// offer adds an offered project to the lists of those.
func (t *Tasks) offer(p *taskProject, except *taskNode) {
	if offered(p) {
		t.offerBest(p)
		t.offerTerms(p, except)
	}
}

// withdraw is the reverse of offer.
func (t *Tasks) withdraw(p *taskProject, except *taskNode) {
	if offered(p) {
		t.withdrawBest(p)
		t.withdrawTerms(p, except)
	}
}

// setBest stores the best OPEN task of a project.
func (t *Tasks) setBest(p *taskProject, next *taskNode) {
	was := p.kept.best
	switch {
	case !offered(p):
		p.kept.best = next
	case was == nil || next == nil:
		t.withdrawBest(p)
		p.kept.best = next
		t.offerBest(p)
	default:
		t.orders.best.Delete(was)
		p.kept.best = next
		t.orders.best.Set(next)
	}
}

func (t *Tasks) offerBest(p *taskProject) {
	if p.kept.best != nil {
		t.orders.best.Set(p.kept.best)
		t.orders.subjects.set("", p)
		p.kept.subjects.each(func(term string) { t.orders.subjects.set(term, p) })
	}
}

func (t *Tasks) withdrawBest(p *taskProject) {
	if p.kept.best != nil {
		t.orders.best.Delete(p.kept.best)
		t.orders.subjects.delete("", p)
		p.kept.subjects.each(func(term string) { t.orders.subjects.delete(term, p) })
	}
}

func (t *Tasks) offerTerms(p *taskProject, except *taskNode) {
	if big := p.kept.big; big != nil && big.wide {
		t.orders.wide[p] = struct{}{}
		return
	}
	t.eachTerm(p, except, t.orders.terms.set)
}

func (t *Tasks) withdrawTerms(p *taskProject, except *taskNode) {
	if big := p.kept.big; big != nil && big.wide {
		delete(t.orders.wide, p)
		return
	}
	t.eachTerm(p, except, t.orders.terms.delete)
}

// eachTerm yields the nodes of a project that is not wide which are in the lists of terms.
func (t *Tasks) eachTerm(p *taskProject, except *taskNode, yield func(term string, n *taskNode)) {
	if big := p.kept.big; big != nil {
		for term, list := range big.terms.lists {
			yield(term, list[0])
		}
		return
	}
	for _, n := range p.nodes {
		if n != except && t.status(n) == work.TaskOpen {
			n.record.Terms.each(func(term string) { yield(term, n) })
		}
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
	t.withdraw(p, nil)
	p.kept.active, p.kept.subjects = active, subjects
	t.offer(p, nil)
}

// Reach notes that changes which follow come from a state of a revision.
func (t *Tasks) Reach(project id.ID, revision uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.mu.projects[project]; p != nil {
		p.kept.revision = revision
	}
}

// Park withdraws the offer of a project of which a reader has seen, in the state of a revision and
// at a time, that all OPEN tasks wait for others. It has no effect if a claim has expired since,
// because its task may be OPEN and wait for none. The project is offered again when one of its
// tasks changes. The index itself does not know which tasks wait: when a task is done that a
// thousand others wait for, an update would have to move them all.
func (t *Tasks) Park(project id.ID, revision uint64, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.orders.moved.compare(lastOf(now)) > 0 {
		return
	}
	if p := t.mu.projects[project]; p != nil && p.kept.revision <= revision && !p.kept.parked {
		t.withdraw(p, nil)
		p.kept.parked = true
	}
}

// unpark offers a project again, without one of its nodes.
func (t *Tasks) unpark(p *taskProject, except *taskNode) {
	if p.kept.parked {
		p.kept.parked = false
		t.offer(p, except)
	}
}

// offeredSeenMax bounds how many tasks a query looks at.
const offeredSeenMax = 20_000

// Offered lists up to limit public projects that accept work and have OPEN tasks now with a term,
// each with the best of these tasks, the best first. The empty term matches all. Some of the tasks
// may wait for others: who finds a project in which all do calls Park. more says that there are
// further projects.
func (t *Tasks) Offered(term string, now int64, limit int) (found []TaskPlace, more bool) {
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	seen, known := 0, map[*taskProject]bool{}
	take := func(n *taskNode) bool {
		seen++
		if more = seen > offeredSeenMax || len(found) == limit && !known[n.project]; more {
			return false
		}
		if known[n.project] {
			return true
		}
		known[n.project] = true
		found = append(found, placeOf(n))
		return true
	}
	if term == "" {
		t.orders.best.Scan(take)
		return found, more
	}
	wide := merge[*taskNode]{less: lessRank}
	for p := range t.orders.wide {
		if list := p.kept.big.terms.lists[term]; list != nil {
			wide.add(list[:1])
		}
	}
	t.orders.terms.scan(term, func(n *taskNode) bool { return wide.upTo(n, take) && take(n) })
	if !more {
		wide.rest(take)
	}
	return found, more
}

// With returns up to limit OPEN tasks of an offered project that have a term now, the best first.
func (t *Tasks) With(project id.ID, term string, now int64, limit int) []id.ID {
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	p := t.mu.projects[project]
	if p == nil || !offered(p) {
		return nil
	}
	list := t.withTerm(p, term)
	found := make([]id.ID, min(limit, len(list)))
	for i := range found {
		found[i] = list[i].record.Task
	}
	return found
}

// withTerm returns the OPEN tasks of a project that have a term, the best first.
func (t *Tasks) withTerm(p *taskProject, term string) (list []*taskNode) {
	if big := p.kept.big; big != nil {
		return big.terms.lists[term]
	}
	for _, n := range p.nodes {
		if t.status(n) == work.TaskOpen && n.record.Terms.has(term) {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b *taskNode) int {
		return a.record.position().Compare(b.record.position())
	})
	return list
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

// Own returns the projects that are not public, have an agent as a member and have OPEN tasks now.
// The project with the best task comes first.
func (t *Tasks) Own(agent id.ID, now int64) []id.ID {
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	var best []TaskPlace
	for _, p := range t.mu.members[agent] {
		if !p.public && p.kept.best != nil {
			best = append(best, placeOf(p.kept.best))
		}
	}
	slices.SortFunc(best, func(a, b TaskPlace) int { return a.Compare(b.TaskPosition) })
	found := make([]id.ID, len(best))
	for i := range best {
		found[i] = best[i].Project
	}
	return found
}
