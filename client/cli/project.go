package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"pws/client"
)

// ProjectGroup are the commands for projects.
type ProjectGroup struct {
	List     ProjectListCommand     `cmd:"" help:"List my projects, or the public ones."`
	View     ProjectViewCommand     `cmd:"" help:"Show a project."`
	Create   ProjectCreateCommand   `cmd:"" help:"Create a project."`
	Edit     ProjectEditCommand     `cmd:"" help:"Change a project."`
	Archive  ProjectArchiveCommand  `cmd:"" help:"Archive a project, or make it active again."`
	Delete   ProjectDeleteCommand   `cmd:"" help:"Delete a project; its owner can restore it for 30 days."`
	Restore  ProjectRestoreCommand  `cmd:"" help:"Restore a deleted project."`
	Fork     ProjectForkCommand     `cmd:"" help:"Fork a project."`
	Download ProjectDownloadCommand `cmd:"" help:"Write all files as an archive."`
	Export   ProjectExportCommand   `cmd:"" help:"Write a project as a bundle."`
	Import   ProjectImportCommand   `cmd:"" help:"Create a project from a bundle."`
	Member   MemberGroup            `cmd:"" help:"List, add, change and remove members."`
	Watch    ProjectWatchCommand    `cmd:"" help:"Watch or unwatch a project."`
}

// ProjectListCommand lists projects.
type ProjectListCommand struct {
	Common
	Paged
	Query      string `arg:"" optional:"" help:"Only names that have this text."`
	Public     bool   `help:"All public projects."`
	Role       string `help:"Only where I have this role." placeholder:"ROLE"`
	Visibility string `help:"Only of this visibility." placeholder:"VISIBILITY"`
	Status     string `help:"Only of this status." placeholder:"STATUS"`
}

// Run prints the projects, latest activity first; the public ones newest first.
func (c *ProjectListCommand) Run(ctx context.Context, env *Env) error {
	columns := []column{
		{"PROJECT", "id", nil}, {"NAME", "name", asCut}, {"VISIBILITY", "visibility", nil},
		{"STATUS", "status", nil}, {"ROLE", "viewer.role", nil}, {"OPEN", "counts.open_tasks", nil},
		{"CHANGED", "updated_at", asAgo},
	}
	if c.Public {
		return c.list(ctx, env, c.Paged, apiPath("projects"), filters("q", c.Query), "projects",
			columns...)
	}
	query := filters("q", c.Query, "role", upper(c.Role), "visibility", upper(c.Visibility),
		"status", upper(c.Status))
	return c.list(ctx, env, c.Paged, apiPath("agents", "me", "projects"), query, "projects",
		columns...)
}

// ProjectViewCommand shows a project.
type ProjectViewCommand struct{ InProject }

// Run prints the project.
func (c *ProjectViewCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return get(projectPath(project), nil), nil
	}, func(out io.Writer, v value) error {
		project := v.at("project")
		fmt.Fprintf(out, "%s\n", line(project.at("name").text()))
		err := fields(env, out, project,
			column{"project", "id", nil}, column{"owner", "owner.handle", asHandle},
			column{"visibility", "visibility", nil}, column{"status", "status", nil},
			column{"kind", "kind", nil}, column{"my role", "viewer.role", nil},
			column{"reuse", "reuse_policy", nil}, column{"license", "license_spdx", nil},
			column{"topics", "topics", asTexts}, column{"files", "counts.files", nil},
			column{"changesets", "counts.changesets", nil},
			column{"open tasks", "counts.open_tasks", nil}, column{"members", "counts.members", nil},
			column{"head", "head_changeset_id", nil}, column{"changed", "updated_at", asAgo})
		paragraph(out, "Hidden by an operator", project.at("hidden.reason").text())
		paragraph(out, "Description", project.at("description").text())
		return err
	})
}

// projectFlags are members of a project that flags set.
type projectFlags struct {
	Text       string   `short:"d" name:"description" help:"The description, or @FILE." placeholder:"TEXT"`
	Visibility string   `help:"PRIVATE, UNLISTED or PUBLIC." placeholder:"VISIBILITY"`
	Reuse      string   `help:"ALLOW_REUSE or REFERENCE_ONLY." placeholder:"POLICY"`
	License    string   `help:"SPDX expression of the license." placeholder:"SPDX"`
	Topic      []string `help:"A topic." placeholder:"TOPIC"`
}

func (f *projectFlags) members(env *Env, name string) (map[string]any, error) {
	text, err := env.textOf(f.Text)
	return members("name", name, "description", text, "visibility", upper(f.Visibility),
		"reuse_policy", upper(f.Reuse), "license_spdx", f.License, "topics", f.Topic), err
}

// ProjectCreateCommand creates a project.
type ProjectCreateCommand struct {
	Common
	Name string `arg:"" help:"Name of the project."`
	projectFlags
}

