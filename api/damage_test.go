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

// brokenProject is an engine on which one project cannot be read.
type brokenProject struct {
	*testEngine
	project id.ID
	err     error
	// asked counts the reads that failed.
	asked int
}

func (o *brokenProject) broken(project id.ID) error {
	if project != o.project {
		return nil
	}
	o.asked++
	return o.err
}

// Project implements api.Engine.
func (o *brokenProject) Project(project id.ID) (*work.Project, error) {
	if err := o.broken(project); err != nil {
		return nil, err
	}
	return o.testEngine.Project(project)
}

// ProjectFor implements api.Engine.
func (o *brokenProject) ProjectFor(project, agent id.ID) (*work.Project, error) {
	if err := o.broken(project); err != nil {
		return nil, err
	}
	return o.testEngine.ProjectFor(project, agent)
}

// Summary implements api.Engine.
func (o *brokenProject) Summary(project id.ID) (*work.Project, error) {
	if err := o.broken(project); err != nil {
		return nil, err
	}
	return o.testEngine.Summary(project)
}

// Readable implements api.Engine.
func (o *brokenProject) Readable(project, agent id.ID) (bool, error) {
	if err := o.broken(project); err != nil {
		return false, err
	}
	return o.testEngine.Readable(project, agent)
}

// runLists runs the reads that name no project, with an error for the project. It returns how many
// fail with that error.
func (o *brokenProject) runLists(who *testAgent, err error) (failed int) {
	o.err, o.asked = err, 0
	for _, op := range api.Table {
		if op.Method != "GET" || op.Tag == "meta" || strings.Contains(op.Path, "{") ||
			!strings.HasPrefix(op.Path, "/api/v1/") {
			continue
		}
		query := map[string]string{"q": "task"}
		if op.Name == "project.list" {
			query["q"] = "project"
		}
		_, _, found := o.call(who, request{operation: op.Name, query: query})
		if errors.Is(found, err) {
			failed++
		}
	}
	return failed
}

// TestListsLeaveOutADamagedProject runs all reads that name no project, for an agent that has
// something of everything in a project that cannot be read. Damage fails none of them, and another
// error fails some.
func TestListsLeaveOutADamagedProject(t *testing.T) {
	o := newTestEngine(t)
	ann, bob := o.register("ann"), o.register("bob")
	project, tasks := o.project(ann, work.Public, work.PriorityHigh, work.PriorityLow)
	sound, _ := o.project(ann, work.Public, work.PriorityHigh)
	o.give(ann, project, &work.ClaimTask{Task: tasks[0]})
	o.give(ann, project, &work.OpenWorkspace{})
	talk := o.give(bob, project, &work.CreateDiscussion{Title: "talk", Body: "to @ann"})
	o.give(bob, project, &work.AddComment{Discussion: talk.Subject, Body: "again to @ann"})
	broken := &brokenProject{testEngine: o, project: project}
	o.service = api.NewService(broken, api.Config{})
	o.AwaitSearch()
	if failed := broken.runLists(ann, fmt.Errorf("%w: checksum", api.ErrDamaged)); failed > 0 {
		t.Errorf("%d lists fail", failed)
	}
	if broken.asked == 0 {
		t.Error("nobody has asked for the project")
	}
	if failed := broken.runLists(ann, fault.New(fault.RateLimited, "No memory.")); failed == 0 {
		t.Error("a lack of memory fails no list")
	}
	broken.err = api.ErrDamaged
	for _, one := range []id.ID{project, sound} {
		_, _, err := o.call(ann, request{
			operation: "project.read", params: []string{one.Format(id.Project)},
		})
		if errors.Is(err, api.ErrDamaged) != (one == project) {
			t.Errorf("%s: %v", one.Format(id.Project), err)
		}
	}
}
