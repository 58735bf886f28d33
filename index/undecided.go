package index

import (
	"slices"
	"sync"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// Undecided leads from projects to the contributions that wait for a decision of a maintainer:
// those that are SUBMITTED or APPROVED. Others without a decision wait for their author. A project
// without any takes no memory. It is safe for concurrent use.
type Undecided struct {
	mu struct {
		sync.RWMutex
		// of holds the contributions of each project, the oldest first.
		of map[id.ID][]id.ID
	}
}

// NewUndecided makes an empty index.
func NewUndecided() *Undecided {
	u := new(Undecided)
	u.mu.of = map[id.ID][]id.ID{}
	return u
}

// Of returns up to limit contributions to some projects after one of them, the oldest first; the
// zero ID is the start. Its time grows with the number of the projects.
func (u *Undecided) Of(projects []id.ID, after id.ID, limit int) (found []ReviewPlace) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	for _, project := range projects {
		list := u.mu.of[project]
		from, known := slices.BinarySearchFunc(list, after, id.ID.Compare)
		if known {
			from++
		}
		for _, one := range list[from:min(len(list), from+limit)] {
			found = append(found, ReviewPlace{one, project})
		}
	}
	slices.SortFunc(found, func(a, b ReviewPlace) int {
		return a.Contribution.Compare(b.Contribution)
	})
	return found[:min(len(found), limit)]
}

// UndecidedOf returns the contributions to a project that wait for a decision, the oldest first.
func UndecidedOf(p *work.Project) (all []id.ID) {
	if p.PendingContributions() == 0 {
		return nil
	}
	p.Contributions(id.ID{}, func(c *work.Contribution) bool {
		if c.AwaitsDecision() {
			all = append(all, c.ID)
		}
		return true
	})
	slices.Reverse(all)
	return all
}

// Kinds implements Projection.
func (u *Undecided) Kinds() []work.Kind {
	return kindsOf(
		new(work.ContributionSubmitted), new(work.RevisionSubmitted),
		new(work.ContributionReviewed), new(work.ContributionConflicted),
		new(work.ContributionAccepted), new(work.ContributionRejected),
		new(work.ContributionWithdrawn), new(work.ReviewDeleted), new(work.ContributionDeleted),
		new(work.ProjectImported),
	)
}

// Update implements Projection.
func (u *Undecided) Update(before, next *work.Project, events []work.Event) {
	if before == nil {
		u.replace(next.ID, UndecidedOf(next))
		return
	}
	for _, event := range events {
		if contribution, ok := contributionOf(event); ok {
			c, found := next.Contribution(contribution)
			u.set(next.ID, contribution, found && c.AwaitsDecision())
		}
	}
}

// replace replaces all entries of a project.
func (u *Undecided) replace(project id.ID, all []id.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(all) == 0 {
		delete(u.mu.of, project)
		return
	}
	u.mu.of[project] = all
}

// set adds a contribution or removes it.
func (u *Undecided) set(project, contribution id.ID, waits bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := u.mu.of[project]
	at, known := slices.BinarySearchFunc(list, contribution, id.ID.Compare)
	switch {
	case waits && !known:
		u.mu.of[project] = slices.Insert(list, at, contribution)
	case !waits && known && len(list) == 1:
		delete(u.mu.of, project)
	case !waits && known:
		u.mu.of[project] = slices.Delete(list, at, at+1)
	}
}

// Append implements Projection:
//
//	contributions  until the end, the oldest first, 16 bytes each
func (u *Undecided) Append(out []byte, p *work.Project) []byte {
	for _, one := range UndecidedOf(p) {
		out = append(out, one[:]...)
	}
	return out
}

// Restore implements Projection.
func (u *Undecided) Restore(c *Card, part *disk.Reader) error {
	var all []id.ID
	for part.Len() > 0 {
		all = append(all, id.ID(part.Fixed(16)))
	}
	if part.Failed() || !slices.IsSortedFunc(all, id.ID.Compare) {
		return errPart
	}
	u.replace(c.Project, all)
	return nil
}
