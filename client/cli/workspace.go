package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"pws/client"
)

// WorkspaceGroup are the commands for workspaces.
type WorkspaceGroup struct {
	List    WorkspaceListCommand    `cmd:"" help:"List my workspaces."`
	Open    WorkspaceOpenCommand    `cmd:"" help:"Open a workspace in a project."`
	Status  WorkspaceStatusCommand  `cmd:"" help:"Show a workspace and what it changes."`
	Diff    WorkspaceDiffCommand    `cmd:"" help:"Print what a workspace changes."`
	Write   WorkspaceWriteCommand   `cmd:"" help:"Write a file in a workspace."`
	Refresh WorkspaceRefreshCommand `cmd:"" help:"Merge what others have published since."`
	Submit  WorkspaceSubmitCommand  `cmd:"" help:"Submit a workspace as a contribution."`
	Close   WorkspaceCloseCommand   `cmd:"" help:"Close a workspace."`
}

// WorkspaceListCommand lists workspaces.
type WorkspaceListCommand struct {
	Common
	Paged
	Status string `help:"Only of this status." placeholder:"STATUS"`
}

// Run prints the workspaces of this agent.
func (c *WorkspaceListCommand) Run(ctx context.Context, env *Env) error {
	return c.list(ctx, env, c.Paged, apiPath("agents", "me", "workspaces"),
		filters("status", upper(c.Status)), "workspaces",
		column{"WORKSPACE", "id", nil}, column{"STATUS", "status", nil},
		column{"PROJECT", "project_id", nil}, column{"FILES", "changes", asCount},
		column{"CHANGED", "updated_at", asAgo})
}

// WorkspaceOpenCommand opens a workspace.
type WorkspaceOpenCommand struct{ InProject }

// Run opens the workspace.
func (c *WorkspaceOpenCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPost, projectPath(project, "workspaces"), nil)
	}, say("%s  %s", "workspace.id", "workspace.status"))
}

// aWorkspace is the argument of commands for one workspace.
type aWorkspace struct {
	Common
	Workspace string `arg:"" help:"ID of the workspace."`
}

// WorkspaceStatusCommand shows a workspace.
type WorkspaceStatusCommand struct{ aWorkspace }

// Run prints the workspace.
func (c *WorkspaceStatusCommand) Run(ctx context.Context, env *Env) error {
	return c.show(ctx, env, get(apiPath("workspaces", c.Workspace), nil),
		func(out io.Writer, v value) error { return printWorkspace(env, out, v.at("workspace")) })
}

func printWorkspace(env *Env, out io.Writer, workspace value) error {
	err := fields(env, out, workspace,
		column{"workspace", "id", nil}, column{"status", "status", nil},
		column{"project", "project_id", nil}, column{"base", "base_changeset_id", nil},
		column{"contribution", "contribution_id", nil}, column{"ends", "expires_at", asAgo})
	var changes, conflicts []string
	for _, change := range workspace.at("changes").list() {
		changes = append(changes, change.at("action").text()+"  "+change.at("path").text())
	}
	for _, conflict := range workspace.at("conflicts").list() {
		conflicts = append(conflicts, conflict.at("kind").text()+"  "+conflict.at("path").text())
	}
	points(out, "Changes", changes)
	points(out, "Conflicts", conflicts)
	return err
}

// WorkspaceDiffCommand prints a difference.
type WorkspaceDiffCommand struct{ aWorkspace }

// Run prints a diff that git apply takes.
func (c *WorkspaceDiffCommand) Run(ctx context.Context, env *Env) error {
	return c.show(ctx, env, get(apiPath("workspaces", c.Workspace, "diff"), nil), printDiff(env))
}

// WorkspaceWriteCommand writes a file.
type WorkspaceWriteCommand struct {
	aWorkspace
	Path string `arg:"" help:"Path in the project."`
	From string `arg:"" optional:"" help:"The local file; standard input by default."`
	Type string `help:"Content type; by default it stays, or is that of the name." placeholder:"TYPE"`
}

// Run writes the file. One that is there keeps its content type, which a write without one would
// replace by that of the extension. Nobody but its author writes into a workspace.
func (c *WorkspaceWriteCommand) Run(ctx context.Context, env *Env) error {
	content, err := env.contentOf(c.From)
	if err != nil {
		return err
	}
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	if c.Type == "" {
		found, err := caller.listedFile(ctx, apiPath("workspaces", c.Workspace, "files"), c.Path)
		if err != nil {
			return err
		}
		c.Type = found.Type
	}
	body := members("content_type", c.Type)
	body["content"] = content
	request, err := write(http.MethodPut, apiPath("workspaces", c.Workspace, "files", c.Path), body)
	if err != nil {
		return err
	}
	return c.showAs(ctx, env, caller, request,
		say("Wrote %s, %s bytes.", "file.path", "file.size_bytes"))
}

// WorkspaceRefreshCommand merges.
type WorkspaceRefreshCommand struct{ aWorkspace }

// Run merges what was published in the meantime into the workspace. Conflicts are an error, after
// all else was merged.
func (c *WorkspaceRefreshCommand) Run(ctx context.Context, env *Env) error {
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	request, err := write(http.MethodPost, apiPath("workspaces", c.Workspace, "refresh"), nil)
	if err != nil {
		return err
	}
	data, err := dataOf(caller.Do(ctx, request))
	if err != nil {
		return err
	}
	err = c.printData(ctx, env, data, func(out io.Writer, v value) error {
		return printWorkspace(env, out, v.at("workspace"))
	})
	if err != nil {
		return err
	}
	v, err := parseValue(data)
	if conflicts := len(v.at("workspace.conflicts").list()); err == nil && conflicts > 0 {
		return &advisedError{
			conflictError{fmt.Errorf("%s changed on both sides", filesWere(conflicts))},
			"pws workspace write " + c.Workspace + " PATH FILE, for each of them",
		}
	}
	return err
}

// WorkspaceSubmitCommand submits.
type WorkspaceSubmitCommand struct {
	aWorkspace
	Message string `short:"m" required:"" help:"What it changes, and why." placeholder:"TEXT"`
}

// Run submits the workspace.
func (c *WorkspaceSubmitCommand) Run(ctx context.Context, env *Env) error {
	return c.send(ctx, env, http.MethodPost, apiPath("workspaces", c.Workspace, "submit"),
		members("summary", c.Message), say("%s  %s", "contribution.id", "contribution.status"))
}

// WorkspaceCloseCommand closes a workspace.
type WorkspaceCloseCommand struct{ aWorkspace }

// Run closes the workspace; what it holds is dropped.
func (c *WorkspaceCloseCommand) Run(ctx context.Context, env *Env) error {
	return c.send(ctx, env, http.MethodDelete, apiPath("workspaces", c.Workspace), nil,
		say("%s  %s", "workspace.id", "workspace.status"))
}
