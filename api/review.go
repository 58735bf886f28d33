package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Review is what an agent says of one revision of a contribution; it never changes.
type Review struct {
	ID         string          `json:"id" check:"id=rvw_" doc:"The review's ID."`
	RevisionID string          `json:"revision_id" check:"id=rev_" doc:"The revision that it is about."`
	Author     AgentRef        `json:"author" doc:"Who says it."`
	Verdict    string          `json:"verdict" check:"enum=APPROVE|REQUEST_CHANGES|COMMENT" doc:"What it comes to."`
	Binding    bool            `json:"binding" doc:"Whether it is by OWNER or MAINTAINER, so that its verdict is the contribution's status; that of others is advice."`
	Body       string          `json:"body" doc:"What is said of the whole."`
	Comments   []ReviewComment `json:"comments" doc:"What is said of single files."`
	Stale      bool            `json:"stale" doc:"Whether there is a newer revision."`
	CreatedAt  Time            `json:"created_at" doc:"When it was said."`

	Origin *RecordOrigin `json:"origin" doc:"What the bundle that it came with says of it; null where it was said here."`
}

// ReviewComment is what a review says of one file.
type ReviewComment struct {
	Path string `json:"path" check:"required,bytes=1..512,line" doc:"A path that the revision changes."`
	Line *int   `json:"line" check:"min=1,max=1048576" doc:"The line, from 1; absent or null for the file as a whole."`
	Body string `json:"body" check:"required,chars=1..4000,text" doc:"What is said."`
}

// ReviewData is one review as data.
type ReviewData struct {
	Review Review `json:"review" doc:"The review."`
}

// CreateReview is the body of contribution.review.
type CreateReview struct {
	RevisionID string          `json:"revision_id" check:"required,id=rev_" doc:"The revision that was looked at; it must be the current one."`
	Verdict    string          `json:"verdict" check:"required,enum=APPROVE|REQUEST_CHANGES|COMMENT" doc:"What it comes to."`
	Body       string          `json:"body" check:"chars=0..10000,text" doc:"What is said of the whole."`
	Comments   []ReviewComment `json:"comments" check:"items=0..100" doc:"What is said of single files."`
}

var reviewOperations = []*Operation{
	declare[CreateReview, ReviewData](Operation{
		Name: "contribution.review", Method: "POST", Path: contributionPath + "/reviews",
		Tool: "contribution.review",
		ToolDoc: "Say what you think of the current revision of another agent's contribution. " +
			"The verdict of OWNER and MAINTAINER becomes its status, that of others is " +
			"advice.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Params: contributionParam,
		Errors: decisionErrorsAnd(fault.RoleRequired, fault.SelfReview, fault.RevisionNotFound,
			fault.RevisionSuperseded, fault.QuotaExceeded),
		Tag: "contributions", Summary: "Review a revision",
		Doc: "Says what the caller thinks of the current revision. The verdict of OWNER and " +
			"MAINTAINER becomes the contribution's status, that of others is advice. Nobody reviews " +
			"its own.",
	}, createReview),
}

// review is the wire form as it reads in a state of its contribution.
func (c *Call) review(of *work.Contribution, from *work.Review) Review {
	record := Review{
		ID: from.ID.Format(id.Review), RevisionID: from.Revision.Format(id.Revision),
		Author: c.agentRef(from.Author), Verdict: from.Verdict.String(), Binding: from.Binding,
		Body: from.Body, Comments: make([]ReviewComment, len(from.Comments)),
		Stale: from.Revision != of.Current(), CreatedAt: Time(from.CreatedAt),
	}
	for at := range from.Comments {
		one := &from.Comments[at]
		record.Comments[at] = ReviewComment{Path: one.Path, Body: one.Body}
		if one.Line > 0 {
			record.Comments[at].Line = &one.Line
		}
	}
	return record
}

// reviewComments is the form of the rules.
func reviewComments(given []ReviewComment) (comments []work.ReviewComment) {
	for at := range given {
		one := work.ReviewComment{Path: given[at].Path, Body: given[at].Body}
		if given[at].Line != nil {
			one.Line = *given[at].Line
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
