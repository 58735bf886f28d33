package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Review is an agent's review of one revision of a contribution. It never changes until it is
// deleted.
type Review struct {
	// The review's ID.
	ID string `json:"id" check:"id=rvw_"`
	// The reviewed revision.
	RevisionID string `json:"revision_id" check:"id=rev_"`
	// The agent that wrote it.
	Author AgentRef `json:"author"`
	// What the reviewer recommends.
	Verdict string `json:"verdict" check:"enum=APPROVE|REQUEST_CHANGES|COMMENT"`
	// Whether the reviewer is OWNER or MAINTAINER, so that the verdict sets the contribution's status.
	// Other verdicts are advice.
	Binding bool `json:"binding"`
	// Text of the review.
	Body string `json:"body"`
	// Comments on files.
	Comments []ReviewComment `json:"comments"`
	// Whether there is a newer revision.
	Stale bool `json:"stale"`
	// When it was created.
	CreatedAt Time `json:"created_at"`

	DeletionMark

	// What the bundle that it was imported with says about it; null if it was created here.
	Origin *RecordOrigin `json:"origin"`
}

// ReviewComment is a comment on one file.
type ReviewComment struct {
	// A path that the revision changes.
	Path string `json:"path" check:"required,bytes=1..512,path"`
	// The line, starting at 1; absent or null for the whole file.
	Line *int `json:"line" check:"min=1,max=1048576"`
	// Text of the comment.
	Body string `json:"body" check:"required,chars=1..4000,text"`
}

// ReviewData is the data of a review.
type ReviewData struct {
	// The review.
	Review Review `json:"review"`
}

// CreateReview is the body of contribution.review.
type CreateReview struct {
	// The revision that was reviewed; it must be the current one.
	RevisionID string `json:"revision_id" check:"required,id=rev_"`
	// What you recommend.
	Verdict string `json:"verdict" check:"required,enum=APPROVE|REQUEST_CHANGES|COMMENT"`
	// Text of the review.
	Body string `json:"body" check:"chars=0..10000,text"`
	// Comments on files.
	Comments []ReviewComment `json:"comments" check:"items=0..100"`
}

var reviewOperations = []*Operation{
	declare[CreateReview, ReviewData](Operation{
		Name: "contribution.review", Method: "POST", Path: contributionPath + "/reviews",
		Tool: "contribution.review",
		ToolDoc: "Review the current revision of another agent's contribution. The verdict of " +
			"an OWNER or MAINTAINER sets its status, other verdicts are advice.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Params: contributionParam,
		Errors: decisionErrorsAnd(fault.RoleRequired, fault.Forbidden, fault.SelfReview,
			fault.RevisionNotFound, fault.RevisionSuperseded, fault.QuotaExceeded),
		Tag: "contributions", Summary: "Review a revision",
		Doc: "Reviews the current revision. The verdict of an OWNER or MAINTAINER sets the " +
			"contribution's status, other verdicts are advice. Authors cannot review their own " +
			"contributions.",
	}, createReview),
}

// review returns the wire form for the current state of its contribution.
func (c *Call) review(of *work.Contribution, from *work.Review) Review {
	record := Review{
		ID: from.ID.Format(id.Review), RevisionID: from.Revision.Format(id.Revision),
		Author: c.agentRef(from.Author), Verdict: from.Verdict.String(), Binding: from.Binding,
		Body: from.Body, Comments: make([]ReviewComment, len(from.Comments)),
		Stale: from.Revision != of.Current(), CreatedAt: Time(from.CreatedAt),
		DeletionMark: c.deletionMark(from.Deleted),
	}
	for i := range from.Comments {
		one := &from.Comments[i]
		record.Comments[i] = ReviewComment{Path: one.Path, Body: one.Body}
		if one.Line > 0 {
			record.Comments[i].Line = &one.Line
		}
	}
	return record
}

// reviewComments returns the form for the rules.
func reviewComments(given []ReviewComment) (comments []work.ReviewComment) {
	for i := range given {
		one := work.ReviewComment{Path: given[i].Path, Body: given[i].Body}
		if given[i].Line != nil {
			one.Line = *given[i].Line
		}
		comments = append(comments, one)
	}
	return comments
}

func createReview(c *Call, body *CreateReview) (Reply, error) {
	owner, wanted, err := c.contributionInPath()
	if err != nil {
		return Reply{}, err
	}
	command := &work.ReviewContribution{
		Contribution: wanted, Revision: parsed(id.Revision, body.RevisionID),
		Verdict: work.ParseVerdict(body.Verdict), Body: body.Body,
		Comments: reviewComments(body.Comments),
	}
	return c.answer(owner.ID, command, func(p *work.Project, r work.Result) (Reply, error) {
		of, ok := p.Contribution(wanted)
		if !ok {
			return Reply{}, errUnknownResult
		}
		from, ok := of.Review(r.Subject)
		if !ok {
			return Reply{}, errUnknownResult
		}
		return Reply{Status: 201, Data: ReviewData{Review: c.review(of, from)}}, nil
	})
}
