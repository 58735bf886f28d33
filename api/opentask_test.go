package api_test

import (
	"fmt"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// tasksOf is data.tasks and data.next_cursor of a list.
func tasksOf(data map[string]any) (tasks []string, next string) {
	for _, one := range data["tasks"].([]any) {
		tasks = append(tasks, one.(map[string]any)["id"].(string))
	}
	next, _ = data["next_cursor"].(string)
	return tasks, next
}

// pages follows a list of public work to its end and returns all IDs.
func (o *testEngine) pages(query map[string]string) (found []string, pages int) {
	o.t.Helper()
	for cursor := ""; pages == 0 || cursor != ""; pages++ {
		if cursor != "" {
			query["cursor"] = cursor
		}
		_, data, err := o.call(nil, request{operation: "task.open", query: query})
		if err != nil {
			o.t.Fatal(err)
		}
		var more []string
		more, cursor = tasksOf(data)
		found = append(found, more...)
	}
	return found, pages
}

// One request visits a limited number of positions; then its page ends early with a cursor.
func TestOpenTasksAreScannedInBounds(t *testing.T) {
	const places = 4500
	o := newTestEngine(t)
	ada := o.register("ada")
	project, _ := o.project(ada, work.Public)
	var command work.CreateCheckpoint
	for i := range places {
		spec := &work.TaskSpec{Title: "task"}
		if i == 10 || i == places-10 {
			spec.Skills = []string{"rare"}
		}
		command.Tasks = append(command.Tasks, work.CheckpointTask{Create: spec})
	}
	o.give(ada, project, &command)
	found, pages := o.pages(map[string]string{"skill": "rare", "limit": "5"})
	if len(found) != 2 || pages != 3 {
		t.Errorf("%d tasks on %d pages", len(found), pages)
	}
	_, _, err := o.call(ada, request{operation: "task.claim_next", body: `{"task_type":"none"}`})
	if fault.CodeOf(err) != fault.TaskNotFound {
		t.Error(err)
	}
}

// The number of projects loaded per request is limited.
func TestOpenTasksReadALimitedNumberOfProjects(t *testing.T) {
	o := newTestEngine(t)
	ada := o.register("ada")
	for range 210 {
		o.project(ada, work.Public, work.PriorityHigh)
	}
	last, _ := o.project(ada, work.Public)
	want := o.give(ada, last, &work.CreateTask{
		Spec: work.TaskSpec{Title: "task", Skills: []string{"rare"}},
	}).Subject.Format(id.Task)
	found, pages := o.pages(map[string]string{"skill": "rare"})
	if len(found) != 1 || found[0] != want || pages != 2 {
		t.Errorf("%v on %d pages", found, pages)
	}
	if found, pages := o.pages(map[string]string{"limit": "200"}); len(found) != 211 || pages != 2 {
		t.Errorf("%d tasks on %d pages", len(found), pages)
	}
}

// A claim that has run out reads as gone before anybody has noted it, and the tags stay when it is.
func TestTagsDoNotChangeWhenAnExpiryIsNoted(t *testing.T) {
	o := newTestEngine(t)
	ada := o.register("ada")
	project, tasks := o.project(ada, work.Public, work.PriorityNormal, work.PriorityNormal)
	read := func(operation string, subject string, later int64) (tag, about string) {
		t.Helper()
		reply, data, err := o.call(nil, request{
			operation: operation, params: []string{subject}, later: later,
		})
		if err != nil {
			t.Fatal(err)
		}
		if record, ok := data["project"].(map[string]any); ok {
			return reply.ETag, fmt.Sprint(record["counts"])
		}
		return reply.ETag, fmt.Sprint(data["task"])
	}
	o.give(ada, project, &work.ClaimTask{Task: tasks[0]})
	for _, c := range []struct{ operation, subject string }{
		{"project.read", project.Format(id.Project)}, {"task.read", tasks[0].Format(id.Task)},
	} {
		heldTag, held := read(c.operation, c.subject, 0)
		tag, about := read(c.operation, c.subject, work.LeaseSeconds*1000)
		if tag == heldTag || about == held {
			t.Errorf("%s: the end of the claim does not show", c.operation)
		}
	}
	const lease = work.LeaseSeconds * 1000
	projectTag, projectAbout := read("project.read", project.Format(id.Project), lease)
	taskTag, taskAbout := read("task.read", tasks[0].Format(id.Task), lease)
	o.Advance(lease)
	if tag, about := read("project.read", project.Format(id.Project), 0); tag != projectTag ||
		about != projectAbout {
		t.Errorf("project: %s %s, then %s %s", projectTag, projectAbout, tag, about)
	}
	if tag, about := read("task.read", tasks[0].Format(id.Task), 0); tag != taskTag ||
		about != taskAbout {
		t.Errorf("task: %s %s, then %s %s", taskTag, taskAbout, tag, about)
	}
	// The other lists read it as free too.
	for operation, params := range map[string][]string{
		"task.open": nil, "task.list": {project.Format(id.Project)},
	} {
		_, data, err := o.call(nil, request{
			operation: operation, params: params, query: map[string]string{"status": "OPEN"},
		})
		if listed, _ := tasksOf(data); err != nil || len(listed) != 2 {
			t.Errorf("%s: %v %v", operation, listed, err)
		}
	}
}
