package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// ContributionStatus is the status of a contribution.
type ContributionStatus uint8

// The statuses of a contribution. The last three are final.
const (
	SubmittedStatus ContributionStatus = iota + 1
	ChangesRequestedStatus
	ApprovedStatus
	ConflictStatus
	AcceptedStatus
	RejectedStatus
	WithdrawnStatus
)

var contributionStatusNames = [...]string{
	"", "SUBMITTED", "CHANGES_REQUESTED", "APPROVED", "CONFLICT", "ACCEPTED", "REJECTED",
	"WITHDRAWN",
}

// String is the name on the wire.
func (s ContributionStatus) String() string { return contributionStatusNames[s] }

// ParseContributionStatus reads the name on the wire; zero is no status.
func ParseContributionStatus(name string) ContributionStatus {
	return ContributionStatus(max(0, slices.Index(contributionStatusNames[:], name)))
}

// Final reports whether a contribution of this status has been decided.
func (s ContributionStatus) Final() bool { return s >= AcceptedStatus }

// Contribution is a workspace that its author has submitted for acceptance, with all its
// revisions.
type Contribution struct {
	ID id.ID `cbor:"1,keyasint"`
	// Workspace is zero for a contribution from a bundle.
	Workspace id.ID              `cbor:"2,keyasint"`
	Author    id.ID              `cbor:"3,keyasint"`
	Status    ContributionStatus `cbor:"4,keyasint"`
	// Revisions are in order, the current one last.
	Revisions []id.ID `cbor:"5,keyasint"`
	// Reviews are in order.
	Reviews []*Review `cbor:"6,keyasint,omitempty"`
	// Conflicts are the conflicts that the last attempt to accept it found.
	Conflicts []Conflict `cbor:"7,keyasint,omitempty"`
	// Changeset is the resulting changeset, zero until the contribution is accepted.
	Changeset id.ID `cbor:"8,keyasint,omitzero"`
	// DecidedBy, DecidedAt (Unix milliseconds) and Note are empty until the contribution is
	// decided.
	DecidedBy id.ID  `cbor:"9,keyasint,omitzero"`
	DecidedAt int64  `cbor:"10,keyasint,omitempty"`
	Note      string `cbor:"11,keyasint,omitempty"`
	// CreatedAt and UpdatedAt are Unix milliseconds.
	CreatedAt int64 `cbor:"12,keyasint"`
	UpdatedAt int64 `cbor:"13,keyasint"`
	// Version counts changes.
	Version uint64 `cbor:"14,keyasint"`
	// Deleted is zero unless the contribution was deleted.
	Deleted Deletion `cbor:"30,keyasint,omitzero"`
}

func (c *Contribution) ident() id.ID { return c.ID }

// sound reports whether a saved contribution is valid.
func (c *Contribution) sound() bool {
	return c != nil && c.Status >= SubmittedStatus && c.Status <= WithdrawnStatus &&
		len(c.Revisions) > 0 &&
		!slices.ContainsFunc(c.Reviews, func(r *Review) bool { return !r.sound() }) &&
		!slices.ContainsFunc(c.Conflicts, func(c Conflict) bool {
			return c.Kind < ContentConflict || c.Kind > AddedByBoth
		})
}

// Current is the newest revision.
func (c *Contribution) Current() id.ID { return c.Revisions[len(c.Revisions)-1] }

// Bytes returns the size of the texts of its reviews and of its decision, with the reasons of
// deletions.
func (c *Contribution) Bytes() int {
	bytes := len(c.Note) + len(c.Deleted.Reason)
	for _, review := range c.Reviews {
		bytes += review.bytes() + len(review.Deleted.Reason)
	}
	return bytes
}

// Contents yields the marked texts of its conflicts, with their sizes.
func (c *Contribution) Contents(yield func(path string, blob Hash, size int)) {
	(&Workspace{Conflicts: c.Conflicts}).Contents(yield)
}

