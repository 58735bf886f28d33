package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"pws/client"
)

// InProject are the flags of commands in a project.
type InProject struct {
	Common
	Project string `short:"p" help:"ID or name of the project ($PWS_PROJECT)." placeholder:"PROJECT"`
}

// projectID is the form of the ID of a project.
var projectID = regexp.MustCompile(`^prj_[0-9a-z]{26}$`)

// errNoProject reports that a command does not know its project.
var errNoProject = errors.New("no project is named")

// open signs in and finds the project: of the flag, the environment, or the directory.
func (c *InProject) open(ctx context.Context, env *Env) (*account, string, error) {
	named := env.first(c.Project, varProject)
	if named == "" {
		bound, err := env.binding()
		if err != nil {
			return nil, "", err
		}
		named = bound.Project
	}
	if named == "" {
		return nil, "", &advisedError{UsageError{errNoProject}, "--project ID, or pws init"}
	}
	caller, err := c.account(env)
	if err != nil {
		return nil, "", err
	}
	id, err := caller.resolveProject(ctx, named)
	if err != nil {
		caller.close()
		return nil, "", err
	}
	return caller, id, nil
}

// resolveProject returns the ID of a project that is named by its ID, or by its name among those of
// the caller.
func (a *account) resolveProject(ctx context.Context, named string) (string, error) {
	if projectID.MatchString(named) {
		return named, nil
	}
	if !a.signedIn {
		return "", &advisedError{
			fmt.Errorf("names of projects are known after signing in: %w", errNotSignedIn),
			"the ID of the project, or pws login",
		}
	}
	var page struct {
		Projects []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"projects"`
	}
	path := "/api/v1/agents/me/projects?" + filters("q", named, "limit", "100").Encode()
	if err := a.Call(ctx, http.MethodGet, path, nil, &page); err != nil {
		return "", err
	}
	var found []string
	for _, project := range page.Projects {
		if strings.EqualFold(project.Name, named) {
			found = append(found, project.ID)
		}
	}
	switch len(found) {
	case 0:
		return "", &client.Failure{
			Status: http.StatusNotFound, Code: "PROJECT_NOT_FOUND",
			Message: fmt.Sprintf("None of your projects has the name %q.", named),
		}
	case 1:
		return found[0], nil
	}
	return "", usagef("%d of your projects have the name %q: use an ID, one of %s", len(found), named,
		strings.Join(found, ", "))
}

// projectPath is the path of something in a project. Parts are escaped.
func projectPath(id string, parts ...string) string {
	return apiPath(append([]string{"projects", id}, parts...)...)
}

// apiPath is a path of the interface. Parts are escaped; a part may be a path of a file.
func apiPath(parts ...string) string {
	var path strings.Builder
	path.WriteString("/api/v1")
	for _, part := range parts {
		for _, segment := range strings.Split(part, "/") {
			path.WriteByte('/')
			path.WriteString(url.PathEscape(segment))
		}
	}
	return path.String()
}

// showIn is show with a request in the project.
func (c *InProject) showIn(
	ctx context.Context, env *Env, request func(project string) (*client.Request, error),
	text func(out io.Writer, v value) error,
) error {
	caller, project, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer caller.close()
	made, err := request(project)
	if err != nil {
		return err
	}
	return c.showAs(ctx, env, caller, made, text)
}

// listIn is list with a path in the project.
func (c *InProject) listIn(
	ctx context.Context, env *Env, page Paged, part string, query url.Values, member string,
	columns ...column,
) error {
	caller, project, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer caller.close()
	return c.listAs(ctx, env, caller, page, projectPath(project, part), query, member, columns...)
}
