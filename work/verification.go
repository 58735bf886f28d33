package work

import (
	"fmt"
	"slices"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
)

// EntityType is the type of the entity that a verification record is about.
type EntityType uint8

// The entity types.
const (
	EntityProject EntityType = iota + 1
	EntityChangeset
	EntityContribution
	EntityArtifact
)

var entityTypeNames = [...]string{"", "PROJECT", "CHANGESET", "CONTRIBUTION", "ARTIFACT"}

// String is the name on the wire.
func (t EntityType) String() string { return entityTypeNames[t] }

// ParseEntityType reads the name on the wire; zero is no type.
func ParseEntityType(name string) EntityType {
	return EntityType(max(0, slices.Index(entityTypeNames[:], name)))
}

// Entity is an entity of a project that verification records are about.
type Entity struct {
	Type EntityType `cbor:"1,keyasint"`
	ID   id.ID      `cbor:"2,keyasint"`
}

func (e Entity) compare(other Entity) int {
	if e.Type != other.Type {
		return int(e.Type) - int(other.Type)
	}
	return e.ID.Compare(other.ID)
}

// entityKinds holds for each type the prefix of its IDs and the error for a missing entity.
var entityKinds = [...]struct {
	prefix  id.Prefix
	missing fault.Code
}{
	EntityProject:      {id.Project, fault.ProjectNotFound},
	EntityChangeset:    {id.Changeset, fault.ChangesetNotFound},
	EntityContribution: {id.Contribution, fault.ContributionNotFound},
	EntityArtifact:     {id.Artifact, fault.ArtifactNotFound},
}

// EntityTypeOf returns the type that the prefix of an ID names; zero for others.
func EntityTypeOf(text string) EntityType {
	for kind := EntityProject; kind <= EntityArtifact; kind++ {
		if strings.HasPrefix(text, string(kind.Prefix())) {
			return kind
		}
	}
	return 0
}

// Prefix returns the prefix of the IDs of a type.
func (t EntityType) Prefix() id.Prefix { return entityKinds[t].prefix }

// Missing is the error for an entity that does not exist or is hidden from the caller:
// PROJECT_NOT_FOUND, CHANGESET_NOT_FOUND, CONTRIBUTION_NOT_FOUND or ARTIFACT_NOT_FOUND.
func (t EntityType) Missing() error {
	return fault.New(entityKinds[t].missing, "There is no such entity, or the caller may not see it.")
}

// in reports whether the entity is the project itself, or belongs to it and is not deleted.
func (e Entity) in(p *Project) bool {
	if e.Type == EntityContribution {
		contribution, ok := p.Contribution(e.ID)
		return ok && !contribution.Deleted.Is()
	}
	return e == p.Entity() || p.Has(e.Type.Prefix(), e.ID)
}

// VerificationKind says on whose authority a record is made.
type VerificationKind uint8

// The kinds of verification records.
const (
	SelfReport VerificationKind = iota + 1
	ExternalAttestation
)

var verificationKindNames = [...]string{"", "SELF_REPORT", "EXTERNAL_ATTESTATION"}

// String is the name on the wire.
func (k VerificationKind) String() string { return verificationKindNames[k] }

// ParseVerificationKind reads the name on the wire; zero is no kind.
func ParseVerificationKind(name string) VerificationKind {
	return VerificationKind(max(0, slices.Index(verificationKindNames[:], name)))
}

// Outcome is the outcome of a verification.
type Outcome uint8

// The outcomes.
const (
	Passed Outcome = iota + 1
	Failed
	Inconclusive
)

var outcomeNames = [...]string{"", "PASSED", "FAILED", "INCONCLUSIVE"}

// String is the name on the wire.
func (o Outcome) String() string { return outcomeNames[o] }

// ParseOutcome reads the name on the wire; zero is no outcome.
func ParseOutcome(name string) Outcome {
	return Outcome(max(0, slices.Index(outcomeNames[:], name)))
}

