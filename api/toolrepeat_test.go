package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// twice are calls of the tools that change something and say that a call with the same arguments
// changes nothing more. A text in angle brackets is an ID that the test has made.
var twice = map[string]request{
	"project.create": {
		body: `{"name":"two","visibility":"PRIVATE","reuse_policy":"REFERENCE_ONLY"}`,
	},
	"file.write": {
		params: []string{"<project>", "a.md"}, body: `{"content":"new\n","message":"m"}`,
	},
	"changeset.commit": {
		params: []string{"<project>"},
		body: `{"base_changeset_id":"<head>","operations":[` +
			`{"action":"CREATE","path":"b.md","content":"b"}]}`,
	},
	"handoff.create":   {params: []string{"<project>"}, body: `{"summary":"go on"}`},
	"task.create":      {params: []string{"<project>"}, body: `{"title":"one"}`},
	"workspace.create": {params: []string{"<project>"}},
	"workspace.file.write": {
		params: []string{"<workspace>", "a.md"}, body: `{"content":"new\n"}`,
	},
	"workspace.file.delete": {params: []string{"<workspace>", "a.md"}},
	"contribution.submit":   {params: []string{"<workspace>"}, body: `{"summary":"s"}`},
	"workspace.close":       {params: []string{"<workspace>"}},
	"project.watch":         {params: []string{"<project>"}},
	"project.unwatch":       {params: []string{"<project>"}},
}

// TestIdempotentTools calls every tool twice that writes and is said to be idempotent. The first
// call changes something, the second leaves all as it was.
func TestIdempotentTools(t *testing.T) {
	o := newTestEngine(t)
	ann := o.register("ann")
	for _, tool := range api.Tools(api.Table) {
		if !tool.Operation.Writes() || !tool.Idempotent() {
			continue
		}
		t.Run(tool.Name, func(t *testing.T) {
			call, listed := twice[tool.Name]
			if !listed {
				t.Fatal("is not tried")
			}
			o.t = t
			o.callTwice(ann, tool.Operation, call)
		})
	}
}

func (o *testEngine) callTwice(ann *testAgent, op *api.Operation, call request) {
	o.t.Helper()
	project, _ := o.project(ann, work.Public)
	first := o.give(ann, project, &work.PublishChangeset{
		Base: o.view(project).Head().ID, Operations: []work.Operation{{
			Action: work.Create, Path: "a.md", ContentType: "text/markdown", Content: textBlob("a\n"),
		}},
	})
	workspace := o.give(ann, project, &work.OpenWorkspace{}).Subject
	prepared := map[string]request{
		"workspace.submit": {
			operation: "workspace.file.write", body: `{"content":"mine\n"}`,
			params: []string{workspace.Format(id.Workspace), "a.md"},
		},
		"project.unwatch": {
			operation: "project.watch", params: []string{project.Format(id.Project)},
		},
	}
	if before, wanted := prepared[op.Name]; wanted {
		if _, _, err := o.call(ann, before); err != nil {
			o.t.Fatal(err)
		}
	}
	names := strings.NewReplacer("<project>", project.Format(id.Project),
		"<head>", first.Changeset.Format(id.Changeset), "<workspace>", workspace.Format(id.Workspace))
	call.operation, call.body = op.Name, names.Replace(call.body)
	call.params = strings.Fields(names.Replace(strings.Join(call.params, " ")))
	if op.Idempotency == api.KeyRequired {
		call.key = op.Name
	}
	none, few := o.view(project), o.projects(ann)
	if _, _, err := o.call(ann, call); err != nil {
		o.t.Fatal(err)
	}
	view, projects := o.view(project), o.projects(ann)
	if view == none && projects == few {
		o.t.Error("the first call changed nothing")
	}
	_, _, err := o.call(ann, call)
	var refusal *fault.Error
	if err != nil && !errors.As(err, &refusal) {
		o.t.Error(err)
	}
	if now := o.view(project); now != view {
		o.t.Errorf("the second call changed the project: %v", now.Version)
	}
	if now := o.projects(ann); now != projects {
		o.t.Errorf("%s projects, and %s after the second call", projects, now)
	}
}

func (o *testEngine) view(project id.ID) *work.Project {
	o.t.Helper()
	view, err := o.Project(project)
	if err != nil {
		o.t.Fatal(err)
	}
	return view
}

// projects is the number of projects of an agent.
func (o *testEngine) projects(who *testAgent) string {
	o.t.Helper()
	_, data, err := o.call(who, request{operation: "project.mine"})
	if err != nil {
		o.t.Fatal(err)
	}
	list, _ := data["projects"].([]any)
	return fmt.Sprint(len(list))
}
