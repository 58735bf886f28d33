package main

import (
	"fmt"
	"io"

	"pws/actors"
	"pws/internal/fault"
	"pws/internal/id"
)

// AdminHideCommand hides a project from all but its members.
type AdminHideCommand struct {
	Project string `arg:"" help:"ID of the project."`
	Reason  string `required:"" help:"Why; the members see it."`
}

// AdminShowCommand shows a hidden project again.
type AdminShowCommand struct {
	Project string `arg:"" help:"ID of the project."`
	Reason  string `help:"Why; it is noted in the log of actions."`
}

// AdminRemoveCommand removes a project.
type AdminRemoveCommand struct {
	Project string `arg:"" help:"ID of the project."`
	Reason  string `required:"" help:"Why; it is noted in the log of actions."`
}

type (
	adminProjectBody struct {
		Project string `json:"project"`
		Reason  string `json:"reason"`
	}
	adminProjectData struct {
		ProjectID  string `json:"project_id"`
		Visibility string `json:"visibility"`
	}
)

// ofProject makes an action of the operator out of one on a project.
func ofProject(
	act func(e *actors.Engine, project id.ID, reason string) error,
) func(*actors.Engine, *adminProjectBody) (any, error) {
	return func(e *actors.Engine, body *adminProjectBody) (any, error) {
		project, ok := id.Parse(id.Project, body.Project)
		if !ok {
			return nil, fault.NoProject()
		}
		if err := act(e, project, body.Reason); err != nil {
			return nil, err
		}
		view, err := e.Project(project)
		if err != nil {
			return nil, err
		}
		return adminProjectData{body.Project, view.Visibility.String()}, nil
	}
}

var (
	_ = registerAdmin("hide", ofProject((*actors.Engine).HideProject))
	_ = registerAdmin("show", ofProject((*actors.Engine).ShowProject))
	_ = registerAdmin("remove", ofProject((*actors.Engine).RemoveProject))
)

// Run hides the project.
func (c *AdminHideCommand) Run(admin *AdminCommand, out io.Writer) error {
	return runAdminCommand(admin, out, "hide", adminProjectBody{c.Project, c.Reason},
		func(data *adminProjectData) string {
			return fmt.Sprintf("hid %s from all but its members", data.ProjectID)
		})
}

// Run shows the project.
func (c *AdminShowCommand) Run(admin *AdminCommand, out io.Writer) error {
	return runAdminCommand(admin, out, "show", adminProjectBody{c.Project, c.Reason},
		func(data *adminProjectData) string {
			return fmt.Sprintf("%s is %s", data.ProjectID, data.Visibility)
		})
}

// Run removes the project.
func (c *AdminRemoveCommand) Run(admin *AdminCommand, out io.Writer) error {
	return runAdminCommand(admin, out, "remove", adminProjectBody{c.Project, c.Reason},
		func(data *adminProjectData) string { return "removed " + data.ProjectID })
}
