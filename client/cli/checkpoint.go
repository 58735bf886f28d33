package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
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
	if c.Input != "" && c.makesBody() {
		return usagef("the body is either --input or flags")
	}
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
	env.forgetEnded(ctx, data)
	env.noteSaved(ctx)
	return c.printData(ctx, env, data, func(out io.Writer, v value) error {
		fmt.Fprintf(out, "Checkpoint %s\n", v.at("checkpoint.id").text())
		return fields(env, out, v.at("checkpoint"), column{"changeset", "changeset_id", nil},
			column{"state", "state_version", nil}, column{"handoff", "handoff_id", nil},
			column{"tasks", "task_ids", asTexts})
	})
}

// makesBody reports whether flags make a part of the body.
func (c *CheckpointCommand) makesBody() bool {
	return c.Message != "" || c.Base != "" || c.handoff() != nil || len(c.mergePatch()) > 0 ||
		len(c.File)+len(c.Delete)+len(c.Done) > 0
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
