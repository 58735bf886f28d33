package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// RelationType is the type of a relation between projects.
type RelationType uint8

// The relation types, each read from the project that records it to the one that it names.
const (
	DerivedFrom RelationType = iota + 1
	DependsOn
	Supersedes
	Duplicates
	RelatedTo
)

var relationTypeNames = [...]string{
	"", "DERIVED_FROM", "DEPENDS_ON", "SUPERSEDES", "DUPLICATES", "RELATED_TO",
}

// String is the name on the wire.
func (t RelationType) String() string { return relationTypeNames[t] }

// ParseRelationType reads the name on the wire; zero is no type.
func ParseRelationType(name string) RelationType {
	return RelationType(max(0, slices.Index(relationTypeNames[:], name)))
}

// Relation is a statement of a project about its relation to another one. It is stored with the
// project that records it, and stays when the other is changed or hidden.
type Relation struct {
	ID     id.ID        `cbor:"1,keyasint"`
	Type   RelationType `cbor:"2,keyasint"`
	Target id.ID        `cbor:"3,keyasint"`
	Note   string       `cbor:"4,keyasint,omitempty"`
	// CreatedBy is the agent that recorded it.
	CreatedBy id.ID `cbor:"5,keyasint"`
	// CreatedAt is Unix milliseconds.
	CreatedAt int64 `cbor:"6,keyasint"`
}

func (r *Relation) ident() id.ID { return r.ID }

// sound reports whether a saved relation is valid.
func (r *Relation) sound() bool {
	return r != nil && r.Type >= DerivedFrom && r.Type <= RelatedTo && !r.Target.IsZero()
}

// Relation finds a relation by ID.
func (p *Project) Relation(wanted id.ID) (*Relation, bool) { return p.relations.get(wanted) }

// Relations yields the relations before an ID, the newest first. A zero ID yields all of them.
func (p *Project) Relations(before id.ID, yield func(*Relation) bool) {
	p.relations.newest(before, yield)
}

// CreateRelation records a relation of a project to another one. The caller has checked that the
// other one is visible.
type CreateRelation struct {
	Type   RelationType
	Target id.ID
	Note   string
}

// Authorize accepts maintainers and owners.
func (c *CreateRelation) Authorize(p *Project, agent id.ID) error {
	return MayWriteFiles.Require(p, agent)
}

// Decide returns PROJECT_ARCHIVED, QUOTA_EXCEEDED, and VALIDATION_FAILED for a relation of a
// project to itself.
func (c *CreateRelation) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	if c.Target == p.ID {
		return Decision{}, fault.Invalid(fault.Field{
			Field: "target_project_id", Problem: "must be another project",
		})
	}
	if p.relations.len() >= RelationsMax {
		return Decision{}, errQuota("relations", RelationsMax)
	}
	created := &RelationCreated{
		ID: p.relations.next(stamp.ID(0)), Type: c.Type, Target: c.Target, Note: c.Note,
	}
	return Decision{
		Events: []Event{created}, Result: Result{Created: true, Subject: created.ID},
	}, nil
}

// RelationCreated is the event of a new relation.
type RelationCreated struct {
	ID     id.ID        `cbor:"1,keyasint"`
	Type   RelationType `cbor:"2,keyasint"`
	Target id.ID        `cbor:"3,keyasint"`
	Note   string       `cbor:"4,keyasint,omitempty"`
}

func (e *RelationCreated) apply(p *Project, at Moment) {
	p.relations.put(&Relation{
		ID: e.ID, Type: e.Type, Target: e.Target, Note: e.Note, CreatedBy: at.Agent,
		CreatedAt: at.Now,
	}, p.Revision+1)
}
