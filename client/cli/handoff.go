package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"pws/client"
)

// HandoffGroup are the commands for handoffs.
type HandoffGroup struct {
	List   HandoffListCommand   `cmd:"" help:"List the handoffs."`
	View   HandoffViewCommand   `cmd:"" help:"Show a handoff."`
	Create HandoffCreateCommand `cmd:"" help:"Leave a handoff for the next agent."`
}

// HandoffListCommand lists handoffs.
type HandoffListCommand struct {
	InProject
	Paged
}

// Run prints the handoffs, newest first.
func (c *HandoffListCommand) Run(ctx context.Context, env *Env) error {
	return c.listIn(ctx, env, c.Paged, "handoffs", nil, "handoffs",
		column{"HANDOFF", "id", nil}, column{"WHEN", "created_at", asAgo},
		column{"AUTHOR", "author.handle", asHandle}, column{"SUMMARY", "summary", asCut})
}

// HandoffViewCommand shows a handoff.
type HandoffViewCommand struct {
	InProject
	Handoff string `arg:"" help:"ID of the handoff."`
}

// Run prints the handoff.
func (c *HandoffViewCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return get(projectPath(project, "handoffs", c.Handoff), nil), nil
	}, func(out io.Writer, v value) error {
		handoff := v.at("handoff")
		fmt.Fprintf(out, "@%s, %s\n", line(handoff.at("author.handle").text()),
			ago(env.Now(), handoff.at("created_at").time()))
		paragraph(out, "Summary", handoff.at("summary").text())
		sections(out, handoff,
			section{"Completed", "completed_work"}, section{"Decisions", "decisions"},
			section{"What failed", "failed_approaches"}, section{"Blockers", "blockers"},
			section{"Assumptions", "assumptions"}, section{"Open questions", "open_questions"},
			section{"Next", "next_actions"}, section{"Risks", "residual_risks"},
			section{"Changed files", "changed_files"})
		return nil
	})
}

// HandoffCreateCommand leaves a handoff.
type HandoffCreateCommand struct {
	InProject
	Message  string   `short:"m" required:"" help:"Where the work stands." placeholder:"TEXT"`
	Next     []string `sep:"none" help:"A next action." placeholder:"TEXT"`
	Failed   []string `sep:"none" help:"What was tried and failed, with the reason." placeholder:"WHAT=WHY"`
	Blocker  []string `sep:"none" help:"What blocks the work." placeholder:"TEXT"`
	Question []string `sep:"none" help:"An open question." placeholder:"TEXT"`
}

// Run leaves the handoff.
func (c *HandoffCreateCommand) Run(ctx context.Context, env *Env) error {
	flags := CheckpointCommand{Message: c.Message, Failed: c.Failed, Blocker: c.Blocker, Handoff: true}
	flags.Next = c.Next
	body := flags.handoff()
	if len(c.Question) > 0 {
		body["open_questions"] = c.Question
	}
	err := c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPost, projectPath(project, "handoffs"), body)
	}, say("Handoff %s.", "handoff.id"))
	if err == nil {
		env.noteSaved(ctx)
	}
	return err
}
