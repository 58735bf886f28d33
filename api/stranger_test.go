package api_test

import (
	"strings"
	"testing"

	"pws/api"
	"pws/internal/id"
	"pws/work"
)

// strangerEngine notes the projects that a caller had read without a check of its permission.
type strangerEngine struct {
	*testEngine
	read []id.ID
}

// Project implements api.Engine.
func (o *strangerEngine) Project(project id.ID) (*work.Project, error) {
	o.read = append(o.read, project)
	return o.Engine.Project(project)
}

// Summary implements api.Engine.
func (o *strangerEngine) Summary(project id.ID) (*work.Project, error) {
	o.read = append(o.read, project)
	return o.Engine.Summary(project)
}

// TestStrangerReadsNoPrivateProject has a stranger call all operations on a PRIVATE project that
// need no body, and some that have one: none of them loads it, or reads its record.
func TestStrangerReadsNoPrivateProject(t *testing.T) {
	o := &strangerEngine{testEngine: newTestEngine(t)}
	o.service.Engine = o
	ann, bob := o.register("ann"), o.register("bob")
	project, _ := o.project(ann, work.Private)
	name := project.Format(id.Project)
	calls := []request{
		{operation: "project.update", body: `{"name":"x"}`},
		{operation: "task.create", body: `{"title":"x"}`},
		{operation: "file.write", body: `{"content":"x"}`},
	}
	for _, op := range api.Table {
		if strings.Contains(op.Path, "{project}") && op.Request == nil {
			calls = append(calls, request{operation: op.Name})
		}
	}
	tried := 0
	for _, one := range calls {
		op := operation(one.operation)
		for range strings.Count(op.Path, "{") {
			one.params = append(one.params, "x")
		}
		one.params[0] = name
		o.read = nil
		if _, _, err := o.call(bob, one); err == nil {
			t.Errorf("%s is answered", one.operation)
		}
		if tried++; len(o.read) > 0 {
			t.Errorf("%s reads the project", one.operation)
		}
	}
	next := request{operation: "task.claim_next", body: `{"project_id":"` + name + `"}`, key: "k"}
	if _, _, err := o.call(bob, next); err == nil || len(o.read) > 0 {
		t.Errorf("claim_next: %v, reads %v", err, o.read)
	}
	if tried < 40 {
		t.Errorf("%d operations", tried)
	}
}
