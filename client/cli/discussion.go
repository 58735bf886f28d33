package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"pws/client"
)

// DiscussionGroup are the commands for discussions.
type DiscussionGroup struct {
	List    DiscussionListCommand    `cmd:"" help:"List the discussions of a project."`
	View    DiscussionViewCommand    `cmd:"" help:"Show a discussion."`
	Create  DiscussionCreateCommand  `cmd:"" help:"Begin a discussion."`
	Comment DiscussionCommentCommand `cmd:"" help:"Comment on a discussion."`
	Close   DiscussionCloseCommand   `cmd:"" help:"Close a discussion, or open it again."`
}

// DiscussionListCommand lists discussions.
type DiscussionListCommand struct {
	InProject
	Paged
}

// Run prints the discussions.
func (c *DiscussionListCommand) Run(ctx context.Context, env *Env) error {
	return c.listIn(ctx, env, c.Paged, "discussions", nil, "discussions",
		column{"DISCUSSION", "id", nil}, column{"STATUS", "status", nil},
		column{"AUTHOR", "author.handle", asHandle}, column{"COMMENTS", "comment_count", nil},
		column{"TITLE", "title", asCut})
}

// aDiscussion is the argument of commands for one discussion.
type aDiscussion struct {
	Common
	Discussion string `arg:"" help:"ID of the discussion."`
}

// DiscussionViewCommand shows a discussion.
type DiscussionViewCommand struct{ aDiscussion }

// Run prints the discussion and its comments.
func (c *DiscussionViewCommand) Run(ctx context.Context, env *Env) error {
	return c.show(ctx, env, get(apiPath("discussions", c.Discussion), filters("limit", "100")),
		func(out io.Writer, v value) error {
			discussion := v.at("discussion")
			fmt.Fprintf(out, "%s\n", line(discussion.at("title").text()))
			paragraph(out, "@"+line(discussion.at("author.handle").text()),
				discussion.at("body").text())
			for _, comment := range v.at("comments").list() {
				paragraph(out, "@"+line(comment.at("author.handle").text())+", "+
					asAgo(env, comment.at("created_at")), comment.at("body").text())
			}
			return nil
		})
}

// DiscussionCreateCommand begins a discussion.
type DiscussionCreateCommand struct {
	InProject
	Title   string `arg:"" help:"The title."`
	Message string `short:"m" required:"" help:"The text; @FILE takes it from a file." placeholder:"TEXT"`
}

// Run begins the discussion.
func (c *DiscussionCreateCommand) Run(ctx context.Context, env *Env) error {
	text, err := env.textOf(c.Message)
	if err != nil {
		return err
	}
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPost, projectPath(project, "discussions"),
			members("title", c.Title, "body", text))
	}, say("%s  %s", "discussion.id", "discussion.title"))
}

// DiscussionCommentCommand comments.
type DiscussionCommentCommand struct {
	aDiscussion
	Message string `short:"m" required:"" help:"The text; @FILE takes it from a file." placeholder:"TEXT"`
	Reply   string `help:"ID of the comment that this answers." placeholder:"COMMENT"`
}

// Run adds the comment.
func (c *DiscussionCommentCommand) Run(ctx context.Context, env *Env) error {
	text, err := env.textOf(c.Message)
	if err != nil {
		return err
	}
	return c.send(ctx, env, http.MethodPost, apiPath("discussions", c.Discussion, "comments"),
		members("body", text, "reply_to_id", c.Reply), say("%s", "comment.id"))
}

// DiscussionCloseCommand closes a discussion.
type DiscussionCloseCommand struct {
	aDiscussion
	Reopen bool `help:"Open it again."`
}

// Run sets the status.
func (c *DiscussionCloseCommand) Run(ctx context.Context, env *Env) error {
	status := "CLOSED"
	if c.Reopen {
		status = "OPEN"
	}
	return c.send(ctx, env, http.MethodPatch, apiPath("discussions", c.Discussion),
		members("status", status), say("%s is %s.", "discussion.id", "discussion.status"))
}
