package index

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"pws/identity"
	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// EvidenceOf returns all the evidence in a project for the profiles of agents, sorted. It counts
// only while the project is PUBLIC.
func EvidenceOf(p *work.Project) []Evidence {
	found := tallies{}
	for c := range p.AllChangesets(true) {
		found.add(c.Author, publishedTraits(p, c), c.CreatedAt)
	}
	found.addTasks(p)
	found.addAttested(p)
	return found.sorted()
}

// tallies counts evidence by agent and trait.
type tallies map[tallyKey]*Evidence

type tallyKey struct {
	agent id.ID
	trait Trait
}

func (t tallies) add(agent id.ID, traits []Trait, at int64) {
	for _, trait := range traits {
		one := t[tallyKey{agent, trait}]
		if one == nil {
			one = &Evidence{Agent: agent, Trait: trait}
			t[tallyKey{agent, trait}] = one
		}
		one.Count++
		one.At = max(one.At, at)
	}
}

func (t tallies) addTasks(p *work.Project) {
	p.Tasks(id.ID{}, work.AsStored, func(task *work.Task) bool {
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

func (t tallies) sorted() []Evidence {
	all := make([]Evidence, 0, len(t))
	for _, one := range t {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Evidence) int { return a.Compare(&b) })
	return all
}

// madeHere reports whether a changeset was written in this project by its author. The initial
// content of a fork and imported changesets are the work of others.
func madeHere(p *work.Project, c *work.Changeset) bool {
	return c.Source != work.SourceFork && c.Source != work.SourceImport &&
		p.ChangesetOrigin(c) == nil
}

// publishedTraits returns the languages of the files that a changeset writes.
func publishedTraits(p *work.Project, c *work.Changeset) (traits []Trait) {
	if !madeHere(p, c) {
		return nil
	}
	for i := range c.Ops {
		if op := &c.Ops[i]; op.Action != work.Delete {
			traits = withLanguage(traits, Observed, *op.Path)
		}
	}
	return traits
}

// withLanguage adds the language of a file unless it is already there.
func withLanguage(
	traits []Trait, provenance Provenance, file string,
) []Trait {
	language := work.LanguageOf(file)
	if language == "" {
		return traits
	}
	for i := range traits {
		if traits[i].Value == language {
			return traits
		}
	}
	return append(traits, Trait{
		Provenance: provenance, Category: identity.ProfileLanguages, Value: language,
	})
}

// completedTraits returns the traits of a DONE task and the agent that claimed it last.
func completedTraits(t *work.Task) (agent id.ID, traits []Trait) {
	if t.Status != work.TaskDone || len(t.Holders) == 0 {
		return id.ID{}, nil
	}
	add := func(category identity.ProfileCategory, value string) {
		trait := Trait{
			Provenance: Observed, Category: category,
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

// attestedTraits returns what a verification attests about the agent whose work it is about: the
// kind of work and its languages. A verification by the agent itself attests nothing.
func attestedTraits(
	p *work.Project, record *work.Verification,
) (agent id.ID, traits []Trait) {
	if finding := &record.Finding; finding.Kind != work.ExternalAttestation ||
		finding.Outcome != work.Passed {
		return id.ID{}, nil
	}
	agent, made, files := attestedWork(p, record.Finding.Entity)
	if made == "" || agent == record.Author {
		return id.ID{}, nil
	}
	for _, file := range files {
		traits = withLanguage(traits, Attested, file)
	}
	return agent, append(traits, Trait{
		Provenance: Attested, Category: identity.ProfileCapabilities, Value: made,
	})
}

// attestedWork returns the agent that made an entity, its kind and its files. The kind is empty if
// the entity was not made in this project.
func attestedWork(p *work.Project, entity work.Entity) (agent id.ID, made string, files []string) {
	switch entity.Type {
	case work.EntityChangeset:
		if c, ok := p.Changeset(entity.ID); ok && madeHere(p, c) {
			for i := range c.Ops {
				files = append(files, *c.Ops[i].Path)
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

// revisionPaths returns the paths that the current revision of a contribution changes.
func revisionPaths(p *work.Project, c *work.Contribution) []string {
	revision := p.CurrentRevision(c)
	paths := make([]string, len(revision.Files))
	for i := range revision.Files {
		paths[i] = revision.Files[i].Path
	}
	return paths
}

// Kinds implements Projection.
func (p *Profiles) Kinds() []work.Kind {
	return kindsOf(
		new(work.ProjectCreated), new(work.ProjectForked), new(work.ProjectImported),
		new(work.ProjectUpdated), new(work.ChangesetPublished), new(work.TaskUpdated),
		new(work.VerificationCreated), new(work.RevisionSubmitted),
		new(work.ContributionAccepted), new(work.ContributionRejected),
		new(work.ContributionWithdrawn), new(work.ContributionDeleted),
		new(work.VerificationDeleted), new(work.ProjectDeleted), new(work.ProjectRestored),
	)
}

// Update implements Projection. Most events only add evidence. If an event removes evidence, all
// evidence of its kind is computed again from the state.
func (p *Profiles) Update(before, next *work.Project, events []work.Event) {
	if before == nil {
		p.Add(next.ID, next.Visibility == work.Public, EvidenceOf(next))
		return
	}
	if before.Visibility != next.Visibility {
		p.SetPublic(next.ID, next.Visibility == work.Public)
	}
	var published, tasks, attested evidenceChange
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
				tasks.addTask(before, next, event.Task)
			}
		case *work.VerificationCreated:
			record, _ := next.Verification(event.ID)
			agent, traits := attestedTraits(next, record)
			attested.add(agent, traits, 1, record.CreatedAt)
		case *work.RevisionSubmitted:
			attested.addContribution(before, event.Contribution)
		case *work.ContributionRejected:
			attested.addContribution(before, event.Contribution)
		case *work.ContributionWithdrawn:
			attested.addContribution(before, event.Contribution)
		case *work.ContributionDeleted:
			attested.addContribution(before, event.Contribution)
		case *work.VerificationDeleted:
			attested.removeRecord(before, event.Verification)
		}
	}
	p.apply(before, next, &published, nil)
	p.apply(before, next, &tasks, tallies.addTasks)
	p.apply(before, next, &attested, tallies.addAttested)
}

func updatesTask(events []work.Event, task id.ID) bool {
	return slices.ContainsFunc(events, func(event work.Event) bool {
		updated, ok := event.(*work.TaskUpdated)
		return ok && updated.Task == task
	})
}

// evidenceChange is the change in one kind of evidence by one entry.
type evidenceChange struct {
	// added is the added evidence. If recompute is set, evidence was removed, and all evidence of the
	// kind is computed again instead.
	added     []Evidence
	recompute bool
}

func (s *evidenceChange) add(agent id.ID, traits []Trait, count int, at int64) {
	for _, trait := range traits {
		s.added = append(s.added, Evidence{Agent: agent, Trait: trait, Count: count, At: at})
	}
}

// addTask records the change of one task.
func (s *evidenceChange) addTask(before, next *work.Project, task id.ID) {
	now, _ := next.Task(task, work.AsStored)
	agent, traits := completedTraits(now)
	var agentBefore id.ID
	var traitsBefore []Trait
	if was, known := before.Task(task, work.AsStored); known {
		agentBefore, traitsBefore = completedTraits(was)
	}
	switch {
	case len(traitsBefore) == 0:
		s.add(agent, traits, 1, now.UpdatedAt)
	case agent == agentBefore && slices.Equal(traits, traitsBefore):
		s.add(agent, traits, 0, now.UpdatedAt)
	default:
		s.recompute = true
	}
}

// addContribution records the change of a contribution. Evidence may be lost if it was attested.
func (s *evidenceChange) addContribution(before *work.Project, contribution id.ID) {
	entity := work.Entity{Type: work.EntityContribution, ID: contribution}
	s.recompute = s.recompute || before.Tally(entity).Attestations > 0
}

// removeRecord records the deletion of a verification record.
func (s *evidenceChange) removeRecord(before *work.Project, record id.ID) {
	one, known := before.Verification(record)
	if !known {
		// It was created by the same entry, so its evidence was only just added.
		s.recompute = true
		return
	}
	_, traits := attestedTraits(before, one)
	s.recompute = s.recompute || len(traits) > 0
}

// apply applies the change to the profiles.
func (p *Profiles) apply(
	before, next *work.Project, s *evidenceChange, count func(t tallies, p *work.Project),
) {
	if !s.recompute {
		p.Add(next.ID, next.Visibility == work.Public, s.added)
		return
	}
	was, is := tallies{}, tallies{}
	count(was, before)
	count(is, next)
	p.Remove(next.ID, was.sorted())
	p.Add(next.ID, next.Visibility == work.Public, is.sorted())
}

// Append implements Projection:
//
//	evidence  until the end, each: 16 bytes agent, 1 byte provenance, 1 byte category, value:
//	          uvarint length and bytes, uvarint count, uvarint Unix milliseconds
func (p *Profiles) Append(out []byte, of *work.Project) []byte {
	return appendEvidence(out, EvidenceOf(of))
}

func appendEvidence(out []byte, all []Evidence) []byte {
	for i := range all {
		one := &all[i]
		out = append(out, one.Agent[:]...)
		out = append(out, byte(one.Trait.Provenance), byte(one.Trait.Category))
		out = appendText(out, one.Trait.Value)
		out = binary.AppendUvarint(out, uint64(one.Count))
		out = binary.AppendUvarint(out, uint64(one.At))
	}
	return out
}

// Restore implements Projection.
func (p *Profiles) Restore(c *Card, part *disk.Reader) error {
	var all []Evidence
	for part.Len() > 0 {
		one := Evidence{Agent: id.ID(part.Fixed(16))}
		one.Trait.Provenance = Provenance(part.Byte())
		one.Trait.Category = identity.ProfileCategory(part.Byte())
		one.Trait.Value = part.Text()
		one.Count, one.At = int(part.Uvarint()), int64(part.Uvarint())
		if one.Trait.Category >= identity.ProfileCategories {
			return errors.New("evidence of an unknown category")
		}
		all = append(all, one)
	}
	if part.Failed() {
		return errPart
	}
	p.Add(c.Project, c.Visibility == work.Public, all)
	return nil
}
