package work

import (
	"errors"

	"pws/internal/id"
)

// Bundled is a record of a bundle. It has the IDs of the bundle.
type Bundled[T any] struct {
	Record T
	Origin Origin
}

// Origin is what a bundle says about where a record comes from. It is not verified: the author of
// the new record is the agent that imported the bundle.
type Origin struct {
	// ID and Agent belong to another project, perhaps of another service.
	ID     id.ID  `cbor:"1,keyasint,omitzero"`
	Agent  id.ID  `cbor:"2,keyasint,omitzero"`
	Handle string `cbor:"3,keyasint,omitempty"`
	// CreatedAt is Unix milliseconds.
	CreatedAt int64 `cbor:"4,keyasint"`
	// Source is the kind of request that published a changeset; zero for other records.
	Source Source `cbor:"5,keyasint,omitempty"`
}

func (o *Origin) agent() BundledAgent { return BundledAgent{Agent: o.Agent, Handle: o.Handle} }

// Imported is what a project keeps of the bundle from which it was imported: the origins of the
// imported records, in the order of the records. Later records have none.
type Imported struct {
	// Project has the ID, the owner and the time of creation of the project in the bundle.
	Project Origin `cbor:"1,keyasint"`
	// ExportedAt is Unix milliseconds.
	ExportedAt int64 `cbor:"2,keyasint"`
	// ForkedFrom and ForkedAt are the project and the changeset from which it was forked, or zero.
	ForkedFrom id.ID `cbor:"3,keyasint,omitzero"`
	ForkedAt   id.ID `cbor:"4,keyasint,omitzero"`
	// State is the origin of the imported state.
	State Origin `cbor:"5,keyasint"`
	// Whole means that the history was imported; otherwise the head represents all of it.
	Whole         bool     `cbor:"6,keyasint,omitempty"`
	Changesets    []Origin `cbor:"7,keyasint,omitempty"`
	Handoffs      []Origin `cbor:"8,keyasint,omitempty"`
	Tasks         []Origin `cbor:"9,keyasint,omitempty"`
	Verifications []Origin `cbor:"10,keyasint,omitempty"`
	Artifacts     []Origin `cbor:"11,keyasint,omitempty"`
	Discussions   []Origin `cbor:"12,keyasint,omitempty"`
	Comments      []Origin `cbor:"13,keyasint,omitempty"`

	Contributions []ContributionOrigin `cbor:"14,keyasint,omitempty"`
	// Credits and Authors are for work that was not imported: for the history if only its head was
	// imported, and for the projects from which it was forked.
	Credits []Credit        `cbor:"15,keyasint,omitempty"`
	Authors []BundledAuthor `cbor:"16,keyasint,omitempty"`

	// First is the project of the first bundle in a chain of imports; nil if this is the first.
	First     *FirstOrigin `cbor:"19,keyasint,omitempty"`
	Relations []Origin     `cbor:"17,keyasint,omitempty"`
	// Imports are those that the project of the bundle had inherited, the newest first.
	Imports []*Import `cbor:"18,keyasint,omitempty"`
	// License is the license of the project in the bundle.
	License string `cbor:"50,keyasint,omitempty"`
	// States are the origins of the imported versions of the state, the oldest first.
	States []VersionOrigin `cbor:"70,keyasint,omitempty"`
	// Origins are the origins of the project in the bundle, at most OriginsMax.
	Origins []FileOrigin `cbor:"51,keyasint,omitempty"`
}

// FirstOrigin is the project of the first bundle in a chain of imports.
type FirstOrigin struct {
	Project Origin `cbor:"1,keyasint"`
	// ForkedFrom and ForkedAt are as in Imported.
	ForkedFrom id.ID `cbor:"2,keyasint,omitzero"`
	ForkedAt   id.ID `cbor:"3,keyasint,omitzero"`
}

// Imported returns what the project keeps of its bundle; nil if it was not imported from one.
func (p *Project) Imported() *Imported { return p.bundled }

