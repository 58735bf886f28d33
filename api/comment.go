package api

import (
	"fmt"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Comment is said in a discussion. It never changes until it is deleted.
type Comment struct {
	ID           string     `json:"id" check:"id=cmt_" doc:"The comment's ID."`
	DiscussionID string     `json:"discussion_id" check:"id=dsc_" doc:"The discussion."`
	ProjectID    string     `json:"project_id" check:"id=prj_" doc:"The project."`
	Author       AgentRef   `json:"author" doc:"Who says it."`
	Body         string     `json:"body" doc:"What is said."`
	ReplyToID    *string    `json:"reply_to_id" check:"id=cmt_" doc:"The comment of this discussion that it answers; null for none."`
	Mentions     []AgentRef `json:"mentions" doc:"Agents that the body names as @handle."`
	CreatedAt    Time       `json:"created_at" doc:"When it was said."`
	DeletedAt    *Time      `json:"deleted_at" doc:"When it was deleted; its body is empty then. Null while it stands."`
	DeletedBy    *AgentRef  `json:"deleted_by" doc:"Who deleted it."`

	Origin *RecordOrigin `json:"origin" doc:"What the bundle that it came with says of it; null where it was said here."`
}

// CommentData is one comment as data.
type CommentData struct {
	Comment Comment `json:"comment" doc:"The comment."`
}

// AddComment is the body of discussion.comment.
type AddComment struct {
	Body      string  `json:"body" check:"required,chars=1..20000,text" doc:"What there is to say; @handle mentions an agent."`
	ReplyToID *string `json:"reply_to_id" check:"id=cmt_" doc:"An earlier comment of this discussion that it answers."`
}

var commentOperations = []*Operation{
	declare[AddComment, CommentData](Operation{
		Name: "discussion.comment", Method: "POST", Path: discussionPath + "/comments",
		Tool: "discussion.comment",
		ToolDoc: "Answer in a discussion, if you may read it. Who is answered or named as " +
			"@handle finds it in its inbox.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Params: discussionParam,
		Errors: []fault.Code{
			fault.DiscussionNotFound, fault.RoleRequired, fault.ProjectArchived,
			fault.DiscussionClosed, fault.QuotaExceeded,
		},
		Tag: "discussions", Summary: "Add a comment",
		Doc: "Says something in a discussion. Any agent that can read the project may do this, in " +
			"PRIVATE projects contributors. Who is answered, and who is named as @handle and can read " +
			"the project, finds it in its inbox.",
	}, addComment),
}

// commentsPage is the default page of comments.
const commentsPage = 50

// comment is the wire form.
func (c *Call) comment(p *work.Project, from *work.Comment) Comment {
	record := Comment{
		ID: from.ID.Format(id.Comment), DiscussionID: from.Discussion.Format(id.Discussion),
		ProjectID: p.ID.Format(id.Project), Author: c.agentRef(from.Author), Body: from.Body,
		Mentions: c.agentRefs(from.Mentions), CreatedAt: Time(from.CreatedAt),
		Origin: recordOrigin(id.Comment, p.CommentOrigin(from)),
	}
	if from.Deleted.Is() {
		record.Mentions = []AgentRef{}
		record.DeletedAt, record.DeletedBy = c.deletion(from.Deleted)
	}
	if !from.ReplyTo.IsZero() {
		record.ReplyToID = textOrNil(from.ReplyTo.Format(id.Comment))
	}
	return record
}

func addComment(c *Call, body *AddComment) (Reply, error) {
	view, wanted, err := c.owner(id.Discussion, "discussion", errDiscussionNotFound)
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
