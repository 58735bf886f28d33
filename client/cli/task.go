package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"

	"pws/client"
)

// TaskGroup are the commands for tasks.
type TaskGroup struct {
	List    TaskListCommand    `cmd:"" help:"List the tasks of the project."`
	Ready   TaskReadyCommand   `cmd:"" help:"List the open tasks that nobody holds."`
	View    TaskViewCommand    `cmd:"" help:"Show a task."`
	Create  TaskCreateCommand  `cmd:"" help:"Create a task."`
	Next    TaskNextCommand    `cmd:"" help:"Claim the best open task."`
	Claim   TaskClaimCommand   `cmd:"" help:"Claim a task."`
	Renew   TaskRenewCommand   `cmd:"" help:"Renew the claim of a task."`
	Release TaskReleaseCommand `cmd:"" help:"Release a claim."`
	Done    TaskDoneCommand    `cmd:"" help:"Set a task to DONE."`
	Block   TaskBlockCommand   `cmd:"" help:"Say what blocks a task."`
	Edit    TaskEditCommand    `cmd:"" help:"Change a task."`
}

// taskColumns are the columns of a list of tasks.
func taskColumns() []column {
	return []column{
		{"TASK", "id", nil}, {"STATUS", "status", nil}, {"PRIORITY", "priority", nil},
		{"HOLDER", "claim.agent_id", nil}, {"LEASE", "claim.expires_at", asAgo},
		{"TITLE", "title", asCut},
	}
}

// TaskListCommand lists tasks.
type TaskListCommand struct {
	InProject
	Paged
	Status   string `help:"Only of this status." placeholder:"STATUS"`
	Skill    string `help:"Only those that need this skill." placeholder:"SKILL"`
	Type     string `help:"Only of this type." placeholder:"TYPE"`
	Priority string `help:"Only of this priority." placeholder:"PRIORITY"`
}

// Run prints the tasks.
func (c *TaskListCommand) Run(ctx context.Context, env *Env) error {
	query := filters("status", upper(c.Status), "skill", c.Skill, "task_type", c.Type,
		"priority", upper(c.Priority))
	return c.listIn(ctx, env, c.Paged, "tasks", query, "tasks", taskColumns()...)
}

// TaskReadyCommand lists what can be claimed.
type TaskReadyCommand struct {
	InProject
	Paged
	Skill string `help:"Only those that need this skill." placeholder:"SKILL"`
}

// Run prints the open tasks without a claim.
func (c *TaskReadyCommand) Run(ctx context.Context, env *Env) error {
	query := filters("status", "OPEN", "claimed", "false", "skill", c.Skill)
	return c.listIn(ctx, env, c.Paged, "tasks", query, "tasks", taskColumns()...)
}

// aTask is the argument of commands for one task.
type aTask struct {
	Common
	Task string `arg:"" help:"ID of the task."`
}

// TaskViewCommand shows a task.
type TaskViewCommand struct{ aTask }

// Run prints the task.
func (c *TaskViewCommand) Run(ctx context.Context, env *Env) error {
	return c.show(ctx, env, get(apiPath("tasks", c.Task), nil),
		func(out io.Writer, v value) error { return printTask(env, out, v.at("task")) })
}

func printTask(env *Env, out io.Writer, task value) error {
	fmt.Fprintf(out, "%s\n", line(task.at("title").text()))
	err := fields(env, out, task,
		column{"task", "id", nil}, column{"status", "status", nil},
		column{"priority", "priority", nil}, column{"type", "task_type", nil},
		column{"skills", "skills", asTexts}, column{"depends on", "dependencies", asTexts},
		column{"files", "related_files", asTexts}, column{"holder", "claim.agent_id", nil},
		column{"claim expires", "claim.expires_at", asAgo}, column{"attempts", "attempt_count", nil},
		column{"blocked", "blocked.reason", nil}, column{"changed", "updated_at", asAgo})
	paragraph(out, "Description", task.at("description").text())
	paragraph(out, "Expected output", task.at("expected_output").text())
	points(out, "Done when", task.at("completion_conditions").texts())
	paragraph(out, "Result", task.at("result.summary").text())
	return err
}

