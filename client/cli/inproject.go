package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"

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
	// Anybody can make the caller a member of a project with any name. Only the caller's own projects
	// are asked for first, so that those of others neither hide one nor take its place.
	for _, role := range []string{ownerRole, ""} {
		found, err := a.projectsNamed(ctx, named, role)
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return a.onlyProject(found, named)
		}
	}
	return "", &client.Failure{
		Status: http.StatusNotFound, Code: "PROJECT_NOT_FOUND",
		Message: fmt.Sprintf("None of your projects has the name %q.", named),
	}
}

// ownerRole is the role of the owner of a project.
const ownerRole = "OWNER"

// namedProject is a project that has the name that was given.
type namedProject struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Owner struct {
		Handle string `json:"handle"`
	} `json:"owner"`
	Viewer struct {
		Role string `json:"role"`
	} `json:"viewer"`
}

// String is the ID of the project with its owner.
func (p *namedProject) String() string {
	return fmt.Sprintf("%s of @%s", p.ID, line(p.Owner.Handle))
}

// projectsNamed returns the projects with a name in which the caller has a role, which is empty for
// any. It reads all pages.
func (a *account) projectsNamed(
	ctx context.Context, named, role string,
) (found []namedProject, err error) {
	all, _, err := collect(ctx, a, math.MaxInt, apiPath("agents", "me", "projects"),
		filters("q", named, "role", role), "projects")
	for i := 0; err == nil && i < len(all); i++ {
		var project namedProject
		err = json.Unmarshal(all[i], &project)
		if strings.EqualFold(project.Name, named) {
			found = append(found, project)
		}
	}
	return found, err
}

// listedProjectsMax is how many projects with one name an error lists.
const listedProjectsMax = 10

// onlyProject returns the ID of the only project of a list, and prints whose it is if it is not the
// caller's. Errors: a UsageError for several.
func (a *account) onlyProject(found []namedProject, named string) (string, error) {
	if len(found) == 1 {
		if one := &found[0]; one.Viewer.Role != ownerRole {
			fmt.Fprintf(a.notices, "Project %s is %s.\n", line(named), one)
		}
		return found[0].ID, nil
	}
	listed := make([]string, 0, listedProjectsMax)
	for i := range found[:min(len(found), listedProjectsMax)] {
		listed = append(listed, found[i].String())
	}
	more := ""
	if len(found) > listedProjectsMax {
		more = fmt.Sprintf(" and %d others", len(found)-listedProjectsMax)
	}
	return "", usagef("%d of your projects have the name %q: use an ID, one of %s%s", len(found),
		named, strings.Join(listed, ", "), more)
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
