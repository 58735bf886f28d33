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
	// Inherited are those of the history that the project was forked from.
	Inherited uint32
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

// byWork orders authors by what they have published, the highest count first; of two with as much,
// the one that is registered longer comes first.
func byWork(a, b AuthorCount) int {
	return cmp.Or(cmp.Compare(b.Changesets+b.Inherited, a.Changesets+a.Inherited),
		a.Agent.Compare(b.Agent))
}

// BundledAgent is an agent that a bundle names: of another service perhaps.
type BundledAgent struct {
	Agent  id.ID  `cbor:"1,keyasint"`
	Handle string `cbor:"2,keyasint,omitempty"`
}

// Compare orders agents by ID, then by handle.
func (a BundledAgent) Compare(other BundledAgent) int {
	return cmp.Or(a.Agent.Compare(other.Agent), cmp.Compare(a.Handle, other.Handle))
}

// BundledAuthor is how many changesets a bundle says that an agent has published.
type BundledAuthor struct {
	Agent      BundledAgent `cbor:"1,keyasint"`
	Changesets uint32       `cbor:"2,keyasint"`
}

// BundledAuthorsAt are those of whom a bundle says that they published what the project had after a
// changeset, the highest count first.
func (p *Project) BundledAuthorsAt(at *Changeset) []BundledAuthor {
	switch {
	case p.saved.Fork != nil:
		return p.saved.Fork.BundledAuthors
	case p.bundled == nil:
		return nil
	case !p.bundled.Whole:
		return p.bundled.Authors
	}
	origins := p.bundled.Changesets
	return tallyAuthors(origins[:min(len(origins), int(at.Sequence))], p.bundled.Authors)
}

// tallyAuthors counts changesets by author, the highest count first. The first changeset of a fork
// has no author.
func tallyAuthors(origins []Origin, inherited []BundledAuthor) []BundledAuthor {
	counts := map[BundledAgent]uint32{}
	for at := range origins {
		if origins[at].Source != SourceFork {
			counts[origins[at].agent()]++
		}
	}
	for _, one := range inherited {
		counts[one.Agent] += one.Changesets
	}
	authors := make([]BundledAuthor, 0, len(counts))
	for agent, changesets := range counts {
		authors = append(authors, BundledAuthor{agent, changesets})
	}
	slices.SortFunc(authors, func(a, b BundledAuthor) int {
		return cmp.Or(cmp.Compare(b.Changesets, a.Changesets),
			a.Agent.Compare(b.Agent))
	})
	return authors[:min(len(authors), InheritedAuthorsMax)]
}

// TopAuthors are those who have published the most changesets, in the project or in the history
// that it was forked from.
func (p *Project) TopAuthors(most int) []AuthorCount {
	all := make([]AuthorCount, 0, p.authors.len())
	p.authors.scan(func(one AuthorCount) bool { all = append(all, one); return true })
	if p.saved.Fork != nil {
		own := len(all)
		for _, one := range p.saved.Fork.Authors {
			// Those who have published here are in the order of their IDs.
			at, found := slices.BinarySearchFunc(all[:own], one.Agent,
				func(a AuthorCount, agent id.ID) int { return a.Agent.Compare(agent) })
			if !found {
				at = len(all)
				all = append(all, AuthorCount{Agent: one.Agent})
			}
			all[at].Inherited = one.Changesets
		}
	}
	slices.SortFunc(all, byWork)
	return all[:min(most, len(all))]
}
