package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// StateGroup are the commands for the state of a project.
type StateGroup struct {
	View    StateViewCommand    `cmd:"" default:"withargs" help:"Show the state."`
	Edit    StateEditCommand    `cmd:"" help:"Change members of the state; the others stay."`
	History StateHistoryCommand `cmd:"" help:"List the versions of the state."`
}

// StateViewCommand shows the state.
type StateViewCommand struct {
	InProject
	Changeset string `help:"As it was at this changeset." placeholder:"CHANGESET"`
}

// Run prints the state.
func (c *StateViewCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return get(projectPath(project, "state"), filters("changeset", c.Changeset)), nil
	}, func(out io.Writer, v value) error {
		state := v.at("state")
		fmt.Fprintf(out, "Version %s, changed %s\n", state.at("version").text(),
			ago(env.Now(), state.at("updated_at").time()))
		paragraph(out, "Summary", state.at("summary").text())
		paragraph(out, "Objective", state.at("objective").text())
		paragraph(out, "Focus", state.at("current_focus").text())
		sections(out, state,
			section{"Completed", "completed"}, section{"In progress", "in_progress"},
			section{"Known problems", "known_problems"}, section{"Decisions", "decisions"},
			section{"Next", "next_actions"}, section{"Important files", "important_files"},
			section{"Dependencies", "dependencies"}, section{"Open questions", "open_questions"})
		return nil
	})
}

// stateFlags are members of the state that flags set.
type stateFlags struct {
	Summary   string   `help:"Where the project stands." placeholder:"TEXT"`
	Objective string   `help:"What it is for." placeholder:"TEXT"`
	Focus     string   `help:"What is being done." placeholder:"TEXT"`
	Next      []string `sep:"none" help:"A next action." placeholder:"TEXT"`
	Problem   []string `sep:"none" help:"A known problem." placeholder:"TEXT"`
	Decision  []string `sep:"none" help:"A decision." placeholder:"TEXT"`
	Question  []string `sep:"none" help:"An open question." placeholder:"TEXT"`
}

// mergePatch is the members that are set.
func (f *stateFlags) mergePatch() map[string]any {
	return members("summary", f.Summary, "objective", f.Objective, "current_focus", f.Focus,
		"next_actions", f.Next, "known_problems", f.Problem, "decisions", f.Decision,
		"open_questions", f.Question)
}

// StateEditCommand changes the state.
type StateEditCommand struct {
	InProject
	stateFlags
	Input   string `help:"Take a JSON merge patch from this file, - for standard input." placeholder:"FILE"`
	Version int    `help:"Only if this is the current version." placeholder:"N"`
}

// Run sends a merge patch.
func (c *StateEditCommand) Run(ctx context.Context, env *Env) error {
	patch := c.mergePatch()
	if c.Version > 0 {
		patch["expected_version"] = c.Version
	}
	var input jsontext.Value
	if c.Input != "" {
		if len(patch) > 0 {
			return usagef("the patch is either --input or flags")
		}
		var err error
		if input, err = env.jsonOf(c.Input); err != nil {
			return err
		}
	} else if len(patch) == 0 {
		return usagef("name what to change, such as --focus TEXT")
	}
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		request, err := write(http.MethodPatch, projectPath(project, "state"), patch)
		if err != nil {
			return nil, err
		}
		if input != nil {
			request.Body = input
		}
		request.Header.Set("Content-Type", "application/merge-patch+json")
		return request, nil
	}, say("The state has version %s.", "state.version"))
}

// StateHistoryCommand lists versions.
type StateHistoryCommand struct {
	InProject
	Paged
}

// Run prints the versions, newest first.
func (c *StateHistoryCommand) Run(ctx context.Context, env *Env) error {
	return c.listIn(ctx, env, c.Paged, "state/history", nil, "history",
		column{"VERSION", "version", nil}, column{"WHEN", "updated_at", asAgo},
		column{"BY", "updated_by", nil}, column{"CHANGED", "changed", asTexts})
}
