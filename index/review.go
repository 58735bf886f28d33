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
// of other projects for their members. A project without any takes no memory. A project with many
// is not in the common lists, so that it costs little to hide it. It is safe for concurrent use.
type Reviews struct {
	byProject[ReviewEntry, reviewData]
	limits bigLimits
	// public holds the contributions of small public projects, the oldest first; big are the other
	// public projects. They are guarded by the lock of byProject.
	public postings[*reviewNode]
	big    map[*reviewProject]struct{}
}

// reviewData is the data per project that Reviews needs.
type reviewData struct {
	// weight is the number of its contributions and of their terms.
	weight int32
	// terms holds the contributions of each term, the oldest first, if the project is big.
	terms *termLists[*reviewNode]
}

type (
	reviewProject = owner[ReviewEntry, reviewData]
	reviewNode    = node[ReviewEntry, reviewData]
)

func byContribution(a, b *reviewNode) bool {
	return a.record.Contribution.Compare(b.record.Contribution) < 0
}

// NewReviews makes an empty index.
func NewReviews() *Reviews {
	r := &Reviews{
		limits: usualLimits, public: newPostings(byContribution), big: map[*reviewProject]struct{}{},
	}
	r.init(func(e *ReviewEntry) *id.ID { return &e.Contribution }, r.linkReview, r.unlinkReview,
		func(p *reviewProject, change func()) {
			r.eachListed(p, nil, r.public.delete)
			delete(r.big, p)
			change()
			r.eachListed(p, nil, r.public.set)
			r.listBig(p)
		})
	return r
}

// eachListed yields the entries of a project in the common lists, without those of one node.
func (r *Reviews) eachListed(
	p *reviewProject, except *reviewNode, yield func(term string, n *reviewNode),
) {
	if !p.public || p.kept.terms != nil {
		return
	}
	for _, n := range p.nodes {
		if n != except {
			yield("", n)
			n.record.Terms.each(func(term string) { yield(term, n) })
		}
	}
}

func (r *Reviews) listBig(p *reviewProject) {
	if p.public && p.kept.terms != nil {
		r.big[p] = struct{}{}
	}
}

func (r *Reviews) linkReview(n *reviewNode) {
	p := n.project
	p.kept.weight += n.record.Terms.weight()
	if p.kept.terms == nil && p.kept.weight > r.limits.big {
		r.eachListed(p, n, r.public.delete)
		lists := newTermLists(byContribution)
		p.kept.terms = &lists
		for _, other := range p.nodes {
			if other != n {
				other.record.Terms.each(func(term string) { lists.add(term, other) })
			}
		}
		r.listBig(p)
	}
	switch {
	case p.kept.terms != nil:
		n.record.Terms.each(func(term string) { p.kept.terms.add(term, n) })
	case p.public:
		r.public.set("", n)
		n.record.Terms.each(func(term string) { r.public.set(term, n) })
	}
}

func (r *Reviews) unlinkReview(n *reviewNode) {
	p := n.project
	switch {
	case p.kept.terms != nil:
		n.record.Terms.each(func(term string) { p.kept.terms.remove(term, n) })
	case p.public:
		r.public.delete("", n)
		n.record.Terms.each(func(term string) { r.public.delete(term, n) })
	}
	p.kept.weight -= n.record.Terms.weight()
	if p.kept.terms != nil && p.kept.weight < r.limits.small {
		delete(r.big, p)
		p.kept.terms = nil
		r.eachListed(p, n, r.public.set)
	}
}

// Put adds a contribution or replaces its entry. It reports whether it is the first of its project;
// then nobody can find it until SetAudience is called.
func (r *Reviews) Put(project id.ID, entry ReviewEntry) (first bool) {
	return r.enter(project, entry.Contribution, entry)
}

// Replace replaces all entries of a project; without entries the project is removed.
func (r *Reviews) Replace(project id.ID, all ProjectReviews) {
	r.replace(project, &all, reviewData{})
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
	take := func(n *reviewNode) bool {
		if n.record.Author != author && len(found) < limit {
			found = append(found, ReviewPlace{n.record.Contribution, n.project.id})
		}
		seen++
		return len(found) < limit && seen < reviewsSeenMax
	}
	big := merge[*reviewNode]{less: byContribution}
	for p := range r.big {
		if term == "" {
			big.add(p.nodes)
		} else {
			big.add(p.kept.terms.lists[term])
		}
	}
	goOn := true
	r.public.scan(term, func(n *reviewNode) bool {
		goOn = big.upTo(n, take) && take(n)
		return goOn
	})
	if goOn {
		big.rest(take)
	}
	return found
}

// reviewsSeenMax bounds how many contributions of its author a query skips.
const reviewsSeenMax = 10_000

// Own lists up to limit contributions by others to projects that are not public and have an agent
// as a member, sorted by project.
func (r *Reviews) Own(agent id.ID, limit int) (found []ReviewPlace) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	own := slices.DeleteFunc(slices.Clone(r.mu.members[agent]), func(p *reviewProject) bool {
		return p.public
	})
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
