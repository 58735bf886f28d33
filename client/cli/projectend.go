package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"pws/client"
)

// ProjectDeleteCommand deletes a project.
type ProjectDeleteCommand struct {
	InProject
	Yes bool `help:"Do not ask."`
}

// Run deletes the project as it was shown in the question: if it has changed since, the server
// refuses that.
func (c *ProjectDeleteCommand) Run(ctx context.Context, env *Env) error {
	caller, project, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer caller.close()
	shown, err := caller.Do(ctx, get(projectPath(project), nil))
	if err != nil {
		return err
	}
	data, err := shown.Data()
	if err != nil {
		return err
	}
	v, err := parseValue(data)
	if err != nil {
		return err
	}
	if !c.Yes {
		err := env.confirm(fmt.Sprintf("Delete project %s (%s)?", line(v.at("project.name").text()),
			project))
		if err != nil {
			return err
		}
	}
	request, err := write(http.MethodDelete, projectPath(project), nil)
	if err != nil {
		return err
	}
	request.Header = http.Header{"If-Match": {shown.Header.Get("Etag")}}
	return c.showAs(ctx, env, caller, request, func(out io.Writer, v value) error {
		_, err := fmt.Fprintf(out, "Deleted %s. Until %s: pws project restore -p %s\n", project,
			v.at("project.deleted.restorable_until").text(), project)
		return err
	})
}

// ProjectRestoreCommand restores a project.
type ProjectRestoreCommand struct{ InProject }

// Run restores the project. A deleted project is named by its ID.
func (c *ProjectRestoreCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPost, projectPath(project, "restore"), nil)
	}, say("%s  %s  %s", "project.id", "project.name", "project.status"))
}
