package work

import (
	"errors"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// Deletion is the mark that a deleted record leaves: who deleted it, when (Unix milliseconds), and
// why. What agents wrote is removed; IDs, author, times and values from fixed lists stay.
type Deletion struct {
	By     id.ID  `cbor:"1,keyasint"`
	At     int64  `cbor:"2,keyasint"`
	Reason string `cbor:"3,keyasint,omitempty"`
}

func deletion(at Moment, reason string) Deletion { return Deletion{at.Agent, at.Now, reason} }

// Is reports whether there was a deletion.
func (d Deletion) Is() bool { return d != Deletion{} }

// frees reports whether the record no longer counts against the quota of its author. A record that
// its author deleted still counts, so that the number of marks is limited.
func (d Deletion) frees(author id.ID) bool { return d.Is() && d.By != author }

// moderates accepts the agents that may close or delete a text: its author, maintainers and the
// owner. It returns the given error to agents that may not see the project, else ROLE_REQUIRED.
func (p *Project) moderates(author, agent id.ID, unknown error) error {
	if author == agent && !agent.IsZero() {
		return MayRead.requireOr(p, agent, unknown)
	}
	return MayModerate.requireOr(p, agent, unknown)
}

// requireDeletable checks that an agent may delete a record of an author now: PROJECT_ARCHIVED, and
// FORBIDDEN for a record of another member.
func (p *Project) requireDeletable(author, agent id.ID) error {
	if err := requireActive(p); err != nil {
		return err
	}
	if author == agent || !p.IsMember(author) {
		return nil
	}
	return fault.New(fault.Forbidden,
		"The record belongs to a member; only its author may delete it.").
		With("reason", "AUTHOR_IS_MEMBER")
}

// deleting returns the decision of a command that deletes a record. Deleting a deleted one changes
// nothing.
func (p *Project) deleting(
	author, agent id.ID, before Deletion, deleted Event, result Result,
) (Decision, error) {
	if before.Is() {
		return Decision{Result: result}, requireActive(p)
	}
	if err := p.requireDeletable(author, agent); err != nil {
		return Decision{}, err
	}
	return Decision{Events: []Event{deleted}, Result: result}, nil
}

// DeleteVerification deletes what a verification record says and leaves a mark.
type DeleteVerification struct {
	Verification id.ID
	Reason       string
}

// Authorize accepts the author, maintainers and the owner. It returns VERIFICATION_NOT_FOUND and
// ROLE_REQUIRED.
func (c *DeleteVerification) Authorize(p *Project, agent id.ID) error {
	record, err := c.record(p, agent)
	if err != nil {
		return err
	}
	return p.moderates(record.Author, agent, errVerificationNotFound())
}

func (c *DeleteVerification) record(p *Project, agent id.ID) (*Verification, error) {
	if err := readableOr(p, agent, errVerificationNotFound()); err != nil {
		return nil, err
	}
	record, ok := p.Verification(c.Verification)
	if !ok {
		return nil, errVerificationNotFound()
	}
	return record, nil
}

func errVerificationNotFound() error {
	return fault.New(fault.VerificationNotFound, "There is no such verification record.")
}

// Decide returns VERIFICATION_NOT_FOUND, PROJECT_ARCHIVED, and FORBIDDEN for a record of another
// member.
func (c *DeleteVerification) Decide(p *Project, stamp Stamp) (Decision, error) {
	record, err := c.record(p, stamp.Agent)
	if err != nil {
		return Decision{}, err
	}
	return p.deleting(record.Author, stamp.Agent, record.Deleted, &VerificationDeleted{
		Verification: record.ID, Entity: record.Finding.Entity, Author: record.Author,
		Reason: c.Reason,
	}, Result{Subject: record.ID})
}

// VerificationDeleted is the event of a verification record that was deleted.
type VerificationDeleted struct {
	Verification id.ID  `cbor:"1,keyasint"`
	Entity       Entity `cbor:"2,keyasint"`
	// Author is the author of the record.
	Author id.ID  `cbor:"3,keyasint"`
	Reason string `cbor:"4,keyasint,omitempty"`
}

func (e *VerificationDeleted) apply(p *Project, at Moment) {
	old, _ := p.Verification(e.Verification)
	next := *old
	said := &old.Finding
	next.Finding = Finding{Entity: said.Entity, Kind: said.Kind, Outcome: said.Outcome}
	next.Deleted = deletion(at, e.Reason)
	p.verifications.put(&next, p.Revision+1)
	p.verifications.leave(old)
	p.countVerification(old, -1)
	p.countVerification(&next, 1)
}

// DeleteHandoff deletes what a handoff says and leaves a mark.
type DeleteHandoff struct {
	Handoff id.ID
	Reason  string
}

// Authorize accepts the author, maintainers and the owner. It returns PROJECT_NOT_FOUND,
// HANDOFF_NOT_FOUND and ROLE_REQUIRED.
func (c *DeleteHandoff) Authorize(p *Project, agent id.ID) error {
	if err := MayRead.Require(p, agent); err != nil {
		return err
	}
	handoff, ok := p.Handoff(c.Handoff)
	if !ok {
		return errHandoffNotFound()
	}
	return p.moderates(handoff.Author, agent, fault.NoProject())
}

// Decide returns HANDOFF_NOT_FOUND, PROJECT_ARCHIVED, and FORBIDDEN for a handoff of another
// member.
func (c *DeleteHandoff) Decide(p *Project, stamp Stamp) (Decision, error) {
	handoff, ok := p.Handoff(c.Handoff)
	if !ok {
		return Decision{}, errHandoffNotFound()
	}
	return p.deleting(handoff.Author, stamp.Agent, handoff.Deleted, &HandoffDeleted{
		Handoff: handoff.ID, Author: handoff.Author, Reason: c.Reason,
	}, Result{Subject: handoff.ID})
}

// HandoffDeleted is the event of a handoff that was deleted.
type HandoffDeleted struct {
	Handoff id.ID `cbor:"1,keyasint"`
	// Author is the author of the handoff.
	Author id.ID  `cbor:"2,keyasint"`
	Reason string `cbor:"3,keyasint,omitempty"`
}

func (e *HandoffDeleted) apply(p *Project, at Moment) {
	mark := HandoffMark{e.Handoff, deletion(at, e.Reason)}
	nth, _ := p.findHandoffMark(e.Handoff)
	p.saved.HandoffMarks = slices.Insert(slices.Clone(p.saved.HandoffMarks), nth, mark)
	nth, _ = p.findHandoff(e.Handoff)
	old := p.handoffs[nth]
	next := old.deleted(mark.Deletion)
	p.handoffs = slices.Clone(p.handoffs)
	p.handoffs[nth] = next
	p.leave(old.Away)
	p.countHandoff(old, -1)
	p.countHandoff(next, 1)
}

// HandoffMark is the mark of a deleted handoff in a saved project.
type HandoffMark struct {
	Handoff  id.ID    `cbor:"1,keyasint"`
	Deletion Deletion `cbor:"2,keyasint"`
}

func (p *Project) findHandoffMark(handoff id.ID) (nth int, found bool) {
	return slices.BinarySearchFunc(p.saved.HandoffMarks, handoff,
		func(m HandoffMark, wanted id.ID) int { return m.Handoff.Compare(wanted) })
}

// checkHandoffMarks checks that the marks of a restored project are those of its handoffs.
func (p *Project) checkHandoffMarks() error {
	marked := 0
	for _, handoff := range p.handoffs {
		if handoff.Deleted.Is() {
			marked++
		}
	}
	if marked != len(p.saved.HandoffMarks) {
		return errors.New("project head: marks of handoffs that are none, or out of order")
	}
	return nil
}

// deleted returns the mark that a handoff leaves.
func (h *Handoff) deleted(mark Deletion) *Handoff {
	next := *h
	next.Continuation, next.ChangedFiles, next.Away = Continuation{}, nil, nil
	next.Deleted = mark
	return &next
}
