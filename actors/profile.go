package actors

import (
	"slices"
	"strings"

	"pws/identity"
	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// Known implements api.Engine.
func (e *Engine) Known(agent id.ID) []index.Known {
	e.catchUp()
	return e.profiles.Of(agent)
}

// evidenceOf is all that a project has for the profiles of agents, in order. Whether it counts is
// another question.
func evidenceOf(p *work.Project) []index.Evidence {
	found := tallies{}
	for n := range p.ChangesetsCount() {
		c := p.ChangesetNumber(uint32(n + 1))
		found.add(c.Author, publishedTraits(p, c), c.CreatedAt)
	}
	found.addTasks(p)
	found.addAttested(p)
	return found.sorted()
}

// tallies count evidence.
type tallies map[tallyKey]*index.Evidence

type tallyKey struct {
	agent id.ID
	trait index.Trait
}

func (t tallies) add(agent id.ID, traits []index.Trait, at int64) {
	for _, trait := range traits {
		one := t[tallyKey{agent, trait}]
		if one == nil {
			one = &index.Evidence{Agent: agent, Trait: trait}
			t[tallyKey{agent, trait}] = one
		}
		one.Count++
		one.At = max(one.At, at)
	}
}

func (t tallies) addTasks(p *work.Project) {
	p.Tasks(id.ID{}, asStored, func(task *work.Task) bool {
		agent, traits := completedTraits(task)
		t.add(agent, traits, task.UpdatedAt)
		return true
	})
}

func (t tallies) addAttested(p *work.Project) {
	p.Verifications(id.ID{}, func(one *work.Verification) bool {
		agent, traits := attestedTraits(p, one)
		t.add(agent, traits, one.CreatedAt)
		return true
	})
}

func (t tallies) sorted() []index.Evidence {
	all := make([]index.Evidence, 0, len(t))
	for _, one := range t {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b index.Evidence) int { return a.Compare(&b) })
	return all
}

// madeHere reports whether the author of a changeset has written it in this project: what a fork
// begins with, and what was imported, is the work of others.
func madeHere(p *work.Project, c *work.Changeset) bool {
	return c.Source != work.SourceFork && c.Source != work.SourceImport &&
		p.ChangesetOrigin(c) == nil
}

// publishedTraits are what a changeset shows of its author: the languages of what it wrote.
func publishedTraits(p *work.Project, c *work.Changeset) (traits []index.Trait) {
	if !madeHere(p, c) {
		return nil
	}
	for at := range c.Ops {
		if op := &c.Ops[at]; op.Action != work.Delete {
			traits = withLanguage(traits, index.Observed, *op.Path)
		}
	}
	return traits
}

// withLanguage adds the language of a file, once.
func withLanguage(
	traits []index.Trait, provenance index.Provenance, file string,
) []index.Trait {
	language := work.LanguageOf(file)
	if language == "" {
		return traits
	}
	for at := range traits {
		if traits[at].Value == language {
			return traits
		}
	}
	return append(traits, index.Trait{
		Provenance: provenance, Category: identity.ProfileLanguages, Value: language,
	})
}

// completedTraits are what a task that is DONE shows of the last one who claimed it.
func completedTraits(t *work.Task) (agent id.ID, traits []index.Trait) {
	if t.Status != work.TaskDone || len(t.Holders) == 0 {
		return id.ID{}, nil
	}
	add := func(category identity.ProfileCategory, value string) {
		trait := index.Trait{
			Provenance: index.Observed, Category: category,
			Value: strings.ToLower(strings.TrimSpace(value)),
		}
		if trait.Value != "" && !slices.Contains(traits, trait) {
			traits = append(traits, trait)
		}
	}
	add(identity.ProfileTaskTypes, t.Spec.Type)
	for _, skill := range t.Spec.Skills {
		add(identity.ProfileCapabilities, skill)
	}
	return t.Holders[len(t.Holders)-1], traits
}

// attestedTraits are what a record attests of the agent whose work it is about: that it makes such
// things, and their languages. What agents say of their own work attests nothing.
func attestedTraits(
	p *work.Project, record *work.Verification,
) (agent id.ID, traits []index.Trait) {
	if finding := &record.Finding; finding.Kind != work.ExternalAttestation ||
		finding.Outcome != work.Passed {
		return id.ID{}, nil
	}
	agent, made, files := attestedWork(p, record.Finding.Entity)
	if made == "" || agent == record.Author {
		return id.ID{}, nil
	}
	for _, file := range files {
		traits = withLanguage(traits, index.Attested, file)
	}
	return agent, append(traits, index.Trait{
		Provenance: index.Attested, Category: identity.ProfileCapabilities, Value: made,
	})
}

