package work

import (
	"slices"

	"pws/internal/id"
)

// Credit names the agents behind an accepted contribution. It is copied to projects that reuse
// the changes, and stays there whatever happens to the project that accepted it.
type Credit struct {
	// Project is the project that accepted the contribution, and Changeset the resulting changeset
	// there.
	Project      id.ID `cbor:"1,keyasint"`
	Contribution id.ID `cbor:"2,keyasint"`
	Changeset    id.ID `cbor:"3,keyasint"`
	Author       id.ID `cbor:"4,keyasint"`
	// Reviewers are in the order of their first reviews.
	Reviewers  []id.ID `cbor:"5,keyasint,omitempty"`
	AcceptedBy id.ID   `cbor:"6,keyasint"`
	// Origin is the credit according to a bundle, nil if there is no bundle.
	Origin *CreditOrigin `cbor:"7,keyasint,omitempty"`
}

// CreditOrigin is a credit as stated by a bundle. It is not verified.
type CreditOrigin struct {
	// Project, Contribution and Changeset are zero if the bundle does not contain them.
	Project      id.ID          `cbor:"1,keyasint,omitzero"`
	Contribution id.ID          `cbor:"2,keyasint,omitzero"`
	Changeset    id.ID          `cbor:"3,keyasint,omitzero"`
	Author       BundledAgent   `cbor:"4,keyasint"`
	Reviewers    []BundledAgent `cbor:"5,keyasint,omitempty"`
	// AcceptedBy is zero if the contribution was accepted after it was imported with the bundle.
	AcceptedBy BundledAgent `cbor:"6,keyasint"`
}

// CreditsMax is the maximum number of credits that a fork or an import copies.
const CreditsMax = 100

// Agents returns all agents that a credit names.
func (c *Credit) Agents() []id.ID { return append([]id.ID{c.Author, c.AcceptedBy}, c.Reviewers...) }

// CreditOf returns the credit of an accepted contribution.
func (p *Project) CreditOf(c *Contribution) Credit {
	credit := Credit{
		Project: p.ID, Contribution: c.ID, Changeset: c.Changeset, Author: c.Author,
		Reviewers: c.Reviewers(), AcceptedBy: c.DecidedBy,
	}
	if origin := p.ContributionOrigin(c); origin != nil {
		credit.Origin = origin.credit()
	}
	return credit
}

// same reports whether two credits are for one contribution.
func (c *Credit) same(other *Credit) bool {
	switch {
	case c.Contribution != other.Contribution:
		return false
	case c.Origin == nil || other.Origin == nil:
		return c.Origin == other.Origin
	}
	return c.Origin.Contribution == other.Origin.Contribution &&
		(!c.Origin.Contribution.IsZero() || c.Origin.equals(other.Origin))
}

// equals compares values: two credits share an origin in memory until they were stored.
func (o *CreditOrigin) equals(other *CreditOrigin) bool {
	return o.Project == other.Project && o.Contribution == other.Contribution &&
		o.Changeset == other.Changeset && o.Author == other.Author &&
		slices.Equal(o.Reviewers, other.Reviewers) && o.AcceptedBy == other.AcceptedBy
}