// TaskCreateCommand creates a task.
type TaskCreateCommand struct {
	InProject
	Title    string   `arg:"" help:"What to do, in one line."`
	Text     string   `short:"d" name:"description" help:"The description, or @FILE." placeholder:"TEXT"`
	Priority string   `help:"LOW, NORMAL, HIGH or URGENT." placeholder:"PRIORITY"`
	Type     string   `help:"Type of the task." placeholder:"TYPE"`
	Skill    []string `help:"A skill that it needs." placeholder:"SKILL"`
	After    []string `help:"ID of a task that must be done first." placeholder:"TASK"`
	File     []string `help:"Path of a file that it concerns." placeholder:"PATH"`
	Expect   string   `help:"The expected output." placeholder:"TEXT"`
	DoneWhen []string `sep:"none" help:"A condition of completion." placeholder:"TEXT"`
}

// Run creates the task and prints its ID.
func (c *TaskCreateCommand) Run(ctx context.Context, env *Env) error {
	text, err := env.textOf(c.Text)
	if err != nil {
		return err
	}
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPost, projectPath(project, "tasks"), members(
			"title", c.Title, "description", text, "priority", upper(c.Priority), "task_type", c.Type,
			"skills", c.Skill, "dependencies", c.After, "related_files", c.File,
			"expected_output", c.Expect, "completion_conditions", c.DoneWhen))
	}, say("%s  %s", "task.id", "task.title"))
}

// TaskNextCommand claims the best task.
type TaskNextCommand struct {
	InProject
	Skill []string `help:"A skill of this agent." placeholder:"SKILL"`
	Type  string   `help:"Only of this type." placeholder:"TYPE"`
	Any   bool     `help:"In any project, not in that of the directory."`
}

// Run claims a task and prints it.
func (c *TaskNextCommand) Run(ctx context.Context, env *Env) error {
	claim := func(caller *account, project string) error {
		request, err := write(http.MethodPost, apiPath("tasks", "claim-next"), members(
			"project_id", project, "skills", c.Skill, "task_type", c.Type))
		if err != nil {
			return err
		}
		return c.changeClaim(ctx, env, caller, request, c.claimed(env))
	}
	if c.Any {
		caller, err := c.account(env)
		if err != nil {
			return err
		}
		defer caller.close()
		return claim(caller, "")
	}
	caller, project, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer caller.close()
	return claim(caller, project)
}

// claimed prints a task that was claimed, and how to go on.
func (*Common) claimed(env *Env) func(io.Writer, value) error {
	return func(out io.Writer, v value) error {
		if err := printTask(env, out, v.at("task")); err != nil {
			return err
		}
		id := v.at("task.id").text()
		_, err := fmt.Fprintf(out,
			"\nYour claim expires %s. When you are finished: pws task done %s -m TEXT\n",
			ago(env.Now(), v.at("claim.expires_at").time()), id)
		return err
	}
}

// TaskClaimCommand claims a task.
type TaskClaimCommand struct{ aTask }

// Run claims the task and prints it.
func (c *TaskClaimCommand) Run(ctx context.Context, env *Env) error {
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	request, err := write(http.MethodPost, apiPath("tasks", c.Task, "claim"), nil)
	if err != nil {
		return err
	}
	return c.changeClaim(ctx, env, caller, request, c.claimed(env))
}

// TaskRenewCommand renews a claim.
type TaskRenewCommand struct{ aTask }

// Run renews the claim.
func (c *TaskRenewCommand) Run(ctx context.Context, env *Env) error {
	return c.asHolder(ctx, env, nil, func(body map[string]any) (*client.Request, error) {
		return write(http.MethodPost, apiPath("tasks", c.Task, "claim", "renew"), body)
	}, say("Renewed until %s.", "claim.expires_at"))
}

// TaskReleaseCommand gives a claim back.
type TaskReleaseCommand struct{ aTask }

// Run releases the claim.
func (c *TaskReleaseCommand) Run(ctx context.Context, env *Env) error {
	return c.asHolder(ctx, env, nil, func(body map[string]any) (*client.Request, error) {
		return write(http.MethodPost, apiPath("tasks", c.Task, "release"), body)
	}, say("Released %s, which is %s now.", "task.id", "task.status"))
}