// Contribution finds a contribution by ID.
func (p *Project) Contribution(wanted id.ID) (*Contribution, bool) {
	return p.contributions.get(wanted)
}

// Contributions yields the contributions before an ID, the newest first. A zero ID yields all of
// them.
func (p *Project) Contributions(before id.ID, yield func(*Contribution) bool) {
	p.contributions.newest(before, yield)
}

// AwaitsDecision reports whether a maintainer is asked to decide on the contribution. Others
// without a decision wait for their author.
func (c *Contribution) AwaitsDecision() bool {
	return c.Status == SubmittedStatus || c.Status == ApprovedStatus
}

// PendingContributions returns the number of contributions without a decision.
func (p *Project) PendingContributions() int { return p.saved.Pending }

// putContribution stores a new contribution, or a new version of one.
func (p *Project) putContribution(next *Contribution) {
	old, existed := p.contributions.put(next, p.Revision+1)
	if existed {
		p.countContribution(old, -1)
	}
	p.countContribution(next, 1)
}

// countContribution counts a contribution, or removes it from the counts if times is -1.
func (p *Project) countContribution(one *Contribution, times int) {
	p.texts += times * one.Bytes()
	if !one.Status.Final() {
		p.saved.Pending += times
	}
	if !one.Deleted.frees(one.Author) {
		p.countUsage(one.Author, quotaContributions, times)
		if one.Status != AcceptedStatus {
			p.countUsage(one.Author, quotaUndecided, times)
		}
	}
	for _, review := range one.Reviews {
		p.countUsage(review.Author, quotaTexts, times*review.bytes())
	}
	for _, named := range one.Revisions {
		revision, _ := p.revisions.get(named)
		p.countUsage(one.Author, quotaFiles, times*len(revision.Files))
		p.countUsage(one.Author, quotaTexts, times*len(revision.Summary))
	}
}

// changeContribution stores a new version of the contribution that an event names.
func (p *Project) changeContribution(
	named id.ID, at Moment, change func(next *Contribution),
) {
	old, _ := p.Contribution(named)
	next := *old
	next.Version++
	next.UpdatedAt = max(next.UpdatedAt, at.Now)
	change(&next)
	p.putContribution(&next)
}

// decide records the final decision on a contribution.
func (c *Contribution) decide(status ContributionStatus, note string, at Moment) {
	c.Status, c.Note, c.DecidedBy, c.DecidedAt = status, note, at.Agent, at.Now
	c.Conflicts = nil
}

// freeWorkspace returns the workspace of a contribution to its author, unless it has ended.
func (p *Project) freeWorkspace(of *Contribution, at Moment) {
	if w, ok := p.Workspace(of.Workspace); !ok || w.Status.Final() {
		return
	}
	p.changeWorkspace(of.Workspace, at, func(next *Workspace) {
		next.Status, next.Contribution = WorkspaceOpen, id.ID{}
	})
}

// setWorkspace changes the status of a contribution's workspace, unless the workspace has ended
// or there is none. The workspace of a rejected or withdrawn contribution keeps its files, unlike
// one that was closed or has expired: its author reads them to start over in another workspace,
// and a revision is readable only as a diff.
func (p *Project) setWorkspace(of *Contribution, status WorkspaceStatus, at Moment) {
	if w, ok := p.Workspace(of.Workspace); ok && !w.Status.Final() {
		p.changeWorkspace(of.Workspace, at, func(next *Workspace) { next.Status = status })
	}
}

// contributionFor finds a contribution in a project that the caller can read:
// CONTRIBUTION_NOT_FOUND.
func contributionFor(p *Project, wanted, agent id.ID) (*Contribution, error) {
	if err := readableOr(p, agent, errContributionNotFound()); err != nil {
		return nil, err
	}
	c, ok := p.Contribution(wanted)
	if !ok {
		return nil, errContributionNotFound()
	}
	return c, nil
}

func errContributionNotFound() error {
	return fault.New(fault.ContributionNotFound, "There is no such contribution.")
}