// ChangesetOrigin returns the origin of a changeset; nil if it was published here.
func (p *Project) ChangesetOrigin(c *Changeset) *Origin {
	return originAt(p.bundle().Changesets, int(c.Sequence)-1)
}

// TaskOrigin returns the origin of a task; nil if it was created here.
func (p *Project) TaskOrigin(t *Task) *Origin {
	return originIn(&p.tasks().recordList, t.ID, p.bundle().Tasks)
}

// HandoffOrigin returns the origin of a handoff; nil if it was created here.
func (p *Project) HandoffOrigin(h *Handoff) *Origin {
	nth, _ := p.findHandoff(h.ID)
	return originAt(p.bundle().Handoffs, nth)
}

// VerificationOrigin returns the origin of a verification record; nil if it was created here.
func (p *Project) VerificationOrigin(v *Verification) *Origin {
	return originIn(&p.verifications.recordList, v.ID, p.bundle().Verifications)
}

// ArtifactOrigin returns the origin of an artifact; nil if it was created here.
func (p *Project) ArtifactOrigin(a *Artifact) *Origin {
	return originIn(&p.artifacts, a.ID, p.bundle().Artifacts)
}

// RelationOrigin returns the origin of a relation; nil if it was created here.
func (p *Project) RelationOrigin(r *Relation) *Origin {
	return originIn(&p.relations, r.ID, p.bundle().Relations)
}

// DiscussionOrigin returns the origin of a discussion; nil if it was created here.
func (p *Project) DiscussionOrigin(d *Discussion) *Origin {
	return originIn(&p.discussions, d.ID, p.bundle().Discussions)
}

// CommentOrigin returns the origin of a comment; nil if it was created here.
func (p *Project) CommentOrigin(c *Comment) *Origin {
	return originIn(&p.comments.recordList, c.ID, p.bundle().Comments)
}

// ContributionOrigin returns the origin of a contribution; nil if it was submitted here.
func (p *Project) ContributionOrigin(c *Contribution) *ContributionOrigin {
	nth, _ := p.contributions.find(c.ID)
	return originAt(p.bundle().Contributions, nth)
}

// noBundle is used for a project that was not imported from a bundle.
var noBundle Imported

func (p *Project) bundle() *Imported {
	if p.bundled == nil {
		return &noBundle
	}
	return p.bundled
}

// originIn returns the origin of a record in a list.
func originIn[T listed](s *recordList[T], record id.ID, origins []Origin) *Origin {
	if len(origins) == 0 {
		return nil
	}
	nth, _ := s.find(record)
	return originAt(origins, nth)
}

func originAt[T any](origins []T, nth int) *T {
	if nth >= len(origins) {
		return nil
	}
	return &origins[nth]
}

// bundleChunks is the number of chunks with what is kept of a bundle, which never changes.
func (p *Project) bundleChunks() int {
	if p.bundled == nil {
		return 0
	}
	return 1
}

func (p *Project) restoreImported(head *headRecord, chunk func(Chunk) ([]byte, error)) error {
	if !head.Bundled {
		return nil
	}
	p.bundled = new(Imported)
	if err := readChunk(chunk, Chunk{BundleChunk, 0}, p.bundled); err != nil {
		return err
	}
	if len(p.bundled.Changesets) > p.history.len() ||
		len(p.bundled.Handoffs) > len(p.handoffs) ||
		len(p.bundled.Tasks) > p.tasks().len() || len(p.bundled.Artifacts) > p.artifacts.len() ||
		len(p.bundled.Verifications) > p.verifications.len() ||
		len(p.bundled.Discussions) > p.discussions.len() ||
		len(p.bundled.Comments) > p.comments.len() ||
		len(p.bundled.Contributions) > p.contributions.len() ||
		len(p.bundled.Relations) > p.relations.len() {
		return errors.New("project head: a bundle has origins of more records than exist")
	}
	return nil
}
