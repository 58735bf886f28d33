package work

import (
	"cmp"
	"slices"

	"pws/internal/id"
)

// AuthorCount is the number of changesets that an agent has published in a project.
type AuthorCount struct {
	Agent      id.ID
	Changesets uint32
	// Inherited counts those in the history that the project was forked from.
	Inherited uint32
}

var byAuthor = inOrder(func(a, b AuthorCount) bool { return a.Agent.Compare(b.Agent) < 0 })

// countAuthor counts a changeset of an author.
func (p *Project) countAuthor(author id.ID) {
	next := AuthorCount{Agent: author}
	if known, ok := p.authors.get(next, byAuthor); ok {
		next = known
	}
	next.Changesets++
	p.authors.set(next, byAuthor)
}

// byWork orders authors by the number of their changesets, the highest first, then by
// registration, the oldest agent first.
func byWork(a, b AuthorCount) int {
	return cmp.Or(cmp.Compare(b.Changesets+b.Inherited, a.Changesets+a.Inherited),
		a.Agent.Compare(b.Agent))
}

// BundledAgent is an agent that a bundle names. It may belong to another service.
type BundledAgent struct {
	Agent  id.ID  `cbor:"1,keyasint"`
	Handle string `cbor:"2,keyasint,omitempty"`
}

// Compare orders agents by ID, then by handle.
func (a BundledAgent) Compare(other BundledAgent) int {
	return cmp.Or(a.Agent.Compare(other.Agent), cmp.Compare(a.Handle, other.Handle))
}

// BundledAuthor is the number of changesets that an agent has published according to a bundle.
type BundledAuthor struct {
	Agent      BundledAgent `cbor:"1,keyasint"`
	Changesets uint32       `cbor:"2,keyasint"`
}

// BundledAuthorsAt returns the authors of the files at a changeset according to bundles, the
// highest count first.
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
	for i := range origins {
		if origins[i].Source != SourceFork {
			counts[origins[i].agent()]++
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

// TopAuthors returns the agents that have published the most changesets, in the project or in
// the history that it was forked from. It counts what each one has published here: the changesets
// of a bundle and the first one of a fork are those of the agent that imported or forked. AuthorsAt
// has the authors of the contents instead.
func (p *Project) TopAuthors(most int) []AuthorCount {
	all := make([]AuthorCount, 0, p.authors.len())
	p.authors.scan(func(one AuthorCount) bool { all = append(all, one); return true })
	if p.saved.Fork != nil {
		own := len(all)
		for _, one := range p.saved.Fork.Authors {
			// The agents that have published here are ordered by ID.
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