// Finding is the content of a verification record.
type Finding struct {
	Entity   Entity           `cbor:"1,keyasint"`
	Kind     VerificationKind `cbor:"2,keyasint"`
	Outcome  Outcome          `cbor:"3,keyasint"`
	Method   string           `cbor:"4,keyasint,omitempty"`
	Summary  string           `cbor:"5,keyasint,omitempty"`
	Evidence []string         `cbor:"6,keyasint,omitempty"`
	// Source is who attests, and Reference where that can be looked up.
	Source    string `cbor:"7,keyasint,omitempty"`
	Reference string `cbor:"8,keyasint,omitempty"`
}

func (f *Finding) bytes() int {
	return len(f.Method) + len(f.Summary) + textBytes(f.Evidence) + len(f.Source) +
		len(f.Reference)
}

// Verification is a record of evidence. It proves nothing by itself, and it never changes until it
// is deleted.
type Verification struct {
	ID      id.ID   `cbor:"1,keyasint"`
	Author  id.ID   `cbor:"2,keyasint"`
	Finding Finding `cbor:"3,keyasint"`
	// CreatedAt is Unix milliseconds.
	CreatedAt int64 `cbor:"4,keyasint"`
	// Deleted is zero unless the record was deleted.
	Deleted Deletion `cbor:"30,keyasint,omitzero"`
}

// Bytes returns the size of the texts.
func (v *Verification) Bytes() int { return v.Finding.bytes() }

func (v *Verification) ident() id.ID { return v.ID }

// sound reports whether a saved record is valid.
func (v *Verification) sound() bool {
	if v == nil {
		return false
	}
	f := &v.Finding
	return f.Entity.Type >= EntityProject && f.Entity.Type <= EntityArtifact &&
		f.Kind >= SelfReport && f.Kind <= ExternalAttestation &&
		f.Outcome >= Passed && f.Outcome <= Inconclusive
}

// verifications holds all verification records of a project in the order of their IDs, and those
// that were not deleted by entity, the newest first.
type verifications struct {
	recordList[*Verification]
	about treeSet[verified]
}

// verified is a record with the evidence for its entity at the time of the record.
type verified struct {
	record *Verification
	tally  Tally
	// failed is the newest record with the outcome FAILED, nil for none.
	failed *Verification
}

var byEntity = inOrder(func(a, b verified) bool {
	if by := a.record.Finding.Entity.compare(b.record.Finding.Entity); by != 0 {
		return by < 0
	}
	return a.record.ID.Compare(b.record.ID) > 0
})

// pivot returns a search key that sorts before all records of an entity older than an ID; zero
// means any.
func pivot(entity Entity, before id.ID) verified {
	if before.IsZero() {
		before = lastID
	}
	return verified{record: &Verification{ID: before, Finding: Finding{Entity: entity}}}
}

// lastID sorts after all generated IDs.
var lastID = id.ID(slices.Repeat([]byte{0xff}, len(id.ID{})))

// of yields the records of an entity before an ID, the newest first. A zero ID yields all of them.
func (v *verifications) of(entity Entity, before id.ID, yield func(verified) bool) {
	if v.about.tree == nil {
		return
	}
	v.about.tree.Ascend(pivot(entity, before), func(one verified) bool {
		if one.record.ID == before {
			return true
		}
		return one.record.Finding.Entity == entity && yield(one)
	})
}

// newestOf returns the newest record of an entity, or the zero value.
func (v *verifications) newestOf(entity Entity) (newest verified) {
	v.of(entity, id.ID{}, func(one verified) bool { newest = one; return false })
	return newest
}

// enter adds the newest record to the index by entity.
func (v *verifications) enter(one *Verification) {
	v.about.set(v.newestOf(one.Finding.Entity).with(one), byEntity)
}

// with returns a record that follows another one of its entity, with the evidence.
func (v verified) with(next *Verification) verified {
	v.record = next
	v.tally.count(&next.Finding)
	if next.Finding.Outcome == Failed {
		v.failed = next
	}
	return v
}

// leave removes a record from the index by entity, and counts the newer ones of its entity again.
func (v *verifications) leave(one *Verification) {
	var newer []*Verification
	var last verified
	v.of(one.Finding.Entity, id.ID{}, func(other verified) bool {
		if other.record.ID.Compare(one.ID) < 0 {
			last = other
			return false
		}
		newer = append(newer, other.record)
		return true
	})
	v.about.remove(verified{record: one}, byEntity)
	for _, other := range slices.Backward(newer[:len(newer)-1]) {
		last = last.with(other)
		v.about.set(last, byEntity)
	}
}