// requireUndecided returns a contribution that can be reviewed and decided now:
// PROJECT_ARCHIVED, CONTRIBUTION_CLOSED.
func requireUndecided(p *Project, wanted id.ID) (*Contribution, error) {
	if err := requireActive(p); err != nil {
		return nil, err
	}
	c, ok := p.Contribution(wanted)
	if !ok {
		return nil, errContributionNotFound()
	}
	if c.Status.Final() {
		return nil, fault.New(fault.ContributionClosed, "The contribution has been decided.").
			With("status", c.Status.String())
	}
	return c, nil
}

// requireUndecidedRevision is requireUndecided with the current revision, which must be the one
// that the caller has read: REVISION_NOT_FOUND, REVISION_SUPERSEDED.
func requireUndecidedRevision(
	p *Project, wanted, seen id.ID,
) (*Contribution, *Revision, error) {
	c, err := requireUndecided(p, wanted)
	if err != nil {
		return nil, nil, err
	}
	revision, err := p.requireCurrent(c, seen)
	return c, revision, err
}

// ContributionSubmitted is the event of a workspace that was submitted for the first time.
type ContributionSubmitted struct {
	ID        id.ID  `cbor:"1,keyasint"`
	Workspace id.ID  `cbor:"2,keyasint"`
	Revision  id.ID  `cbor:"3,keyasint"`
	Summary   string `cbor:"4,keyasint"`
	// Deciders are the agents that are notified to decide.
	Deciders []id.ID `cbor:"5,keyasint,omitempty"`
}

func (e *ContributionSubmitted) apply(p *Project, at Moment) {
	made := &Contribution{
		ID: e.ID, Workspace: e.Workspace, Author: at.Agent, CreatedAt: at.Now, UpdatedAt: at.Now,
		Version: 1,
	}
	p.addRevision(made, e.Revision, e.Summary, at)
	p.putContribution(made)
}

// AcceptContribution publishes the current revision of a contribution.
type AcceptContribution struct {
	Contribution id.ID
	Revision     id.ID
	// Message is the message of the changeset; if empty, the summary of the revision is used.
	Message string
	// Plan merges the revision with the head; nil if the head is its base.
	Plan *MergePlan
}

// Authorize accepts maintainers and owners.
func (c *AcceptContribution) Authorize(p *Project, agent id.ID) error {
	if _, err := contributionFor(p, c.Contribution, agent); err != nil {
		return err
	}
	return MayWriteFiles.Require(p, agent)
}

// Decide returns PROJECT_ARCHIVED, CONTRIBUTION_CLOSED, REVISION_NOT_FOUND, REVISION_SUPERSEDED,
// TURN_HELD, NOTHING_TO_SUBMIT, FILE_LIMIT_REACHED, and an error that is Stale if another plan is
// needed. It also returns CONTRIBUTION_CONFLICT, with an event that records the conflicts. A
// workspace that was changed since is moved onto the changeset where that needs no merge.
func (c *AcceptContribution) Decide(p *Project, stamp Stamp) (Decision, error) {
	contribution, revision, err := requireUndecidedRevision(p, c.Contribution, c.Revision)
	if err != nil {
		return Decision{}, err
	}
	if err := p.requireNoTurnOfOthers(stamp); err != nil {
		return Decision{}, err
	}
	on, files := revision.workspace(), revision.Files
	if p.Head().ID != on.Base && c.Plan.fits(p, on) {
		if files = c.Plan.files; len(c.Plan.conflicts) > 0 {
			return p.conflicted(contribution, c.Plan, stamp.Now), nil
		}
	}
	published, blobs, err := p.decidePublication(on, c.Plan)
	if fault.CodeOf(err) == fault.NothingToSubmit {
		err = fault.New(fault.NothingToSubmit,
			"The project already contains all changes of the contribution.").
			With("contribution_id", contribution.ID.Format(id.Contribution))
	}
	if err != nil {
		return Decision{}, err
	}
	published.ID = p.nextChangesetID(stamp.ID(0))
	published.Message = c.Message
	if c.Message == "" {
		published.Message = revision.Summary
	}
	published.Source, published.SourceID = SourceContribution, contribution.ID
	if contribution.Author != stamp.Agent {
		published.Author = contribution.Author
	}
	decision := Decision{
		Events: []Event{published}, Blobs: blobs,
		Result: Result{Changeset: published.ID, Subject: contribution.ID},
	}
	accepted := &ContributionAccepted{
		Contribution: contribution.ID, Changeset: published.ID, Note: c.Message,
		Author: contribution.Author,
	}
	w, ok := p.WorkspaceAt(contribution.Workspace, stamp.Now)
	if ok && p.isPublishedBy(w, revision, files) {
		decision.Events = append(decision.Events, &WorkspacePublished{
			Workspace: w.ID, Changeset: published.ID,
		}, accepted)
		return decision, nil
	}
	decision.Events = append(decision.Events, accepted)
	if ok {
		if moved := p.rebased(w, revision, files, published.ID); moved != nil {
			decision.Events = append(decision.Events, moved)
		}
	}
	return decision, nil
}

