package work

import (
	"errors"
	"fmt"

	"pws/internal/fault"
	"pws/internal/id"
)

// EraseProject drops all that a removed project had. What is left is its ID, its owner, its times,
// and who removed it why. The service sends it.
type EraseProject struct{}

// Authorize accepts the service itself, for a project that is removed: PROJECT_NOT_FOUND.
func (c *EraseProject) Authorize(p *Project, agent id.ID) error {
	if p == nil || !agent.IsZero() || !p.Removed() {
		return fault.NoProject()
	}
	return nil
}

// Decide returns no errors. Erasing an erased project changes nothing.
func (c *EraseProject) Decide(p *Project, _ Stamp) (Decision, error) {
	if p.Erased() {
		return Decision{}, nil
	}
	return Decision{Events: []Event{new(ProjectErased)}}, nil
}

// Removed reports whether the project was removed: nobody can read it any more.
func (p *Project) Removed() bool {
	return p.saved.Moderation != nil && p.saved.Moderation.Removed
}

// Erased reports whether all that the removed project had was dropped.
func (p *Project) Erased() bool { return p.Removed() && p.saved.Moderation.Erased }

// ProjectErased is the event of a removed project that has lost its files, its history and all
// records. One empty changeset with the ID of the newest stays, as every project has one.
type ProjectErased struct{}

func (e *ProjectErased) apply(p *Project, _ Moment) {
	head := p.Head()
	moderation := *p.saved.Moderation
	moderation.Erased = true
	_, results := p.ResultRange()
	next := NewProject()
	next.Record = p.Record
	next.About = About{Visibility: Private, Reuse: ReferenceOnly, Status: Archived}
	next.Version++
	next.saved = savedFields{ResultsFirst: results, Moderation: &moderation}
	next.results.first, next.results.end = results, results
	next.publishEmpty(head.ID, head.CreatedAt)
	*p = *next
}

// publishEmpty makes the only changeset of a project that has lost its history.
func (p *Project) publishEmpty(changeset id.ID, createdAt int64) {
	empty := &ChangesetPublished{ID: changeset, Source: SourceProject, SourceID: p.ID}
	p.publish(empty, id.ID{}, createdAt)
}

// StandIn takes the place of a project of which nothing can be read any more, so that it can be
// removed, erased and saved. It has neither an owner nor members, and nobody can read it.
func StandIn(project id.ID, createdAt int64) *Project {
	p := NewProject()
	p.Record = Record{
		ID: project, Kind: Standard, CreatedAt: createdAt, UpdatedAt: createdAt, Version: 1,
		About:    About{Visibility: Private, Reuse: ReferenceOnly, Status: Archived},
		Revision: 1,
	}
	p.publishEmpty(project, createdAt)
	return p
}

// RestoreRemoved reads the saved head of a removed project of which contents were dropped already.
// The result has no history; it can be erased and saved.
func RestoreRemoved(head []byte) (*Project, error) {
	var record headRecord
	if err := decoding.Unmarshal(head, &record); err != nil {
		return nil, fmt.Errorf("project head: %w", err)
	}
	p := NewProject()
	p.Record = record.Record
	if record.Moderation == nil || !record.Moderation.Removed {
		return nil, errors.New("project head: the project is not removed")
	}
	p.saved = savedFields{
		ResultsFirst: max(record.ResultsEnd,
			record.ResultsFirst+uint64(len(record.Results))),
		Moderation: record.Moderation, End: record.End,
	}
	p.results.first, p.results.end = p.saved.ResultsFirst, p.saved.ResultsFirst
	p.publishEmpty(record.Head.Event.ID, record.Head.CreatedAt)
	p.saved.Fork = record.Fork
	return p, p.restoreStored(record.Stored)
}

// Contents yields the hashes of all contents that the files, workspaces, contributions and texts of
// the project name, some of them several times. For a fork, skip is asked whether the contents of
// the tree that it began with are known.
func (p *Project) Contents(skip func(root Hash) bool, yield func(Hash)) {
	for changeset := range p.AllChangesets(true) {
		if p.saved.Fork != nil && changeset.Sequence == 1 && skip(p.saved.Fork.Root) {
			continue
		}
		for i := range changeset.Ops {
			yield(changeset.Ops[i].Blob)
		}
	}
	p.LongTexts(func(_ id.Prefix, _ id.ID, text Away) bool {
		yield(text.Hash)
		return true
	})
	named := func(_ string, blob Hash, _ int) { yield(blob) }
	p.Workspaces(func(w *Workspace) bool {
		w.Contents(named)
		return true
	})
	p.Contributions(id.ID{}, func(c *Contribution) bool {
		c.Contents(named)
		for _, revision := range p.RevisionsOf(c) {
			revision.Contents(named)
		}
		return true
	})
}

// SourceOf returns the project whose contents a command copies; false if it copies none.
func SourceOf(command Command) (source id.ID, copies bool) {
	switch command := command.(type) {
	case *ForkProject:
		return command.Source, true
	case *ImportArtifact:
		if command.Source != nil {
			return command.Source.Project, true
		}
	}
	return source, false
}
