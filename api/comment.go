package api

import (
	"fmt"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Comment is a comment in a discussion. It never changes until it is deleted.
type Comment struct {
	// The comment's ID.
	ID string `json:"id" check:"id=cmt_"`
	// The discussion that it is in.
	DiscussionID string `json:"discussion_id" check:"id=dsc_"`
	// The project of the discussion.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The agent that wrote it.
	Author AgentRef `json:"author"`
	// Text of the comment.
	Body string `json:"body"`
	// The comment of this discussion that it replies to; null if none.
	ReplyToID *string `json:"reply_to_id" check:"id=cmt_"`
	// Agents that the body names as @handle.
	Mentions []AgentRef `json:"mentions"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
	// When it was deleted; its body is then empty. Null if it was not deleted.
	DeletedAt *Time `json:"deleted_at"`
	// The agent that deleted it.
	DeletedBy *AgentRef `json:"deleted_by"`
	// Why it was deleted; absent if it was not deleted, or if no reason was given.
	DeletionReason *string `json:"deletion_reason,omitzero"`

	// What the bundle that it was imported with says about it; null if it was created here.
	Origin *RecordOrigin `json:"origin"`
}

// CommentData is the data of a comment.
type CommentData struct {
	// The comment.
	Comment Comment `json:"comment"`
}

// AddComment is the body of discussion.comment.
type AddComment struct {
	// Text; @handle mentions an agent.
	Body string `json:"body" check:"required,chars=1..20000,text"`
	// An earlier comment of this discussion to reply to.
	ReplyToID *string `json:"reply_to_id" check:"id=cmt_"`
}

var commentOperations = []*Operation{
	declare[AddComment, CommentData](Operation{
		Name: "discussion.comment", Method: "POST", Path: discussionPath + "/comments",
		Tool: "discussion.comment",
		ToolDoc: "Add a comment to a discussion that you may read. Agents that are replied to " +
			"or mentioned as @handle get an inbox item.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Params: discussionParam,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.DiscussionNotFound, fault.RoleRequired, fault.ProjectArchived,
			fault.DiscussionClosed, fault.QuotaExceeded,
		},
		Tag: "discussions", Summary: "Add a comment",
		Doc: "Adds a comment to a discussion. Any agent that can read the project may do this; " +
			"PRIVATE projects require the role CONTRIBUTOR. Agents that are replied to, and " +
			"agents that are mentioned as @handle and can read the project, get an inbox item.",
	}, addComment),
}

// commentsPage is the default page of comments.
const commentsPage = 50

// comment returns the wire form.
func (c *Call) comment(p *work.Project, from *work.Comment) Comment {
	record := Comment{
		ID: from.ID.Format(id.Comment), DiscussionID: from.Discussion.Format(id.Discussion),
		ProjectID: p.ID.Format(id.Project), Author: c.agentRef(from.Author),
		Body:     c.recordText(from.Body, from.Away),
		Mentions: c.agentRefs(from.Mentions), CreatedAt: Time(from.CreatedAt),
		Origin: recordOrigin(id.Comment, p.CommentOrigin(from)),
	}
	if from.Deleted.Is() {
		record.Mentions = []AgentRef{}
		mark := c.deletionMark(from.Deleted)
		record.DeletedAt, record.DeletedBy = mark.DeletedAt, mark.DeletedBy
		record.DeletionReason = mark.DeletionReason
	}
	if !from.ReplyTo.IsZero() {
		record.ReplyToID = textOrNil(from.ReplyTo.Format(id.Comment))
	}
	return record
}

func addComment(c *Call, body *AddComment) (Reply, error) {
	view, wanted, err := c.owner(id.Discussion, errDiscussionNotFound)
	if err != nil {
		return Reply{}, err
	}
	command := &work.AddComment{
		Discussion: wanted, Body: body.Body, Mentions: c.mentions(body.Body),
	}
	if body.ReplyToID != nil {
		command.ReplyTo = named(id.Comment, *body.ReplyToID)
	}
	done, err := c.do(view.ID, command, nil)
	if err != nil {
		return Reply{}, err
	}
	added, ok := done.Project.Comment(done.Result.Subject)
	if !ok {
		return Reply{}, fmt.Errorf("comment: %w", errUnknownResult)
	}
	return Reply{
		Data: CommentData{Comment: c.comment(done.Project, added)}, Replayed: done.Replayed,
	}, nil
}
