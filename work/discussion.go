package work

import (
	"fmt"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// MatterType is the type of the entity that a discussion is about.
type MatterType uint8

// The types of matters. A file is named by its path, everything else by its ID.
const (
	MatterProject MatterType = iota + 1
	MatterTask
	MatterChangeset
	MatterContribution
	MatterArtifact
	MatterHandoff
	MatterFile
)

var matterTypeNames = [...]string{
	"", "PROJECT", "TASK", "CHANGESET", "CONTRIBUTION", "ARTIFACT", "HANDOFF", "FILE",
}

// String is the name on the wire.
func (t MatterType) String() string { return matterTypeNames[t] }

// ParseMatterType reads the name on the wire; zero is no type.
func ParseMatterType(name string) MatterType {
	return MatterType(max(0, slices.Index(matterTypeNames[:], name)))
}

// matterKinds holds for each type the prefix of its IDs and the error for a missing entity.
var matterKinds = [...]struct {
	prefix  id.Prefix
	missing fault.Code
}{
	MatterProject:      {id.Project, fault.ProjectNotFound},
	MatterTask:         {id.Task, fault.TaskNotFound},
	MatterChangeset:    {id.Changeset, fault.ChangesetNotFound},
	MatterContribution: {id.Contribution, fault.ContributionNotFound},
	MatterArtifact:     {id.Artifact, fault.ArtifactNotFound},
	MatterHandoff:      {id.Handoff, fault.HandoffNotFound},
	MatterFile:         {"", fault.FileNotFound},
}

// Prefix returns the prefix of the IDs of a type; empty for files.
func (t MatterType) Prefix() id.Prefix { return matterKinds[t].prefix }

// Matter is the subject of a discussion. The zero matter is the whole project.
type Matter struct {
	Type MatterType `cbor:"1,keyasint,omitempty"`
	ID   id.ID      `cbor:"2,keyasint,omitzero"`
	// Path is the path of a file.
	Path string `cbor:"3,keyasint,omitempty"`
}

// sound reports whether a matter is empty or valid.
func (m *Matter) sound() bool {
	return m.Type <= MatterFile && (m.Type == MatterFile) == (m.Path != "")
}

// In reports whether the entity is in the project, or is the project. A file must exist at the
// head; a record must not be deleted.
func (m *Matter) In(p *Project) (has bool) {
	switch m.Type {
	case 0:
		return true
	case MatterProject:
		return m.ID == p.ID
	case MatterHandoff:
		handoff, ok := p.Handoff(m.ID)
		return ok && !handoff.Deleted.Is()
	case MatterContribution:
		contribution, ok := p.Contribution(m.ID)
		return ok && !contribution.Deleted.Is()
	case MatterFile:
		_, has = p.File(m.Path)
		return has
	}
	return p.Has(m.Type.Prefix(), m.ID)
}

func (m *Matter) errMissing() error {
	return fault.New(matterKinds[m.Type].missing,
		"The project has no such entity to discuss.")
}

// Discussion is a discussion about a project or about an entity in it. Its text never changes
// until it is deleted; its comments are stored separately.
type Discussion struct {
	ID      id.ID  `cbor:"1,keyasint"`
	Author  id.ID  `cbor:"2,keyasint"`
	Title   string `cbor:"3,keyasint"`
	Body    string `cbor:"4,keyasint,omitempty"`
	Subject Matter `cbor:"5,keyasint,omitzero"`
	// Mentions are the agents that the body names, in the order of the body.
	Mentions []id.ID `cbor:"6,keyasint,omitempty"`
	// CreatedAt is Unix milliseconds.
	CreatedAt int64 `cbor:"7,keyasint"`
	// Away has a long body, nil if it is here.
	Away *Away `cbor:"8,keyasint,omitempty"`

	Status DiscussionStatus `cbor:"30,keyasint,omitempty"`
	// ChangedBy is the agent that last set the status, and ChangedAt the time in Unix milliseconds;
	// both are zero if the status was never set.
	ChangedBy id.ID `cbor:"31,keyasint,omitzero"`
	ChangedAt int64 `cbor:"32,keyasint,omitempty"`
	// Deleted is zero unless the discussion was deleted.
	Deleted Deletion `cbor:"33,keyasint,omitzero"`
}

// Bytes returns the size of the texts.
func (d *Discussion) Bytes() int {
	return len(d.Title) + len(d.Body) + d.Away.bytes() + len(d.Subject.Path)
}

func (d *Discussion) ident() id.ID { return d.ID }

// sound reports whether a saved discussion is valid.
func (d *Discussion) sound() bool {
	return d != nil && d.Away.sound() && d.Subject.sound() && len(d.Mentions) <= MentionsMax &&
		d.Status <= DiscussionLocked
}

// Discussion finds a discussion by ID.
func (p *Project) Discussion(wanted id.ID) (*Discussion, bool) { return p.discussions.get(wanted) }

// Discussions yields the discussions before an ID, the newest first. A zero ID yields all of them.
func (p *Project) Discussions(before id.ID, yield func(*Discussion) bool) {
	p.discussions.newest(before, yield)
}

// CreateDiscussion opens a discussion.
type CreateDiscussion struct {
	Title   string
	Body    string
	Subject Matter
	// Mentions are the agents that the body names.
	Mentions []id.ID
}

// Authorize accepts every agent that may see the project, and only contributors of a PRIVATE one.
func (c *CreateDiscussion) Authorize(p *Project, agent id.ID) error {
	return MayContribute.Require(p, agent)
}

// Decide returns PROJECT_ARCHIVED, QUOTA_EXCEEDED, and where the project has no such subject with
// TASK_NOT_FOUND, CHANGESET_NOT_FOUND, CONTRIBUTION_NOT_FOUND, ARTIFACT_NOT_FOUND,
// HANDOFF_NOT_FOUND, FILE_NOT_FOUND or PROJECT_NOT_FOUND.
func (c *CreateDiscussion) Decide(p *Project, stamp Stamp) (Decision, error) {
	if !c.Subject.In(p) {
		return Decision{}, c.Subject.errMissing()
	}
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	if err := p.requireQuota(stamp.Agent, quotaDiscussions, 1); err != nil {
		return Decision{}, err
	}
	created := &DiscussionCreated{
		ID: p.discussions.next(stamp.ID(0)), Title: c.Title, Body: c.Body, Subject: c.Subject,
		Mentions: p.mentioned(c.Mentions),
	}
	bytes := created.discussion(Moment{}).Bytes()
	if err := p.requireQuota(stamp.Agent, quotaTexts, bytes); err != nil {
		return Decision{}, err
	}
	return Decision{
		Events: []Event{created}, Result: Result{Created: true, Subject: created.ID},
	}, nil
}

// DiscussionCreated is the event of a new discussion.
type DiscussionCreated struct {
	ID       id.ID   `cbor:"1,keyasint"`
	Title    string  `cbor:"2,keyasint"`
	Body     string  `cbor:"3,keyasint,omitempty"`
	Subject  Matter  `cbor:"4,keyasint,omitzero"`
	Mentions []id.ID `cbor:"5,keyasint,omitempty"`
	// Away has a long body, nil if it is here.
	Away *Away `cbor:"6,keyasint,omitempty"`
}

func (e *DiscussionCreated) discussion(at Moment) *Discussion {
	return &Discussion{
		ID: e.ID, Author: at.Agent, Title: e.Title, Body: e.Body, Subject: e.Subject,
		Mentions: e.Mentions, Away: e.Away, CreatedAt: at.Now,
	}
}

func (e *DiscussionCreated) apply(p *Project, at Moment) {
	p.addDiscussion(e.discussion(at))
}

// addDiscussion stores a new discussion, or another version of one.
func (p *Project) addDiscussion(d *Discussion) {
	if old, existed := p.discussions.put(d, p.Revision+1); existed {
		p.countDiscussion(old, -1)
	}
	p.keepDiscussion(d)
}

func (p *Project) keepDiscussion(d *Discussion) { p.countDiscussion(d, 1) }

// countDiscussion counts one, or takes it back where times is -1.
func (p *Project) countDiscussion(d *Discussion, times int) {
	if !d.Deleted.Is() {
		p.countUsage(d.Author, quotaDiscussions, times)
	}
	p.countUsage(d.Author, quotaTexts, times*d.Bytes())
	p.texts += times * (d.Bytes() + len(d.Deleted.Reason))
	p.awayBytes += times * d.Away.bytes()
}

// restoreDiscussions reads discussions, then the comments on them.
func (p *Project) restoreDiscussions(
	head *headRecord, chunk func(Chunk) ([]byte, error),
) error {
	err := p.discussions.restore(DiscussionChunk, head.Discussions, chunk, p.keepDiscussion)
	if err != nil {
		return err
	}
	err = p.comments.restore(CommentChunk, head.Comments, chunk, p.keepComment)
	if err != nil {
		return err
	}
	for nth := range p.comments.len() {
		if c := p.comments.at(nth); !p.fits(c) {
			return fmt.Errorf("chunks %c: comment %s belongs to no discussion, or answers no "+
				"comment of it", CommentChunk, c.ID.Format(id.Comment))
		}
	}
	return nil
}
