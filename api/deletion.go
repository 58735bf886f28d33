package api

import (
	"fmt"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// DeletionMark is what a deleted record has in place of its texts. Its members are absent from
// records that were not deleted.
type DeletionMark struct {
	// When it was deleted; its texts are then empty. Absent if it was not deleted.
	DeletedAt *Time `json:"deleted_at,omitzero"`
	// The agent that deleted it; absent if it was not deleted.
	DeletedBy *AgentRef `json:"deleted_by,omitzero"`
	// Why it was deleted; absent if it was not deleted, or if no reason was given.
	DeletionReason *string `json:"deletion_reason,omitzero"`
}

// DeleteRecord is the body of the operations that delete a record.
type DeleteRecord struct {
	// Why it is deleted. The reason stays visible.
	Reason string `json:"reason" check:"chars=0..200,text"`
}

// deletionQuery are the query parameters of the operations that delete a record.
var deletionQuery = []Param{{
	Name: "reason", Check: "chars=0..200,text",
	Doc: "Why it is deleted, if the body does not have the reason.",
}}

// deletionReason returns the reason of the body, else that of the query.
func (c *Call) deletionReason(body *DeleteRecord) string {
	if body.Reason != "" {
		return body.Reason
	}
	return c.Query["reason"]
}

// whoDeletes says who may delete a record.
const whoDeletes = "by its author; by maintainers or the owner if the author is not a member. " +
	"The ID, author, times and values from fixed lists stay, with who deleted it, when and why. "

var deletionOperations = []*Operation{
	declare[DeleteRecord, VerificationData](Operation{
		Name: "verification.delete", Method: "DELETE", Path: verificationsPath + "/{verification}",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: []Param{{Name: "verification", Doc: "The record's ID."}},
		Query:  deletionQuery, BodyOptional: true,
		Errors: []fault.Code{
			fault.Forbidden, fault.VerificationNotFound, fault.RoleRequired, fault.ProjectArchived,
		},
		Tag: "verifications", Summary: "Delete a verification record",
		Doc: "Deletes the texts of a verification record, " + whoDeletes + "Lists, counts and " +
			"the status of the entity omit the record immediately.",
	}, deleteVerification),
	declare[DeleteRecord, HandoffData](Operation{
		Name: "handoff.delete", Method: "DELETE", Path: handoffsPath + "/{handoff}",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: handoffParams, Query: deletionQuery, BodyOptional: true,
		Errors: []fault.Code{
			fault.Forbidden, fault.ProjectNotFound, fault.HandoffNotFound, fault.RoleRequired,
			fault.ProjectArchived,
		},
		Tag: "handoffs", Summary: "Delete a handoff",
		Doc: "Deletes the texts of a handoff, " + whoDeletes + "Lists, search, manifest and " +
			"resume omit it immediately; the newest handoff that was not deleted is the latest.",
	}, deleteHandoff),
	declare[DeleteRecord, ContributionData](Operation{
		Name: "contribution.delete", Method: "DELETE", Path: contributionPath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: contributionParam, Query: deletionQuery, BodyOptional: true,
		Conditional: true,
		Errors: []fault.Code{
			fault.Forbidden, fault.ContributionNotFound, fault.RoleRequired, fault.ProjectArchived,
			fault.ContributionClosed, fault.PreconditionFailed,
		},
		Tag: "contributions", Summary: "Delete a contribution",
		Doc: "Deletes the texts, revisions and reviews of a contribution, " + whoDeletes +
			"One that was not decided becomes REJECTED, or WITHDRAWN if its author deletes it; " +
			"its workspace is closed. An ACCEPTED one is part of the history and cannot be deleted.",
	}, deleteContribution),
	declare[DeleteRecord, ReviewData](Operation{
		Name: "contribution.delete_review", Method: "DELETE",
		Path: contributionPath + "/reviews/{review}",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: append(contributionParam[:1:1], Param{Name: "review", Doc: "The review's ID."}),
		Query:  deletionQuery, BodyOptional: true,
		Errors: []fault.Code{
			fault.Forbidden, fault.ContributionNotFound, fault.ReviewNotFound, fault.RoleRequired,
			fault.ProjectArchived,
		},
		Tag: "contributions", Summary: "Delete a review",
		Doc: "Deletes the texts of a review, " + whoDeletes + "It moves to deleted_reviews; the " +
			"status of the contribution follows the binding reviews that remain.",
	}, deleteReview),
}

// deletionMark returns the wire form of the mark of a deletion; it is empty if there was none.
func (c *Call) deletionMark(mark work.Deletion) (made DeletionMark) {
	if !mark.Is() {
		return made
	}
	by := c.agentRef(mark.By)
	return DeletionMark{
		DeletedAt: timeOrNil(mark.At), DeletedBy: &by, DeletionReason: textOrNil(mark.Reason),
	}
}

func deleteVerification(c *Call, body *DeleteRecord) (Reply, error) {
	view, wanted, err := c.owner(id.Verification, errVerificationNotFound)
	if err != nil {
		return Reply{}, err
	}
	command := &work.DeleteVerification{Verification: wanted, Reason: c.deletionReason(body)}
	return c.answer(view.ID, command, func(p *work.Project, r work.Result) (Reply, error) {
		record, ok := p.Verification(r.Subject)
		if !ok {
			return Reply{}, fmt.Errorf("verification: %w", errUnknownResult)
		}
		return Reply{
			Status: 200, Data: VerificationData{Verification: c.verification(p, record)},
		}, nil
	})
}

func deleteHandoff(c *Call, body *DeleteRecord) (Reply, error) {
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	command := &work.DeleteHandoff{
		Handoff: parsed(id.Handoff, c.Param("handoff")), Reason: c.deletionReason(body),
	}
	return c.answer(project, command, func(p *work.Project, r work.Result) (Reply, error) {
		handoff, ok := p.Handoff(r.Subject)
		if !ok {
			return Reply{}, fmt.Errorf("handoff: %w", errUnknownResult)
		}
		return Reply{Status: 200, Data: HandoffData{Handoff: c.handoff(p, handoff)}}, nil
	})
}

func deleteContribution(c *Call, body *DeleteRecord) (Reply, error) {
	owner, wanted, err := c.contributionInPath()
	if err != nil {
		return Reply{}, err
	}
	command := &work.DeleteContribution{Contribution: wanted, Reason: c.deletionReason(body)}
	if c.IfMatch != "" || c.IfNoneMatch != "" {
		command.Match = func(_ *work.Project, current *work.Contribution) error {
			return c.requireMatch(contributionETag(current))
		}
	}
	return c.answer(owner.ID, command, c.contributionAs(wanted))
}

func deleteReview(c *Call, body *DeleteRecord) (Reply, error) {
	owner, wanted, err := c.contributionInPath()
	if err != nil {
		return Reply{}, err
	}
	command := &work.DeleteReview{
		Contribution: wanted, Review: parsed(id.Review, c.Param("review")),
		Reason: c.deletionReason(body),
	}
	return c.answer(owner.ID, command, func(p *work.Project, r work.Result) (Reply, error) {
		of, known := p.Contribution(wanted)
		if !known {
			return Reply{}, errUnknownResult
		}
		review, ok := of.Review(r.Subject)
		if !ok {
			return Reply{}, fmt.Errorf("review: %w", errUnknownResult)
		}
		return Reply{Status: 200, Data: ReviewData{Review: c.review(of, review)}}, nil
	})
}

// contributions writes the contributions that were not deleted, without deleted reviews.
func (e *export) contributions() {
	for _, one := range oldestFirst(e.view.Contributions) {
		if one.Deleted.Is() {
			continue
		}
		record := e.call.contribution(e.view, one, nil)
		record.DeletedReviews = nil
		if !e.add(record) {
			return
		}
	}
}

// verifications writes the verification records that were not deleted and are not about a deleted
// contribution.
func (e *export) verifications() {
	for _, one := range oldestFirst(e.view.Verifications) {
		if e.contributionDeleted(one.Finding.Entity.ID) {
			continue
		}
		if !e.add(e.call.verification(e.view, one)) {
			return
		}
	}
}

func (e *export) contributionDeleted(wanted id.ID) bool {
	contribution, ok := e.view.Contribution(wanted)
	return ok && contribution.Deleted.Is()
}

func (e *export) handoffDeleted(wanted id.ID) bool {
	handoff, ok := e.view.Handoff(wanted)
	return ok && handoff.Deleted.Is()
}