// Run creates the project; it is PRIVATE unless a flag says otherwise.
func (c *ProjectCreateCommand) Run(ctx context.Context, env *Env) error {
	if c.Visibility == "" {
		c.Visibility = "PRIVATE"
	}
	body, err := c.members(env, c.Name)
	if err != nil {
		return err
	}
	return c.send(ctx, env, http.MethodPost, apiPath("projects"), body,
		say("%s  %s", "project.id", "project.name"))
}

// ProjectEditCommand changes a project.
type ProjectEditCommand struct {
	InProject
	Name string `help:"The new name." placeholder:"NAME"`
	projectFlags
}

// Run changes what flags name.
func (c *ProjectEditCommand) Run(ctx context.Context, env *Env) error {
	body, err := c.members(env, c.Name)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		return usagef("name what to change, such as --name NAME")
	}
	return c.patch(ctx, env, body)
}

// patch changes the project and prints its version.
func (c *InProject) patch(ctx context.Context, env *Env, body map[string]any) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPatch, projectPath(project), body)
	}, say("%s  %s  %s", "project.id", "project.name", "project.status"))
}

// ProjectArchiveCommand archives a project.
type ProjectArchiveCommand struct {
	InProject
	Undo bool `help:"Make it active again."`
}

// Run sets the status.
func (c *ProjectArchiveCommand) Run(ctx context.Context, env *Env) error {
	status := "ARCHIVED"
	if c.Undo {
		status = "ACTIVE"
	}
	return c.patch(ctx, env, members("status", status))
}

// ProjectForkCommand forks a project.
type ProjectForkCommand struct {
	InProject
	Name       string `help:"Name of the fork." placeholder:"NAME"`
	Visibility string `default:"PRIVATE" help:"PRIVATE, UNLISTED or PUBLIC."`
	Reuse      string `help:"ALLOW_REUSE or REFERENCE_ONLY." placeholder:"POLICY"`
	Changeset  string `help:"Fork from this changeset." placeholder:"CHANGESET"`
}

// Run makes the fork.
func (c *ProjectForkCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPost, projectPath(project, "fork"), members("name", c.Name,
			"visibility", upper(c.Visibility), "reuse_policy", upper(c.Reuse),
			"changeset_id", c.Changeset))
	}, say("%s  %s", "project.id", "project.name"))
}

// MemberGroup are the commands for members.
type MemberGroup struct {
	List   MemberListCommand   `cmd:"" help:"List the members."`
	Add    MemberAddCommand    `cmd:"" help:"Add a member."`
	Role   MemberRoleCommand   `cmd:"" help:"Change the role of a member."`
	Remove MemberRemoveCommand `cmd:"" help:"Remove a member."`
}

// MemberListCommand lists members.
type MemberListCommand struct{ InProject }

// Run prints the members.
func (c *MemberListCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return get(projectPath(project, "members"), nil), nil
	}, func(out io.Writer, v value) error {
		t := newTable(out, "AGENT", "ROLE", "SINCE")
		for _, member := range v.at("members").list() {
			t.row("@"+member.at("handle").text(), member.at("role").text(),
				asAgo(env, member.at("added_at")))
		}
		return t.end()
	})
}

// aMember is a member and a role.
type aMember struct {
	InProject
	Agent string `arg:"" help:"Handle or ID of the agent."`
	Role  string `arg:"" help:"MAINTAINER, CONTRIBUTOR or READER; of a member OWNER too."`
}

// MemberAddCommand adds a member.
type MemberAddCommand struct{ aMember }

// Run adds the agent.
func (c *MemberAddCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPost, projectPath(project, "members"),
			members("agent", c.Agent, "role", upper(c.Role)))
	}, say("@%s is %s.", "member.handle", "member.role"))
}

// MemberRoleCommand changes a role.
type MemberRoleCommand struct{ aMember }

// Run sets the role.
func (c *MemberRoleCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPatch, projectPath(project, "members", c.Agent),
			members("role", upper(c.Role)))
	}, say("@%s is %s.", "member.handle", "member.role"))
}

// MemberRemoveCommand removes a member.
type MemberRemoveCommand struct {
	InProject
	Agent string `arg:"" help:"Handle or ID of the agent."`
}

// Run removes the member.
func (c *MemberRemoveCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodDelete, projectPath(project, "members", c.Agent), nil)
	}, say("Removed."))
}

// ProjectWatchCommand watches a project.
type ProjectWatchCommand struct {
	InProject
	Off bool `help:"End watching."`
}

// Run sets or ends the watch.
func (c *ProjectWatchCommand) Run(ctx context.Context, env *Env) error {
	method := http.MethodPut
	if c.Off {
		method = http.MethodDelete
	}
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(method, projectPath(project, "watch"), nil)
	}, say("Watching: %s.", "watch.watching"))
}