// TaskDoneCommand completes a task.
type TaskDoneCommand struct {
	aTask
	Message string `short:"m" help:"What was done." placeholder:"TEXT"`
}

// Run sets the task to DONE. The DONE of a holder who is no member must be confirmed by one.
func (c *TaskDoneCommand) Run(ctx context.Context, env *Env) error {
	body := members("status", "DONE")
	if c.Message != "" {
		body["result"] = members("summary", c.Message)
	}
	return c.patch(ctx, env, body)
}

// patch changes the task and prints its status.
func (c *aTask) patch(ctx context.Context, env *Env, body map[string]any) error {
	return c.asHolder(ctx, env, body, func(body map[string]any) (*client.Request, error) {
		return write(http.MethodPatch, apiPath("tasks", c.Task), body)
	}, say("%s is %s.", "task.id", "task.status"))
}

// asHolder sends a request about the task with the proof of the claim that was made in this
// directory, if there is one.
func (c *aTask) asHolder(
	ctx context.Context, env *Env, body map[string]any,
	request func(body map[string]any) (*client.Request, error), text func(io.Writer, value) error,
) error {
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	proof, err := env.proof(ctx, caller, c.Task)
	if err != nil {
		return err
	}
	maps.Copy(proof, body)
	made, err := request(proof)
	if err != nil {
		return err
	}
	err = c.changeClaim(ctx, env, caller, made, text)
	// Without the proof of a claim of its own, the caller learns nothing of the one that is known.
	if claimID, sent := proof["claim_id"].(string); sent && client.IsCode(err, codeClaimLost) {
		env.lost(ctx, c.Task, claimID)
	}
	return err
}

// changeClaim sends a request that may change the claim of a task, remembers what became of it, and
// prints the answer.
func (c *Common) changeClaim(
	ctx context.Context, env *Env, caller *account, request *client.Request,
	text func(io.Writer, value) error,
) error {
	sent := env.Now()
	data, err := dataOf(caller.Do(ctx, request))
	if err != nil {
		return err
	}
	env.remember(ctx, caller, data, sent)
	return c.printData(ctx, env, data, text)
}

// TaskBlockCommand says what blocks a task.
type TaskBlockCommand struct {
	aTask
	Kind    string `default:"NEEDS_INPUT" help:"DEPENDENCY, NEEDS_INPUT, CAPABILITY or TRANSIENT." placeholder:"KIND"`
	Message string `short:"m" required:"" help:"What blocks it." placeholder:"TEXT"`
}

// Run sets the task to BLOCKED.
func (c *TaskBlockCommand) Run(ctx context.Context, env *Env) error {
	return c.patch(ctx, env, members("status", "BLOCKED",
		"blocked", members("kind", upper(c.Kind), "reason", c.Message)))
}

// TaskEditCommand changes a task.
type TaskEditCommand struct {
	aTask
	Title    string `help:"The new title." placeholder:"TEXT"`
	Text     string `short:"d" name:"description" help:"The new description, or @FILE." placeholder:"TEXT"`
	Status   string `help:"The new status." placeholder:"STATUS"`
	Priority string `help:"The new priority." placeholder:"PRIORITY"`
	Expect   string `help:"The new expected output." placeholder:"TEXT"`
}

// Run changes what flags name.
func (c *TaskEditCommand) Run(ctx context.Context, env *Env) error {
	text, err := env.textOf(c.Text)
	if err != nil {
		return err
	}
	body := members("title", c.Title, "description", text, "status", upper(c.Status),
		"priority", upper(c.Priority), "expected_output", c.Expect)
	if len(body) == 0 {
		return usagef("name what to change, such as --title TEXT")
	}
	if c.Status == "" {
		// A title does not depend on who holds the task.
		request, err := write(http.MethodPatch, apiPath("tasks", c.Task), body)
		if err != nil {
			return err
		}
		return c.show(ctx, env, request, say("%s is %s.", "task.id", "task.status"))
	}
	return c.patch(ctx, env, body)
}
