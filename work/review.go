package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// Verdict is the conclusion of a review.
type Verdict uint8

// The verdicts.
const (
	VerdictApprove Verdict = iota + 1
	VerdictRequestChanges
	VerdictComment
)

var verdictNames = [...]string{"", "APPROVE", "REQUEST_CHANGES", "COMMENT"}

// String is the name on the wire.
func (v Verdict) String() string { return verdictNames[v] }

// ParseVerdict reads the name on the wire; zero is no verdict.
func ParseVerdict(name string) Verdict {
	return Verdict(max(0, slices.Index(verdictNames[:], name)))
}

// Review is an agent's review of one revision of a contribution. It never changes until it is
// deleted.
type Review struct {
	ID       id.ID   `cbor:"1,keyasint"`
	Revision id.ID   `cbor:"2,keyasint"`
	Author   id.ID   `cbor:"3,keyasint"`
	Verdict  Verdict `cbor:"4,keyasint"`
	// Binding means that the author was a maintainer or the owner. The verdicts of others are
	// advice.
	Binding  bool            `cbor:"5,keyasint,omitempty"`
	Body     string          `cbor:"6,keyasint,omitempty"`
	Comments []ReviewComment `cbor:"7,keyasint,omitempty"`
	// CreatedAt is Unix milliseconds.
	CreatedAt int64 `cbor:"8,keyasint"`
	// Deleted is zero unless the review was deleted.
	Deleted Deletion `cbor:"30,keyasint,omitzero"`
}

// ReviewComment is a comment on one file of a revision.
type ReviewComment struct {
	Path string `cbor:"1,keyasint"`
	// Line counts from 1; zero means the whole file.
	Line int    `cbor:"2,keyasint,omitempty"`
	Body string `cbor:"3,keyasint"`
}

// sound reports whether a saved review is valid.
func (r *Review) sound() bool {
	return r != nil && r.Verdict >= VerdictApprove && r.Verdict <= VerdictComment
}

func (r *Review) bytes() int { return reviewBytes(r.Body, r.Comments) }

func reviewBytes(body string, comments []ReviewComment) int {
	bytes := len(body)
	for i := range comments {
		bytes += len(comments[i].Path) + len(comments[i].Body)
	}
	return bytes
}

// ReviewContribution reviews the current revision of a contribution.
type ReviewContribution struct {
	Contribution id.ID
	Revision     id.ID
	Verdict      Verdict
	Body         string
	Comments     []ReviewComment
}

// Authorize accepts every agent that may contribute, except the author.
func (c *ReviewContribution) Authorize(p *Project, agent id.ID) error {
	contribution, err := contributionFor(p, c.Contribution, agent)
	if err != nil {
		return err
	}
	if err := MayContribute.Require(p, agent); err != nil {
		return err
	}
	if contribution.Author == agent {
		return fault.New(fault.SelfReview, "An author may not review its own contribution.")
	}
	return nil
}

// Decide returns PROJECT_ARCHIVED, CONTRIBUTION_CLOSED, REVISION_NOT_FOUND, REVISION_SUPERSEDED,
// QUOTA_EXCEEDED, and VALIDATION_FAILED for comments on paths that the revision does not change.
func (c *ReviewContribution) Decide(p *Project, stamp Stamp) (Decision, error) {
	contribution, revision, err := requireUndecidedRevision(p, c.Contribution, c.Revision)
	if err != nil {
		return Decision{}, err
	}
	if err := c.requireTouched(revision); err != nil {
		return Decision{}, err
	}
	bytes := reviewBytes(c.Body, c.Comments)
	if err := p.requireReviewQuota(contribution, stamp.Agent, bytes); err != nil {
		return Decision{}, err
	}
	reviewed := &ContributionReviewed{
		Contribution: contribution.ID, ID: stamp.ID(1), Revision: revision.ID, Verdict: c.Verdict,
		Body: c.Body, Comments: c.Comments,
		Binding: MayWriteFiles.Require(p, stamp.Agent) == nil,
		Author:  contribution.Author,
	}
	if count := len(contribution.Reviews); count > 0 {
		reviewed.ID = above(contribution.Reviews[count-1].ID, reviewed.ID)
	}
	return Decision{
		Events: []Event{reviewed}, Result: Result{Created: true, Subject: reviewed.ID},
	}, nil
}