// Verification finds a record by ID.
func (p *Project) Verification(wanted id.ID) (*Verification, bool) {
	return p.verifications.get(wanted)
}

// Verifications yields the records of a project before an ID, the newest first, without deleted
// ones. A zero ID yields all of them.
func (p *Project) Verifications(before id.ID, yield func(*Verification) bool) {
	p.verifications.newest(before, func(one *Verification) bool {
		return one.Deleted.Is() || yield(one)
	})
}

// AllVerifications yields all records of a project with the deleted ones, the oldest first.
func (p *Project) AllVerifications(yield func(*Verification) bool) {
	for nth := range p.verifications.len() {
		if !yield(p.verifications.at(nth)) {
			return
		}
	}
}

// HasVerifications reports whether the project has any record. It works on a summary too.
func (p *Project) HasVerifications() bool {
	if p.summary != nil {
		return p.summary.verified
	}
	return p.verifications.len() > 0
}

// VerificationsOf is Verifications for the records of one entity.
func (p *Project) VerificationsOf(entity Entity, before id.ID, yield func(*Verification) bool) {
	p.verifications.of(entity, before, func(one verified) bool { return yield(one.record) })
}

// Entity returns the project as the subject of records.
func (p *Project) Entity() Entity { return Entity{EntityProject, p.ID} }

// CreateVerification creates a verification record. A record on behalf of others names its
// source and a reference; the caller has checked that.
type CreateVerification struct{ Finding Finding }

// Authorize accepts every agent that may see the project, and only contributors of a PRIVATE one.
// It returns the error for a missing entity, and ROLE_REQUIRED.
func (c *CreateVerification) Authorize(p *Project, agent id.ID) error {
	return MayContribute.requireOr(p, agent, c.Finding.Entity.Type.Missing())
}

// Decide returns the error for a missing entity, PROJECT_ARCHIVED and QUOTA_EXCEEDED.
func (c *CreateVerification) Decide(p *Project, stamp Stamp) (Decision, error) {
	if !c.Finding.Entity.in(p) {
		return Decision{}, c.Finding.Entity.Type.Missing()
	}
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	if err := p.requireQuota(stamp.Agent, quotaVerifications, 1); err != nil {
		return Decision{}, err
	}
	if err := p.requireQuota(stamp.Agent, quotaTexts, c.Finding.bytes()); err != nil {
		return Decision{}, err
	}
	created := &VerificationCreated{
		ID: p.verifications.next(stamp.ID(0)), Finding: c.Finding,
	}
	return Decision{
		Events: []Event{created}, Result: Result{Created: true, Subject: created.ID},
	}, nil
}

// VerificationCreated is the event of a new verification record.
type VerificationCreated struct {
	ID      id.ID   `cbor:"1,keyasint"`
	Finding Finding `cbor:"2,keyasint"`
}

func (e *VerificationCreated) apply(p *Project, at Moment) {
	record := &Verification{ID: e.ID, Author: at.Agent, Finding: e.Finding, CreatedAt: at.Now}
	p.verifications.put(record, p.Revision+1)
	p.keepVerification(record)
}

func (p *Project) restoreVerifications(
	head *headRecord, chunk func(Chunk) ([]byte, error),
) error {
	all := &p.verifications
	err := all.restore(VerificationChunk, head.Verifications, chunk, p.keepVerification)
	if own := p.OwnTally(); err == nil && !own.agrees(head.Tally) {
		err = fmt.Errorf("project head: %v verifications; the chunks have %v", head.Tally, own)
	}
	return err
}

func (p *Project) keepVerification(record *Verification) {
	if !record.Deleted.Is() {
		p.verifications.enter(record)
	}
	p.countVerification(record, 1)
}

// countVerification counts a record, or removes it from the counts if times is -1.
func (p *Project) countVerification(record *Verification, times int) {
	p.texts += times * (record.Bytes() + len(record.Deleted.Reason))
	if !record.Deleted.frees(record.Author) {
		p.countUsage(record.Author, quotaVerifications, times)
	}
	p.countUsage(record.Author, quotaTexts, times*record.Bytes())
}