// attestedWork says whose work a thing is, of what kind, and what files it consists of; the kind is
// empty for what nobody in this project has made.
func attestedWork(p *work.Project, entity work.Entity) (agent id.ID, made string, files []string) {
	switch entity.Type {
	case work.EntityChangeset:
		if c, ok := p.Changeset(entity.ID); ok && madeHere(p, c) {
			for at := range c.Ops {
				files = append(files, *c.Ops[at].Path)
			}
			return c.Author, "changesets", files
		}
	case work.EntityContribution:
		c, ok := p.Contribution(entity.ID)
		if ok && c.Status != work.RejectedStatus && c.Status != work.WithdrawnStatus {
			return c.Author, "contributions", revisionPaths(p, c)
		}
	case work.EntityArtifact:
		if a, ok := p.Artifact(entity.ID); ok && p.ArtifactOrigin(a) == nil {
			p.ArtifactFiles(a, func(file work.FileInfo) bool {
				files = append(files, file.Path)
				return true
			})
			return a.CreatedBy, "artifacts", files
		}
	}
	return id.ID{}, "", nil
}

// revisionPaths are what the current revision of a contribution changes.
func revisionPaths(p *work.Project, c *work.Contribution) []string {
	revision := p.CurrentRevision(c)
	paths := make([]string, len(revision.Files))
	for at := range revision.Files {
		paths[at] = revision.Files[at].Path
	}
	return paths
}

// followEvidence tells the index of profiles what events have shown. It reports whether that is
// anything.
func (e *Engine) followEvidence(before, next *work.Project, events []work.Event) (changed bool) {
	var published, tasks, attested shown
	for nth, event := range events {
		switch event := event.(type) {
		case *work.ChangesetPublished:
			c := next.Head()
			if c.ID != event.ID {
				c, _ = next.Changeset(event.ID)
			}
			published.add(c.Author, publishedTraits(next, c), 1, c.CreatedAt)
		case *work.TaskUpdated:
			if !updatesTask(events[:nth], event.Task) {
				tasks.byTask(before, next, event.Task)
			}
		case *work.VerificationCreated:
			record, _ := next.Verification(event.ID)
			agent, traits := attestedTraits(next, record)
			attested.add(agent, traits, 1, record.CreatedAt)
		case *work.RevisionSubmitted:
			attested.byContribution(before, event.Contribution)
		case *work.ContributionRejected:
			attested.byContribution(before, event.Contribution)
		case *work.ContributionWithdrawn:
			attested.byContribution(before, event.Contribution)
		}
	}
	changed = e.take(before, next, &published, nil)
	changed = e.take(before, next, &tasks, tallies.addTasks) || changed
	return e.take(before, next, &attested, tallies.addAttested) || changed
}

func updatesTask(events []work.Event, task id.ID) bool {
	return slices.ContainsFunc(events, func(event work.Event) bool {
		updated, ok := event.(*work.TaskUpdated)
		return ok && updated.Task == task
	})
}

// shown is what an entry shows of one kind.
type shown struct {
	// more is what comes in addition. Where again is set something has gone, and all evidence of the
	// kind is weighed again instead.
	more  []index.Evidence
	again bool
}

func (s *shown) add(agent id.ID, traits []index.Trait, count int, at int64) {
	for _, trait := range traits {
		s.more = append(s.more, index.Evidence{Agent: agent, Trait: trait, Count: count, At: at})
	}
}

// byTask is what has become of one task.
func (s *shown) byTask(before, next *work.Project, task id.ID) {
	now, _ := next.Task(task, asStored)
	agent, traits := completedTraits(now)
	var agentBefore id.ID
	var traitsBefore []index.Trait
	if was, known := before.Task(task, asStored); known {
		agentBefore, traitsBefore = completedTraits(was)
	}
	switch {
	case len(traitsBefore) == 0:
		s.add(agent, traits, 1, now.UpdatedAt)
	case agent == agentBefore && slices.Equal(traits, traitsBefore):
		s.add(agent, traits, 0, now.UpdatedAt)
	default:
		s.again = true
	}
}

// byContribution is what has become of a contribution: of one that was attested, something may have
// gone.
func (s *shown) byContribution(before *work.Project, contribution id.ID) {
	entity := work.Entity{Type: work.EntityContribution, ID: contribution}
	s.again = s.again || before.Tally(entity).Attestations > 0
}

// take brings what was shown into the index.
func (e *Engine) take(
	before, next *work.Project, s *shown, weigh func(t tallies, p *work.Project),
) (changed bool) {
	if s.again {
		was, is := tallies{}, tallies{}
		weigh(was, before)
		weigh(is, next)
		e.profiles.Remove(next.ID, was.sorted())
		e.profiles.Add(next.ID, next.Visibility == work.Public, is.sorted())
		return true
	}
	e.profiles.Add(next.ID, next.Visibility == work.Public, s.more)
	return len(s.more) > 0
}
