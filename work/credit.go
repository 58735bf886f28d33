package work

import (
	"slices"

	"pws/internal/id"
)

// Credit is to whom an accepted contribution is owed. It goes along where its changes are reused,
// and stays there whatever becomes of the project that accepted it.
type Credit struct {
	// Project is the one that accepted it, Changeset what it became there.
	Project      id.ID `cbor:"1,keyasint"`
	Contribution id.ID `cbor:"2,keyasint"`
	Changeset    id.ID `cbor:"3,keyasint"`
	Author       id.ID `cbor:"4,keyasint"`
	// Reviewers are in the order of their first reviews.
	Reviewers  []id.ID `cbor:"5,keyasint,omitempty"`
	AcceptedBy id.ID   `cbor:"6,keyasint"`
}

// CreditsMax is how many credits go along with a fork or an import.
const CreditsMax = 100

// Agents are all that a credit names.
func (c *Credit) Agents() []id.ID { return append([]id.ID{c.Author, c.AcceptedBy}, c.Reviewers...) }

// creditOf is the credit of a contribution that was accepted.
func (p *Project) creditOf(c *Contribution) Credit {
	return Credit{
		Project: p.ID, Contribution: c.ID, Changeset: c.Changeset, Author: c.Author,
		Reviewers: c.Reviewers(), AcceptedBy: c.DecidedBy,
	}
}

// CreditsAt are the credits of the history up to a changeset, the newest first, behind them those
// that came in with imports, and those that the project came with as a fork.
func (p *Project) CreditsAt(at *Changeset) (credits []Credit) {
	p.Contributions(id.ID{}, func(c *Contribution) bool {
		if c.Status == AcceptedStatus && c.Changeset.Compare(at.ID) <= 0 {
			credits = append(credits, p.creditOf(c))
		}
		return len(credits) < CreditsMax
	})
	all := owed{credits: credits}
	p.Imports(id.ID{}, func(one *Import) bool {
		if one.Changeset.Compare(at.ID) <= 0 {
			all.credit(one.Credits...)
		}
		return len(all.credits) < CreditsMax
	})
	if p.fork != nil {
		all.credit(p.fork.Credits...)
	}
	return all.credits
}

// owed are the authors and the credits of files: those of the changesets that last changed them,
// and of what a fork or an import brought those that came with it.
type owed struct {
	authors []id.ID
	credits []Credit
}

// owedFor collects what files are owed to, at most ImportAuthorsMax authors and CreditsMax credits.
func (p *Project) owedFor(files []FileInfo) (o owed) {
	seen := map[uint32]bool{}
	for at := range files {
		if step := files[at].Updated; !seen[step.Sequence] {
			seen[step.Sequence] = true
			p.owedForStep(step, &o)
		}
	}
	return o
}

func (p *Project) owedForStep(step *Changeset, o *owed) {
	switch step.Source {
	case SourceContribution:
		if c, ok := p.Contribution(step.SourceID); ok {
			o.credit(p.creditOf(c))
		}
	case SourceImport:
		if brought, ok := p.Import(step.SourceID); ok && len(brought.Authors) > 0 {
			o.credit(brought.Credits...)
			o.author(brought.Authors...)
			return
		}
	case SourceFork:
		if p.fork != nil && len(p.fork.Authors) > 0 {
			o.credit(p.fork.Credits...)
			for _, one := range p.fork.Authors {
				o.author(one.Agent)
			}
			return
		}
	}
	o.author(step.Author)
}

func (o *owed) author(authors ...id.ID) {
	for _, one := range authors {
		if len(o.authors) < ImportAuthorsMax && !slices.Contains(o.authors, one) {
			o.authors = append(o.authors, one)
		}
	}
}

func (o *owed) credit(credits ...Credit) {
	for _, one := range credits {
		known := slices.ContainsFunc(o.credits, func(c Credit) bool {
			return c.Contribution == one.Contribution
		})
		if len(o.credits) < CreditsMax && !known {
			o.credits = append(o.credits, one)
		}
	}
}