// requireReviewQuota checks the limits for another review of a contribution: QUOTA_EXCEEDED.
// Reviews of members and of other agents have separate limits.
func (p *Project) requireReviewQuota(c *Contribution, agent id.ID, bytes int) error {
	guest := !p.IsMember(agent)
	own, count, said := 0, 0, bytes
	for _, review := range c.Reviews {
		if review.Deleted.frees(review.Author) {
			continue
		}
		if review.Author == agent {
			own++
		}
		if p.IsMember(review.Author) != guest {
			count, said = count+1, said+review.bytes()
		}
	}
	switch {
	case guest && own >= GuestReviewsMax:
		return errQuota("reviews_of_contribution_of_agent", GuestReviewsMax)
	case count >= ReviewsMax:
		return errQuota("reviews_of_contribution", ReviewsMax)
	case said > ReviewTextBytesMax:
		return errQuota("review_text_bytes", ReviewTextBytesMax)
	}
	return p.requireQuota(agent, quotaTexts, bytes)
}

func (c *ReviewContribution) requireTouched(revision *Revision) error {
	var faults []fault.Field
	for i := range c.Comments {
		if !revision.touches(c.Comments[i].Path) {
			faults = append(faults, fault.Field{
				Field: indexed("comments", i) + ".path", Problem: "is not a path of the revision",
			})
		}
	}
	if len(faults) > 0 {
		return fault.Invalid(faults...)
	}
	return nil
}

// ContributionReviewed is the event of a review.
type ContributionReviewed struct {
	Contribution id.ID           `cbor:"1,keyasint"`
	ID           id.ID           `cbor:"2,keyasint"`
	Revision     id.ID           `cbor:"3,keyasint"`
	Verdict      Verdict         `cbor:"4,keyasint"`
	Binding      bool            `cbor:"5,keyasint,omitempty"`
	Body         string          `cbor:"6,keyasint,omitempty"`
	Comments     []ReviewComment `cbor:"7,keyasint,omitempty"`
	// Author is the author of the contribution.
	Author id.ID `cbor:"8,keyasint,omitzero"`
}

func (e *ContributionReviewed) apply(p *Project, at Moment) {
	p.changeContribution(e.Contribution, at, func(next *Contribution) {
		next.Reviews = append(slices.Clip(next.Reviews), &Review{
			ID: e.ID, Revision: e.Revision, Author: at.Agent, Verdict: e.Verdict,
			Binding: e.Binding, Body: e.Body, Comments: e.Comments, CreatedAt: at.Now,
		})
		if e.Binding && next.Status != ConflictStatus {
			next.Status = e.Verdict.status(next.Status)
		}
	})
}

// status returns the status of a contribution after a binding review.
func (v Verdict) status(before ContributionStatus) ContributionStatus {
	switch v {
	case VerdictApprove:
		return ApprovedStatus
	case VerdictRequestChanges:
		return ChangesRequestedStatus
	}
	return before
}

// Review finds a review of a contribution.
func (c *Contribution) Review(wanted id.ID) (*Review, bool) {
	at := slices.IndexFunc(c.Reviews, func(r *Review) bool { return r.ID == wanted })
	if at < 0 {
		return nil, false
	}
	return c.Reviews[at], true
}

// Attribution is the role of an agent in a contribution.
type Attribution struct {
	Agent id.ID
	Role  AttributionRole
	// At is when it first had that role, in Unix milliseconds.
	At int64
}

// AttributionRole is a role in a contribution.
type AttributionRole uint8

// The roles.
const (
	AttributedAuthor AttributionRole = iota + 1
	AttributedReviewer
	AttributedAccepter
)

var attributionRoleNames = [...]string{"", "AUTHOR", "REVIEWER", "ACCEPTER"}

// String is the name on the wire.
func (r AttributionRole) String() string { return attributionRoleNames[r] }

// Attribution returns who wrote a contribution, who reviewed it and who accepted it, each agent
// once in each role.
func (c *Contribution) Attribution() []Attribution {
	list := []Attribution{{c.Author, AttributedAuthor, c.CreatedAt}}
	for _, review := range c.Reviews {
		if !review.Deleted.Is() && !slices.ContainsFunc(list[1:], func(a Attribution) bool {
			return a.Agent == review.Author
		}) {
			list = append(list, Attribution{review.Author, AttributedReviewer, review.CreatedAt})
		}
	}
	if c.Status == AcceptedStatus {
		list = append(list, Attribution{c.DecidedBy, AttributedAccepter, c.DecidedAt})
	}
	return list
}

// Reviewers returns the agents that reviewed a contribution, each once, in the order of their
// first reviews.
func (c *Contribution) Reviewers() (reviewers []id.ID) {
	for _, one := range c.Attribution() {
		if one.Role == AttributedReviewer {
			reviewers = append(reviewers, one.Agent)
		}
	}
	return reviewers
}
