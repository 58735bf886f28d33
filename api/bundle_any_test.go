package api_test

import (
	"errors"
	"strings"

	"pgregory.net/rapid"

	"pws/internal/id"
	"pws/work"
)

// anyText draws a text that a request may have.
func anyText(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"x", "two\nlines", "tab\t\"quoted\" \\", "é😀\u2028", strings.Repeat("word ", 50),
	}).Draw(t, "text")
}

func anyTexts(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.Custom(anyText), 0, 3).Draw(t, "texts")
}

var bundlePaths = []string{"a.go", "b/c.md", "b/d.txt", "e/f/g", "ü.txt", "h"}

func anyOperation(t *rapid.T) work.Operation {
	path := rapid.SampledFrom(bundlePaths)
	one := work.Operation{
		Action: work.Action(rapid.IntRange(1, 4).Draw(t, "action")), Path: path.Draw(t, "path"),
	}
	if one.Action == work.Rename {
		one.NewPath = path.Draw(t, "new path")
	}
	if one.Action == work.Create || one.Action == work.Modify {
		one.Content = textBlob(rapid.SampledFrom([]string{
			"", "one\n", "two\r\n", "\x01\u2028\"😀", strings.Repeat("long", 500),
		}).Draw(t, "content"))
		one.ContentType = rapid.SampledFrom([]string{"text/plain", "text/markdown"}).Draw(t, "type")
	}
	return one
}

// anyCommand draws a command, which may be refused.
func anyCommand(t *rapid.T, d *fakeEngine) work.Command {
	switch rapid.IntRange(0, 21).Draw(t, "kind of command") {
	case 0:
		return &work.CreateArtifact{
			Name: "part", Type: work.Library, Reuse: work.AllowReuse,
			Paths: []string{rapid.SampledFrom([]string{"b", "h", "a.go"}).Draw(t, "path")},
		}
	case 1:
		return anyImport(t, d)
	case 2, 3, 4, 5, 6, 7, 8, 9:
		return anyContribution(t, d)
	}
	return anyRecord(t, d)
}

// anyRecord draws a command of a member.
func anyRecord(t *rapid.T, d *fakeEngine) work.Command {
	var tasks []id.ID
	d.project.Tasks(id.ID{}, d.now, func(one *work.Task) bool {
		tasks = append(tasks, one.ID)
		return true
	})
	task := id.ID{15: 1}
	if len(tasks) > 0 {
		task = rapid.SampledFrom(tasks).Draw(t, "task")
	}
	some := rapid.Permutation(tasks).Draw(t, "tasks")
	some = some[:rapid.IntRange(0, min(2, len(some))).Draw(t, "some")]
	switch rapid.IntRange(0, 11).Draw(t, "command") {
	case 0, 1, 2:
		return &work.PublishChangeset{
			Base: d.project.Head().ID, Message: anyText(t),
			Operations: rapid.SliceOfN(rapid.Custom(anyOperation), 1, 3).Draw(t, "operations"),
		}
	case 3:
		return &work.CreateTask{Spec: work.TaskSpec{
			Title: "title", Description: anyText(t), Skills: []string{"go"}, Dependencies: some,
			Conditions: anyTexts(t), RelatedFiles: []string{"a.go"},
		}}
	case 4:
		status := work.TaskStatus(rapid.IntRange(1, 6).Draw(t, "status"))
		change := work.TaskChange{Status: status, Dependencies: &some}
		if status == work.TaskBlocked {
			change.Blocked = &work.Blocked{Kind: work.BlockedByTransient, Reason: anyText(t)}
		}
		if rapid.Bool().Draw(t, "result") {
			change.Result = &work.TaskResult{
				Summary: anyText(t), Changeset: d.project.Head().ID,
			}
		}
		return &work.UpdateTask{Task: task, Change: change}
	case 5:
		return &work.ClaimTask{Task: task}
	case 6:
		return &work.ReleaseTask{Task: task}
	case 7:
		return &work.CreateHandoff{Continuation: work.Continuation{
			Summary: anyText(t), NextActions: anyTexts(t), Tasks: some,
			Decisions: []work.Note{{Text: "plain"}, {Text: "why", Reason: "so", Reasoned: true}},
		}}
	case 8:
		return &work.UpdateState{Statement: work.Statement{
			Summary: anyText(t), KnownProblems: anyTexts(t), Custom: []byte(`{"b":[1,2.50],"a":{}}`),
		}}
	case 9:
		entity := d.project.Entity()
		if rapid.Bool().Draw(t, "of a changeset") {
			entity = work.Entity{Type: work.EntityChangeset, ID: d.project.Head().ID}
		}
		return &work.CreateVerification{Finding: work.Finding{
			Entity: entity, Kind: work.ExternalAttestation, Outcome: work.Failed,
			Method: anyText(t), Evidence: anyTexts(t), Source: "lab", Reference: "no. 1",
		}}
	case 10:
		d.now += 2_000_000
		return &work.TakeTurn{}
	}
	return &work.AddMember{Agent: agent("bob"), Role: work.Maintainer}
}