// CreditsAt returns the credits of the history up to a changeset, the newest first, then the
// credits of imports, and then those inherited from a fork or a bundle.
func (p *Project) CreditsAt(at *Changeset) (credits []Credit) {
	p.Contributions(id.ID{}, func(c *Contribution) bool {
		if c.Status == AcceptedStatus && c.Changeset.Compare(at.ID) <= 0 {
			credits = append(credits, p.CreditOf(c))
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
	if p.saved.Fork != nil {
		all.credit(p.saved.Fork.Credits...)
	}
	if p.bundled != nil {
		all.credit(p.bundled.Credits...)
	}
	return all.credits
}

// owed collects the authors, the credits and the origins of files: those of all changesets that
// wrote the files, and those stored with forks and imports.
type owed struct {
	authors []id.ID
	bundled []BundledAgent
	credits []Credit
	origins []FileOrigin
	omitted Omitted
	// accepted maps changesets to the contributions of a bundle that they published.
	accepted map[id.ID]*Contribution
}

// owedFor collects the authors, credits and origins of files: at most ImportAuthorsMax authors,
// CreditsMax credits and OriginsMax origins. The rest is counted.
func (p *Project) owedFor(files []FileInfo) (o owed) {
	seen := map[uint32]bool{}
	perFile := LineageMax / max(1, len(files))
	for i := range files {
		if p.lineage(&files[i], perFile, func(step *Changeset) {
			if !seen[step.Sequence] {
				seen[step.Sequence] = true
				p.owedForStep(step, &o)
			}
		}) {
			o.omitted.Histories++
		}
	}
	return o
}

func (p *Project) owedForStep(step *Changeset, o *owed) {
	if origin := p.ChangesetOrigin(step); origin != nil {
		p.owedForBundled(step, origin, o)
	}
	switch step.Source {
	case SourceContribution:
		if c, ok := p.Contribution(step.SourceID); ok {
			o.credit(p.CreditOf(c))
			if origin := p.ContributionOrigin(c); origin != nil {
				o.name(origin.Record.agent())
			}
		}
	case SourceImport:
		if brought, ok := p.Import(step.SourceID); ok {
			p.owedForImport(brought, o)
			if len(brought.Authors) > 0 {
				return
			}
		}
	case SourceFork:
		if p.saved.Fork != nil {
			p.owedForFork(o)
			if len(p.saved.Fork.Authors) > 0 {
				return
			}
		}
	}
	o.author(step.Author)
}

// owedForImport adds what is stored with an import: its authors and credits, the license of the
// artifact, and the origins of the artifact's own files.
func (p *Project) owedForImport(one *Import, o *owed) {
	o.credit(one.Credits...)
	o.name(one.BundledAuthors...)
	o.author(one.Authors...)
	o.origin(one.origin(p.ID))
	o.origin(one.Origins...)
	o.omitted.add(one.Omitted)
}

// owedForFork adds what is stored with a fork, including the imports of its source.
func (p *Project) owedForFork(o *owed) {
	o.credit(p.saved.Fork.Credits...)
	o.nameAll(p.saved.Fork.BundledAuthors)
	for _, one := range p.saved.Fork.Authors {
		o.author(one.Agent)
	}
	o.origin(p.saved.Fork.origin())
	o.origin(p.saved.Fork.Origins...)
	for _, one := range p.saved.Fork.Imports {
		p.owedForImport(one, o)
	}
}

// owedForBundled adds what a bundle states about one of its changesets.
func (p *Project) owedForBundled(step *Changeset, origin *Origin, o *owed) {
	if p.bundled.License != "" {
		o.origin(FileOrigin{
			Project: p.ID, License: p.bundled.License, Bundled: p.bundled.Project.ID, FromBundle: true,
		})
	}
	if step.Sequence == 1 {
		p.owedForInherited(o)
	}
	if !p.bundled.Whole || origin.Source == SourceFork {
		return
	}
	if brought, ok := p.Import(step.SourceID); ok && len(brought.BundledAuthors) > 0 {
		return
	}
	o.name(origin.agent())
	if o.accepted == nil {
		o.accepted = map[id.ID]*Contribution{}
		p.Contributions(id.ID{}, func(c *Contribution) bool {
			o.accepted[c.Changeset] = c
			return true
		})
	}
	if c := o.accepted[step.ID]; c != nil {
		o.credit(p.CreditOf(c))
	}
}

// owedForInherited adds what the first changeset of a bundle represents: everything that the
// bundled project had inherited and, without the history, all its imports.
func (p *Project) owedForInherited(o *owed) {
	o.credit(p.bundled.Credits...)
	o.nameAll(p.bundled.Authors)
	for _, one := range p.bundled.Imports {
		p.owedForImport(one, o)
	}
	if !p.bundled.Whole {
		p.Imports(id.ID{}, func(one *Import) bool {
			if one.Origin != nil {
				p.owedForImport(one, o)
			}
			return true
		})
	}
	o.origin(p.bundled.Origins...)
}

// addNew adds the values that a list does not hold yet, until it holds most of them. It returns how
// many did not fit.
func addNew[T comparable](list *[]T, more []T, most int) (omitted int) {
	for _, one := range more {
		switch {
		case slices.Contains(*list, one):
		case len(*list) < most:
			*list = append(*list, one)
		default:
			omitted++
		}
	}
	return omitted
}

func (o *owed) name(agents ...BundledAgent) {
	o.omitted.Authors += addNew(&o.bundled, agents, ImportAuthorsMax)
}

func (o *owed) nameAll(authors []BundledAuthor) {
	for i := range authors {
		o.name(authors[i].Agent)
	}
}

func (o *owed) author(authors ...id.ID) {
	o.omitted.Authors += addNew(&o.authors, authors, ImportAuthorsMax)
}

func (o *owed) credit(credits ...Credit) {
	for _, one := range credits {
		known := slices.ContainsFunc(o.credits, func(c Credit) bool {
			return c.same(&one)
		})
		switch {
		case known:
		case len(o.credits) < CreditsMax:
			o.credits = append(o.credits, one)
		default:
			o.omitted.Credits++
		}
	}
}