// isPublishedBy reports whether all changes of a workspace are in a revision, or in the result
// of merging it with the head. A workspace with later changes stays open, so that these are not
// lost.
func (p *Project) isPublishedBy(w *Workspace, r *Revision, merged []Overlaid) bool {
	return r.shows(w) || w.Base == p.Head().ID && sameOverlay(w.Files, merged)
}

// conflicted returns the decision on a contribution that conflicts with the head. The same
// conflicts are recorded once.
func (p *Project) conflicted(c *Contribution, plan *MergePlan, now int64) Decision {
	decision := Decision{Refusal: errConflicts(plan.conflicts)}
	if w, ok := p.WorkspaceAt(c.Workspace, now); !ok || w.Status.Final() {
		decision.Refusal = fault.New(fault.ContributionConflict,
			"The contribution conflicts with the head of the project, and its workspace has ended. "+
				"Its author can contribute the change again from a new workspace.").
			With("conflicts", plan.conflicts)
	}
	if c.Status == ConflictStatus && slices.Equal(c.Conflicts, plan.conflicts) {
		return decision
	}
	decision.Events = []Event{&ContributionConflicted{
		Contribution: c.ID, Conflicts: plan.conflicts, Author: c.Author,
	}}
	// Of the merged texts only those with conflict marks are stored.
	for _, blob := range plan.Blobs {
		if slices.ContainsFunc(plan.conflicts, func(c Conflict) bool {
			return c.Marked == blob.Hash
		}) {
			decision.Blobs = append(decision.Blobs, blob)
		}
	}
	return decision
}

// ContributionConflicted is the event of a revision that conflicts with the head.
type ContributionConflicted struct {
	Contribution id.ID      `cbor:"1,keyasint"`
	Conflicts    []Conflict `cbor:"2,keyasint"`
	// Author is the author of the contribution.
	Author id.ID `cbor:"3,keyasint,omitzero"`
}

func (e *ContributionConflicted) apply(p *Project, at Moment) {
	p.changeContribution(e.Contribution, at, func(next *Contribution) {
		next.Status, next.Conflicts = ConflictStatus, e.Conflicts
		p.setWorkspace(next, WorkspaceConflict, at)
	})
}

// ContributionAccepted is the event of a contribution that became a changeset. Its workspace
// ends as published, or stays open.
type ContributionAccepted struct {
	Contribution id.ID  `cbor:"1,keyasint"`
	Changeset    id.ID  `cbor:"2,keyasint"`
	Note         string `cbor:"3,keyasint,omitempty"`
	// Author is the author of the contribution.
	Author id.ID `cbor:"4,keyasint,omitzero"`
}

