package index

import (
	"maps"
	"slices"
	"sync"

	"pws/internal/id"
)

// ReviewEntry is a contribution that waits for a review.
type ReviewEntry struct {
	Contribution id.ID
	Author       id.ID
	// Terms are the languages of what it changes.
	Terms Terms
}

// ProjectReviews is all that is kept of one project.
type ProjectReviews struct {
	Public bool
	// Members are those of a project that is not public.
	Members []id.ID
	// Entries are in the order of their IDs.
	Entries []ReviewEntry
}

// ReviewPlace is a contribution with its project.
type ReviewPlace struct {
	Contribution id.ID
	Project      id.ID
}

// Reviews finds contributions that wait for a review: those of public projects, and those of other
// projects for their members. Projects without any take no room. It is safe for concurrent use.
type Reviews struct {
	mu struct {
		sync.RWMutex
		projects map[id.ID]*reviewProject
		// members are the projects that are not public by their members.
		members map[id.ID]map[id.ID]*reviewProject
		// public has the oldest first.
		public postings[*reviewNode]
	}
}

type reviewProject struct {
	id      id.ID
	public  bool
	members []id.ID
	nodes   map[id.ID]*reviewNode
}

type reviewNode struct {
	ReviewEntry
	project *reviewProject
}

func byContribution(a, b *reviewNode) bool { return a.Contribution.Compare(b.Contribution) < 0 }

// NewReviews makes an empty index.
func NewReviews() *Reviews {
	r := new(Reviews)
	r.mu.projects = map[id.ID]*reviewProject{}
	r.mu.members = map[id.ID]map[id.ID]*reviewProject{}
	r.mu.public = newPostings(byContribution)
	return r
}

// Put takes in a contribution, or another revision of one. It reports whether it is the first of
// its project: then nobody finds it until SetAudience has said who may.
func (r *Reviews) Put(project id.ID, entry ReviewEntry) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.mu.projects[project]
	if p == nil {
		p, first = &reviewProject{id: project, nodes: map[id.ID]*reviewNode{}}, true
		r.mu.projects[project] = p
	}
	r.put(p, entry)
	return first
}

func (r *Reviews) put(p *reviewProject, entry ReviewEntry) {
	if old := p.nodes[entry.Contribution]; old != nil {
		r.unlink(old)
	}
	n := &reviewNode{entry, p}
	p.nodes[entry.Contribution] = n
	r.link(n)
}

func (r *Reviews) link(n *reviewNode) {
	if n.project.public {
		r.mu.public.set("", n)
		n.Terms.each(func(term string) { r.mu.public.set(term, n) })
	}
}

func (r *Reviews) unlink(n *reviewNode) {
	if n.project.public {
		r.mu.public.delete("", n)
		n.Terms.each(func(term string) { r.mu.public.delete(term, n) })
	}
}

// Drop forgets a contribution that no longer waits.
func (r *Reviews) Drop(project, contribution id.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.mu.projects[project]
	if p == nil || p.nodes[contribution] == nil {
		return
	}
	r.unlink(p.nodes[contribution])
	if delete(p.nodes, contribution); len(p.nodes) == 0 {
		r.forget(p)
	}
}

func (r *Reviews) forget(p *reviewProject) {
	for _, n := range p.nodes {
		r.unlink(n)
	}
	r.setMembers(p, nil)
	delete(r.mu.projects, p.id)
}

// SetAudience says who may find the contributions of a project, where any waits: everybody, or its
// members.
func (r *Reviews) SetAudience(project id.ID, public bool, members []id.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.mu.projects[project]; p != nil {
		r.setAudience(p, public, members)
	}
}

func (r *Reviews) setAudience(p *reviewProject, public bool, members []id.ID) {
	if public {
		members = nil
	}
	r.setMembers(p, members)
	if p.public == public {
		return
	}
	for _, n := range p.nodes {
		r.unlink(n)
	}
	p.public = public
	for _, n := range p.nodes {
		r.link(n)
	}
}

func (r *Reviews) setMembers(p *reviewProject, members []id.ID) {
	for _, member := range p.members {
		if delete(r.mu.members[member], p.id); len(r.mu.members[member]) == 0 {
			delete(r.mu.members, member)
		}
	}
	for _, member := range members {
		if r.mu.members[member] == nil {
			r.mu.members[member] = map[id.ID]*reviewProject{}
		}
		r.mu.members[member][p.id] = p
	}
	p.members = slices.Clone(members)
}

// Replace makes what is kept of a project this, and nothing where it has no entries.
func (r *Reviews) Replace(project id.ID, all ProjectReviews) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.mu.projects[project]; p != nil {
		r.forget(p)
	}
	if len(all.Entries) == 0 {
		return
	}
	p := &reviewProject{id: project, nodes: make(map[id.ID]*reviewNode, len(all.Entries))}
	r.mu.projects[project] = p
	r.setAudience(p, all.Public, all.Members)
	for _, entry := range all.Entries {
		r.put(p, entry)
	}
}

// Get is what is kept of a project, for comparing.
func (r *Reviews) Get(project id.ID) (all ProjectReviews) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	p := r.mu.projects[project]
	if p == nil {
		return all
	}
	all.Public, all.Members = p.public, slices.Clone(p.members)
	all.Entries = p.sorted()
	return all
}

func (p *reviewProject) sorted() []ReviewEntry {
	entries := make([]ReviewEntry, 0, len(p.nodes))
	for _, n := range p.nodes {
		entries = append(entries, n.ReviewEntry)
	}
	slices.SortFunc(entries, func(a, b ReviewEntry) int {
		return a.Contribution.Compare(b.Contribution)
	})
	return entries
}

// Public lists up to limit contributions to public projects that have to do with a term, all for
// the empty one, and are not of an author, the oldest first.
func (r *Reviews) Public(term string, author id.ID, limit int) (found []ReviewPlace) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	seen := 0
	r.mu.public.scan(term, func(n *reviewNode) bool {
		if n.Author != author && len(found) < limit {
			found = append(found, ReviewPlace{n.Contribution, n.project.id})
		}
		seen++
		return len(found) < limit && seen < reviewsSeenMax
	})
	return found
}

// reviewsSeenMax bounds how many contributions of its author one question passes over.
const reviewsSeenMax = 10_000

// Own lists up to limit contributions to projects that are not public and have an agent as a
// member, and are not its own, in the order of the projects.
func (r *Reviews) Own(agent id.ID, limit int) (found []ReviewPlace) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	own := r.mu.members[agent]
	for _, project := range slices.SortedFunc(maps.Keys(own), id.ID.Compare) {
		for _, entry := range own[project].sorted() {
			if len(found) >= limit {
				return found
			}
			if entry.Author != agent {
				found = append(found, ReviewPlace{entry.Contribution, project})
			}
		}
	}
	return found
}

// Len is the number of contributions that wait.
func (r *Reviews) Len() (count int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, p := range r.mu.projects {
		count += len(p.nodes)
	}
	return count
}
