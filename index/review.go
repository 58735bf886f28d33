package index

import (
	"slices"

	"pws/internal/id"
)

// ReviewEntry is a contribution that waits for a review.
type ReviewEntry struct {
	Contribution id.ID
	Author       id.ID
	// Terms are the languages of the files that it changes.
	Terms Terms
}

// ProjectReviews is everything stored for one project.
type ProjectReviews = ProjectRecords[ReviewEntry]

// ReviewPlace is a contribution with its project.
type ReviewPlace struct {
	Contribution id.ID
	Project      id.ID
}

// Reviews finds contributions that wait for a review: those of public projects for everybody, those
// of other projects for their members. A project without any takes no memory. It is safe for
// concurrent use.
type Reviews struct {
	byProject[ReviewEntry, struct{}]
	// public is sorted with the oldest first. It is guarded by the lock of byProject.
	public postings[*reviewNode]
}

type (
	reviewProject = owner[ReviewEntry, struct{}]
	reviewNode    = node[ReviewEntry, struct{}]
)

func byContribution(a, b *reviewNode) bool {
	return a.record.Contribution.Compare(b.record.Contribution) < 0
}

// NewReviews makes an empty index.
func NewReviews() *Reviews {
	r := &Reviews{public: newPostings(byContribution)}
	r.init(func(e *ReviewEntry) *id.ID { return &e.Contribution }, func(n *reviewNode) {
		if n.project.public {
			r.public.set("", n)
			n.record.Terms.each(func(term string) { r.public.set(term, n) })
		}
	}, func(n *reviewNode) {
		if n.project.public {
			r.public.delete("", n)
			n.record.Terms.each(func(term string) { r.public.delete(term, n) })
		}
	})
	return r
}

// Put adds a contribution or replaces its entry. It reports whether it is the first of its project;
// then nobody can find it until SetAudience is called.
func (r *Reviews) Put(project id.ID, entry ReviewEntry) (first bool) {
	return r.enter(project, entry.Contribution, entry)
}

// Replace replaces all entries of a project; without entries the project is removed.
func (r *Reviews) Replace(project id.ID, all ProjectReviews) {
	r.replace(project, &all, struct{}{})
}

// Get returns everything stored for a project. Tests compare it.
func (r *Reviews) Get(project id.ID) ProjectReviews {
	all, _ := r.get(project)
	return all
}

// Public lists up to limit contributions to public projects with a term, the oldest first, without
// those of an author. The empty term matches all.
func (r *Reviews) Public(term string, author id.ID, limit int) (found []ReviewPlace) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	seen := 0
	r.public.scan(term, func(n *reviewNode) bool {
		if n.record.Author != author && len(found) < limit {
			found = append(found, ReviewPlace{n.record.Contribution, n.project.id})
		}
		seen++
		return len(found) < limit && seen < reviewsSeenMax
	})
	return found
}

// reviewsSeenMax bounds how many contributions of its author a query skips.
const reviewsSeenMax = 10_000

// Own lists up to limit contributions by others to projects that are not public and have an agent
// as a member, sorted by project.
func (r *Reviews) Own(agent id.ID, limit int) (found []ReviewPlace) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	own := slices.Clone(r.mu.members[agent])
	slices.SortFunc(own, func(a, b *reviewProject) int { return a.id.Compare(b.id) })
	for _, p := range own {
		for _, n := range p.nodes {
			if len(found) >= limit {
				return found
			}
			if n.record.Author != agent {
				found = append(found, ReviewPlace{n.record.Contribution, p.id})
			}
		}
	}
	return found
}