func (e *ContributionAccepted) apply(p *Project, at Moment) {
	p.changeContribution(e.Contribution, at, func(next *Contribution) {
		next.decide(AcceptedStatus, e.Note, at)
		next.Changeset = e.Changeset
		p.freeWorkspace(next, at)
	})
}

// RejectContribution rejects a contribution.
type RejectContribution struct {
	Contribution id.ID
	Reason       string
	// Revision is the one that was reviewed; zero for any.
	Revision id.ID
}

// Authorize accepts maintainers and owners.
func (c *RejectContribution) Authorize(p *Project, agent id.ID) error {
	if _, err := contributionFor(p, c.Contribution, agent); err != nil {
		return err
	}
	return MayWriteFiles.Require(p, agent)
}

// Decide returns PROJECT_ARCHIVED, CONTRIBUTION_CLOSED, REVISION_NOT_FOUND, REVISION_SUPERSEDED.
func (c *RejectContribution) Decide(p *Project, stamp Stamp) (Decision, error) {
	contribution, err := requireUndecided(p, c.Contribution)
	if err != nil {
		return Decision{}, err
	}
	if !c.Revision.IsZero() {
		if _, err := p.requireCurrent(contribution, c.Revision); err != nil {
			return Decision{}, err
		}
	}
	rejected := &ContributionRejected{
		Contribution: c.Contribution, Reason: c.Reason, Author: contribution.Author,
	}
	return Decision{
		Events: []Event{rejected}, Result: Result{Subject: c.Contribution},
	}, nil
}

// ContributionRejected is the event of a rejected contribution; it ends its workspace.
type ContributionRejected struct {
	Contribution id.ID  `cbor:"1,keyasint"`
	Reason       string `cbor:"2,keyasint,omitempty"`
	// Author is the author of the contribution.
	Author id.ID `cbor:"3,keyasint,omitzero"`
}

func (e *ContributionRejected) apply(p *Project, at Moment) {
	p.changeContribution(e.Contribution, at, func(next *Contribution) {
		next.decide(RejectedStatus, e.Reason, at)
		p.setWorkspace(next, WorkspaceClosed, at)
	})
}

// WithdrawContribution withdraws a contribution.
type WithdrawContribution struct {
	Contribution id.ID
	Reason       string
}

// Authorize accepts the author.
func (c *WithdrawContribution) Authorize(p *Project, agent id.ID) error {
	contribution, err := contributionFor(p, c.Contribution, agent)
	if err != nil {
		return err
	}
	if contribution.Author != agent {
		return fault.New(fault.Forbidden, "The contribution belongs to another agent.")
	}
	return nil
}

// Decide returns PROJECT_ARCHIVED, CONTRIBUTION_CLOSED.
func (c *WithdrawContribution) Decide(p *Project, stamp Stamp) (Decision, error) {
	if _, err := requireUndecided(p, c.Contribution); err != nil {
		return Decision{}, err
	}
	withdrawn := &ContributionWithdrawn{
		Contribution: c.Contribution, Reason: c.Reason, Closes: true,
	}
	return Decision{
		Events: []Event{withdrawn}, Result: Result{Subject: c.Contribution},
	}, nil
}

// ContributionWithdrawn is the event of a contribution that its author has withdrawn.
type ContributionWithdrawn struct {
	Contribution id.ID  `cbor:"1,keyasint"`
	Reason       string `cbor:"2,keyasint,omitempty"`
	// Closes means that the workspace ends too. It is false in older events: there the workspace
	// stays open and can be submitted as another contribution.
	Closes bool `cbor:"30,keyasint,omitempty"`
}

func (e *ContributionWithdrawn) apply(p *Project, at Moment) {
	p.changeContribution(e.Contribution, at, func(next *Contribution) {
		next.decide(WithdrawnStatus, e.Reason, at)
		if e.Closes {
			p.setWorkspace(next, WorkspaceClosed, at)
			return
		}
		p.freeWorkspace(next, at)
	})
}
