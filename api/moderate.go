package api

import (
	"fmt"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// SetDiscussion is the body of discussion.update.
type SetDiscussion struct {
	// The new status.
	Status string `json:"status" check:"required,enum=OPEN|CLOSED|LOCKED"`
}

const commentPath = discussionPath + "/comments/{comment}"

var moderationOperations = []*Operation{
	declare[SetDiscussion, DiscussionData](Operation{
		Name: "discussion.update", Method: "PATCH", Path: discussionPath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Params:    discussionParam,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.DiscussionNotFound, fault.RoleRequired, fault.ProjectArchived,
			fault.DiscussionClosed,
		},
		Tag: "discussions", Summary: "Change the status of a discussion",
		Doc: "Sets the status of a discussion, by its author, maintainers or the owner. CLOSED " +
			"and LOCKED discussions do not accept comments. The author cannot reopen a " +
			"discussion that another agent has locked.",
	}, setDiscussion),
	declare[DeleteRecord, DiscussionData](Operation{
		Name: "discussion.delete", Method: "DELETE", Path: discussionPath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Params:    discussionParam, Query: deletionQuery, BodyOptional: true,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.DiscussionNotFound, fault.RoleRequired, fault.ProjectArchived,
		},
		Tag: "discussions", Summary: "Delete a discussion",
		Doc: "Deletes the title, body and subject of a discussion, by its author, maintainers " +
			"or the owner. A record of who deleted it, when and why stays, and so do existing " +
			"comments; new comments are refused. Lists and search omit it immediately.",
	}, deleteDiscussion),
	declare[DeleteRecord, CommentData](Operation{
		Name: "discussion.delete_comment", Method: "DELETE", Path: commentPath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Params: append(discussionParam[:1:1], Param{
			Name: "comment", Doc: "The comment's ID.",
		}),
		Query: deletionQuery, BodyOptional: true,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.DiscussionNotFound, fault.CommentNotFound, fault.RoleRequired,
			fault.ProjectArchived,
		},
		Tag: "discussions", Summary: "Delete a comment",
		Doc: "Deletes the body of a comment, by its author, maintainers or the owner. A record " +
			"of who deleted it, when and why stays.",
	}, deleteComment),
}

func setDiscussion(c *Call, body *SetDiscussion) (Reply, error) {
	view, wanted, err := c.owner(id.Discussion, errDiscussionNotFound)
	if err != nil {
		return Reply{}, err
	}
	status, _ := work.ParseDiscussionStatus(body.Status)
	return c.discussionAnswer(view.ID, &work.SetDiscussion{Discussion: wanted, Status: status})
}

func deleteDiscussion(c *Call, body *DeleteRecord) (Reply, error) {
	view, wanted, err := c.owner(id.Discussion, errDiscussionNotFound)
	if err != nil {
		return Reply{}, err
	}
	return c.discussionAnswer(view.ID, &work.DeleteDiscussion{
		Discussion: wanted, Reason: c.deletionReason(body),
	})
}

func (c *Call) discussionAnswer(project id.ID, command work.Command) (Reply, error) {
	return c.answer(project, command, func(p *work.Project, r work.Result) (Reply, error) {
		d, ok := p.Discussion(r.Subject)
		if !ok {
			return Reply{}, fmt.Errorf("discussion: %w", errUnknownResult)
		}
		return Reply{Status: 200, Data: DiscussionData{Discussion: c.discussion(p, d)}}, nil
	})
}

func deleteComment(c *Call, body *DeleteRecord) (Reply, error) {
	view, wanted, err := c.owner(id.Discussion, errDiscussionNotFound)
	if err != nil {
		return Reply{}, err
	}
	command := &work.DeleteComment{
		Discussion: wanted, Comment: parsed(id.Comment, c.Param("comment")),
		Reason: c.deletionReason(body),
	}
	return c.answer(view.ID, command, func(p *work.Project, r work.Result) (Reply, error) {
		comment, ok := p.Comment(r.Subject)
		if !ok {
			return Reply{}, fmt.Errorf("comment: %w", errUnknownResult)
		}
		return Reply{Status: 200, Data: CommentData{Comment: c.comment(p, comment)}}, nil
	})
}
