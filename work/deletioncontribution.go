package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// DeleteReview deletes what a review says and leaves a mark.
type DeleteReview struct {
	Contribution, Review id.ID
	Reason               string
}

// Authorize accepts the author of the review, maintainers and the owner. It returns
// CONTRIBUTION_NOT_FOUND, REVIEW_NOT_FOUND and ROLE_REQUIRED.
func (c *DeleteReview) Authorize(p *Project, agent id.ID) error {
	review, err := c.review(p, agent)
	if err != nil {
		return err
	}
	return p.moderates(review.Author, agent, errContributionNotFound())
}

func (c *DeleteReview) review(p *Project, agent id.ID) (*Review, error) {
	contribution, err := contributionFor(p, c.Contribution, agent)
	if err != nil {
		return nil, err
	}
	review, ok := contribution.Review(c.Review)
	if !ok || contribution.Deleted.Is() {
		return nil, fault.New(fault.ReviewNotFound, "The contribution has no such review.")
	}
	return review, nil
}

// Decide returns CONTRIBUTION_NOT_FOUND, REVIEW_NOT_FOUND, PROJECT_ARCHIVED, and FORBIDDEN for a
// review of another member.
func (c *DeleteReview) Decide(p *Project, stamp Stamp) (Decision, error) {
	review, err := c.review(p, stamp.Agent)
	if err != nil {
		return Decision{}, err
	}
	return p.deleting(review.Author, stamp.Agent, review.Deleted, &ReviewDeleted{
		Contribution: c.Contribution, Review: c.Review, Author: review.Author, Reason: c.Reason,
	}, Result{Subject: c.Review})
}

// ReviewDeleted is the event of a review that was deleted.
type ReviewDeleted struct {
	Contribution id.ID `cbor:"1,keyasint"`
	Review       id.ID `cbor:"2,keyasint"`
	// Author is the author of the review.
	Author id.ID  `cbor:"3,keyasint"`
	Reason string `cbor:"4,keyasint,omitempty"`
}

func (e *ReviewDeleted) apply(p *Project, at Moment) {
	p.changeContribution(e.Contribution, at, func(next *Contribution) {
		old, _ := next.Review(e.Review)
		next.Reviews = slices.Clone(next.Reviews)
		next.Reviews[slices.Index(next.Reviews, old)] = old.deleted(deletion(at, e.Reason))
		if old.Binding && old.Verdict != VerdictComment && old.Revision == next.Current() {
			next.reviewedAgain()
		}
	})
}

// deleted returns the mark that a review leaves.
func (r *Review) deleted(mark Deletion) *Review {
	next := *r
	next.Body, next.Comments, next.Deleted = "", nil, mark
	return &next
}

// reviewedAgain sets the status of a contribution to what the binding reviews of its current
// revision say. A conflict and a decision stay.
func (c *Contribution) reviewedAgain() {
	if c.Status.Final() || c.Status == ConflictStatus {
		return
	}
	c.Status = SubmittedStatus
	for _, review := range c.Reviews {
		if review.Binding && !review.Deleted.Is() && review.Revision == c.Current() {
			c.Status = review.Verdict.status(c.Status)
		}
	}
}

// DeleteContribution deletes what a contribution says, with its revisions and reviews, and leaves a
// mark. It decides one that was not decided: withdrawn if the author deletes it, otherwise
// rejected.
type DeleteContribution struct {
	Contribution id.ID
	Reason       string
	// Match is called with the current contribution; nil checks nothing. It returns
	// PRECONDITION_FAILED.
	Match func(p *Project, c *Contribution) error
}

// Authorize accepts the author, maintainers and the owner. It returns CONTRIBUTION_NOT_FOUND and
// ROLE_REQUIRED.
func (c *DeleteContribution) Authorize(p *Project, agent id.ID) error {
	contribution, err := contributionFor(p, c.Contribution, agent)
	if err != nil {
		return err
	}
	return p.moderates(contribution.Author, agent, errContributionNotFound())
}

// Decide returns CONTRIBUTION_NOT_FOUND, PROJECT_ARCHIVED, PRECONDITION_FAILED, FORBIDDEN for a
// contribution of another member, and CONTRIBUTION_CLOSED for an accepted one, which is part of the
// history.
func (c *DeleteContribution) Decide(p *Project, stamp Stamp) (Decision, error) {
	contribution, err := contributionFor(p, c.Contribution, stamp.Agent)
	if err != nil {
		return Decision{}, err
	}
	if c.Match != nil {
		if err := c.Match(p, contribution); err != nil {
			return Decision{}, err
		}
	}
	decision, err := p.deleting(contribution.Author, stamp.Agent, contribution.Deleted,
		&ContributionDeleted{
			Contribution: contribution.ID, Author: contribution.Author, Reason: c.Reason,
			Decides: !contribution.Status.Final(),
		}, Result{Subject: contribution.ID})
	if err == nil && contribution.Status == AcceptedStatus {
		return Decision{}, fault.New(fault.ContributionClosed,
			"An accepted contribution is part of the history and cannot be deleted.").
			With("status", contribution.Status.String())
	}
	return decision, err
}

// ContributionDeleted is the event of a contribution that was deleted. It ends its workspace.
type ContributionDeleted struct {
	Contribution id.ID `cbor:"1,keyasint"`
	// Author is the author of the contribution.
	Author id.ID  `cbor:"2,keyasint"`
	Reason string `cbor:"3,keyasint,omitempty"`
	// Decides means that the contribution was not decided before.
	Decides bool `cbor:"4,keyasint,omitempty"`
}

func (e *ContributionDeleted) apply(p *Project, at Moment) {
	old, _ := p.Contribution(e.Contribution)
	next := *old
	next.Version++
	next.UpdatedAt = max(next.UpdatedAt, at.Now)
	switch {
	case !e.Decides:
		next.Note = ""
	case at.Agent == old.Author:
		next.decide(WithdrawnStatus, "", at)
	default:
		next.decide(RejectedStatus, "", at)
	}
	next.Conflicts, next.Deleted = nil, deletion(at, e.Reason)
	next.Reviews = slices.Clone(next.Reviews)
	for nth, review := range next.Reviews {
		if !review.Deleted.Is() {
			next.Reviews[nth] = review.deleted(deletion(at, ""))
		}
	}
	// The old version is taken from the counts BEFORE its revisions lose their files.
	p.countContribution(old, -1)
	for _, one := range next.Revisions {
		p.deleteRevision(one)
	}
	p.contributions.put(&next, p.Revision+1)
	p.countContribution(&next, 1)
	w, ok := p.Workspace(next.Workspace)
	if ok && w.Contribution == next.ID && w.Status != WorkspaceDone {
		p.changeWorkspace(w.ID, at, (*Workspace).close)
	}
}

// deleteRevision deletes the summary and the files of a revision.
func (p *Project) deleteRevision(wanted id.ID) {
	old, _ := p.revisions.get(wanted)
	next := *old
	next.Summary, next.Files = "", nil
	p.revisions.put(&next, p.Revision+1)
	p.countRevisionTimes(old, -1)
	p.countRevisionTimes(&next, 1)
}
