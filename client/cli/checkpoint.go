package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"pws/client"
)

// CheckpointCommand stores files, state, tasks and a handoff in one step.
type CheckpointCommand struct {
	InProject
	Message string   `short:"m" help:"What was done." placeholder:"TEXT"`
	File    []string `short:"f" sep:"none" help:"A local file to store, at PATH in the project." placeholder:"[PATH=]FILE"`
	Delete  []string `sep:"none" help:"A file to delete, named as a local one." placeholder:"FILE"`
	Base    string   `help:"Changeset under the files; that of a working copy, else the newest." placeholder:"ID"`
	Done    []string `help:"ID of a task that is done." placeholder:"TASK"`
	Failed  []string `sep:"none" help:"What was tried and failed, with the reason." placeholder:"WHAT=WHY"`
	Blocker []string `sep:"none" help:"What blocks the work." placeholder:"TEXT"`
	Handoff bool     `help:"Leave a handoff with this message, even without --failed and --blocker."`
	Input   string   `help:"Take the body of the operation from here, - for stdin." placeholder:"FILE"`

	AllowMarkers bool `help:"Store files with conflict markers too."`
	stateFlags
}

// Run stores all of it, or nothing.
func (c *CheckpointCommand) Run(ctx context.Context, env *Env) error {
	caller, project, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer caller.close()
	files, err := c.files(env, caller, project)
	if err != nil {
		return err
	}
	body, err := c.body(ctx, env, caller)
	if err != nil {
		return err
	}
	data, err := c.store(ctx, env, caller, project, body, files)
	if err != nil {
		return err
	}
	env.forget(ctx, c.Done)
	env.noteSaved(ctx)
	return c.printData(ctx, env, data, func(out io.Writer, v value) error {
		fmt.Fprintf(out, "Checkpoint %s\n", v.at("checkpoint.id").text())
		return fields(env, out, v.at("checkpoint"), column{"changeset", "changeset_id", nil},
			column{"state", "state_version", nil}, column{"handoff", "handoff_id", nil},
			column{"tasks", "task_ids", asTexts})
	})
}

// body is the body of the operation, without files.
func (c *CheckpointCommand) body(
	ctx context.Context, env *Env, caller *account,
) (any, error) {
	if c.Input != "" {
		return env.jsonOf(c.Input)
	}
	if c.Message == "" {
		return nil, usagef("say what was done: -m TEXT")
	}
	body := members("summary", c.Message, "state_patch", c.mergePatch())
	var tasks []any
	for _, id := range c.Done {
		done, err := env.proof(ctx, caller, id)
		if err != nil {
			return nil, err
		}
		done["task_id"], done["status"] = id, "DONE"
		tasks = append(tasks, done)
	}
	if len(tasks) > 0 {
		body["tasks"] = tasks
	}
	if handoff := c.handoff(); handoff != nil {
		body["handoff"] = handoff
	}
	return body, nil
}

// handoff is the handoff of the flags, nil if there is none.
func (c *CheckpointCommand) handoff() map[string]any {
	if !c.Handoff && len(c.Failed) == 0 && len(c.Blocker) == 0 {
		return nil
	}
	var failed []any
	for _, flag := range c.Failed {
		what, why, _ := strings.Cut(flag, "=")
		failed = append(failed, members("approach", what, "reason", why))
	}
	return members("summary", c.Message, "next_actions", c.Next, "failed_approaches", failed,
		"blockers", c.Blocker)
}

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