// anyImport draws an import of an artifact of the project itself.
func anyImport(t *rapid.T, d *fakeEngine) work.Command {
	command := &work.ImportArtifact{
		Refusal: errors.New("nothing is offered"), Replace: true,
		Prefix: rapid.SampledFrom([]string{"", "in", "in/deep"}).Draw(t, "prefix"),
	}
	d.project.Artifacts(id.ID{}, func(a *work.Artifact) bool {
		command.Source, command.Refusal = d.project.ImportSource(a, agent("ann"))
		return rapid.Bool().Draw(t, "another artifact")
	})
	return command
}

// anyContribution draws the next command of a contributor. It opens a workspace if there is none.
func anyContribution(t *rapid.T, d *fakeEngine) work.Command {
	var workspaces []id.ID
	d.project.Workspaces(func(w *work.Workspace) bool {
		workspaces = append(workspaces, w.ID)
		return true
	})
	step := rapid.IntRange(0, 11).Draw(t, "step")
	if len(workspaces) == 0 || step == 0 && len(workspaces) < 3 {
		return &work.OpenWorkspace{}
	}
	workspace := rapid.SampledFrom(workspaces).Draw(t, "workspace")
	path := rapid.SampledFrom(bundlePaths)
	switch step {
	case 1, 2, 3:
		return &work.WriteWorkspaceFile{
			Workspace: workspace, Path: path.Draw(t, "path"), ContentType: "text/plain",
			Blob: *textBlob(rapid.SampledFrom([]string{"", "one\n", "mine\n"}).Draw(t, "content")),
		}
	case 0, 4:
		return &work.DeleteWorkspaceFile{Workspace: workspace, Path: path.Draw(t, "path")}
	case 5:
		return &work.RenameWorkspaceFile{
			Workspace: workspace, Path: path.Draw(t, "path"), NewPath: path.Draw(t, "new path"),
		}
	}
	var open []*work.Contribution
	d.project.Contributions(id.ID{}, func(c *work.Contribution) bool {
		if !c.Status.Final() {
			open = append(open, c)
		}
		return true
	})
	if len(open) == 0 || step < 8 {
		return &work.SubmitWorkspace{Workspace: workspace, Summary: anyText(t)}
	}
	of := rapid.SampledFrom(open).Draw(t, "contribution")
	switch {
	case step < 10:
		return &work.ReviewContribution{
			Contribution: of.ID, Revision: of.Current(), Body: anyText(t),
			Verdict: work.Verdict(rapid.IntRange(1, 3).Draw(t, "verdict")),
			Comments: []work.ReviewComment{{
				Path: d.project.CurrentRevision(of).Files[0].Path, Line: 2, Body: anyText(t),
			}},
		}
	case rapid.IntRange(0, 3).Draw(t, "turned down") == 0:
		return &work.RejectContribution{Contribution: of.ID, Reason: anyText(t)}
	case rapid.IntRange(0, 3).Draw(t, "taken back") == 0:
		return &work.WithdrawContribution{Contribution: of.ID}
	}
	plan, err := d.project.PlanAcceptance(d.project.CurrentRevision(of), d.Blob, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &work.AcceptContribution{Contribution: of.ID, Revision: of.Current(), Plan: plan}
}

// entitled draws an agent that is usually allowed to give a command.
func entitled(t *rapid.T, p *work.Project, command work.Command) id.ID {
	anyone := agent(rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "who"))
	authorOf := func(workspace id.ID) id.ID {
		w, _ := p.Workspace(workspace)
		return w.Agent
	}
	switch command := command.(type) {
	case *work.WriteWorkspaceFile:
		return authorOf(command.Workspace)
	case *work.DeleteWorkspaceFile:
		return authorOf(command.Workspace)
	case *work.RenameWorkspaceFile:
		return authorOf(command.Workspace)
	case *work.SubmitWorkspace:
		return authorOf(command.Workspace)
	case *work.WithdrawContribution:
		c, _ := p.Contribution(command.Contribution)
		return c.Author
	case *work.AcceptContribution, *work.RejectContribution:
		return agent("ann")
	case *work.ReviewContribution:
		if c, _ := p.Contribution(command.Contribution); c.Author == agent("ann") {
			return agent("bob")
		}
		return agent("ann")
	}
	return anyone
}

// anyProject draws a project with a history.
func anyProject(t *rapid.T) *fakeEngine {
	d := newFakeEngine()
	d.join("ann", "ann")
	d.join("bob", "bob")
	kind := work.ProjectKind(rapid.IntRange(1, 2).Draw(t, "kind"))
	d.do(t, "ann", &work.CreateProject{ID: agent("project"), Kind: kind, About: work.About{
		Name: "name", Description: anyText(t), Topics: []string{"one", "two"}, License: "MIT",
		Visibility: work.Public, Reuse: work.AllowReuse,
	}})
	if rapid.Bool().Draw(t, "with files") {
		d.publish(t, "files", writes("a.go", "1\n2\n3\n"), writes("b/c.md", "one\n"),
			writes("h", ""))
	}
	for range rapid.IntRange(0, 60).Draw(t, "steps") {
		d.now += 1000
		command := anyCommand(t, d)
		who := entitled(t, d.project, command)
		_, _ = d.order(d.project.ID, who, command)
	}
	if rapid.IntRange(0, 5).Draw(t, "archived") == 0 {
		d.do(t, "ann", &work.UpdateProject{Status: work.Archived})
	}
	return d
}
