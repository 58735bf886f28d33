package work

import (
	"cmp"
	"slices"

	"pws/internal/id"
)

// AuthorCount is how many changesets of a project an agent has published.
type AuthorCount struct {
	Agent      id.ID
	Changesets uint32
}

func byAuthor(a, b AuthorCount) bool { return a.Agent.Compare(b.Agent) < 0 }

// countAuthor notes a changeset of an author.
func (p *Project) countAuthor(author id.ID) {
	next := AuthorCount{Agent: author}
	if p.authors.tree != nil {
		if known, ok := p.authors.tree.Get(next); ok {
			next = known
		}
	}
	next.Changesets++
	p.authors.set(next, byAuthor)
}

// TopAuthors are those who have published the most changesets, the most first; of two with as many,
// the one that is registered longer.
func (p *Project) TopAuthors(most int) []AuthorCount {
	all := make([]AuthorCount, 0, p.authors.len())
	p.authors.scan(func(one AuthorCount) bool { all = append(all, one); return true })
	slices.SortFunc(all, func(a, b AuthorCount) int {
		return cmp.Or(cmp.Compare(b.Changesets, a.Changesets), a.Agent.Compare(b.Agent))
	})
	return all[:min(most, len(all))]
}
