package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// longTask is the body of a task whose texts are stored as contents.
func longTask(t *testing.T) string {
	t.Helper()
	var conditions, files []string
	for n := range 30 {
		conditions = append(conditions, fmt.Sprint("condition ", n, strings.Repeat(".", 100)))
		files = append(files, fmt.Sprint("file ", n, strings.Repeat(".", 100)))
	}
	text, err := json.Marshal(map[string]any{
		"title": "long", "description": strings.Repeat("description ", 300),
		"expected_output":       strings.Repeat("output ", 500),
		"completion_conditions": conditions, "related_files": files, "skills": []string{"go"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantTexts checks that an answer has the texts of longTask.
func wantTexts(t *testing.T, of string, task any) {
	t.Helper()
	var want map[string]any
	if err := json.Unmarshal([]byte(longTask(t)), &want); err != nil {
		t.Fatal(err)
	}
	got, _ := task.(map[string]any)
	for name, value := range want {
		if fmt.Sprint(got[name]) != fmt.Sprint(value) {
			t.Errorf("%s: %s is %.80v", of, name, got[name])
		}
	}
}

// first is the first element of a list in the data of an answer.
func first(data map[string]any, list string) map[string]any {
	elements, _ := data[list].([]any)
	if len(elements) == 0 {
		return nil
	}
	one, _ := elements[0].(map[string]any)
	return one
}

// TestAnswersHaveLongTexts creates, claims, changes and reads a task with long texts. Each answer
// has them, and so has its repeat with the same Idempotency-Key, but what is stored for repeats has
// not.
func TestAnswersHaveLongTexts(t *testing.T) {
	o := newTestEngine(t)
	ann, bob := o.register("ann"), o.register("bob")
	project, _ := o.project(ann, work.Public)
	name := project.Format(id.Project)
	twice := func(who *testAgent, r request) map[string]any {
		t.Helper()
		made, data, err := o.call(who, r)
		if err != nil {
			t.Fatalf("%s: %v", r.operation, err)
		}
		if r.key == "" {
			return data
		}
		again, _, err := o.call(who, r)
		if err != nil || !again.Replayed || again.Status != made.Status {
			t.Fatalf("%s: the repeat: %v, %+v", r.operation, err, again)
		}
		if a, b := made.AppendData(nil), again.AppendData(nil); string(a) != string(b) {
			t.Errorf("%s: the repeat has another answer:\n%.300s\n%.300s", r.operation, a, b)
		}
		return data
	}
	made := twice(ann, request{
		operation: "task.create", params: []string{name}, body: longTask(t), key: "create",
	})
	wantTexts(t, "task.create", made["task"])
	task := made["task"].(map[string]any)["id"].(string)
	one := []string{task}
	for _, r := range []request{
		{operation: "task.claim", params: one, key: "claim"},
		{operation: "task.renew", params: one, key: "renew", body: "{}"},
		{operation: "task.release", params: one, key: "release", body: "{}"},
		{operation: "task.claim", params: one},
		{operation: "task.release", params: one, body: "{}"},
		{operation: "task.claim_next", key: "next", body: `{"project_id":"` + name + `"}`},
		{operation: "task.read", params: one},
		{operation: "task.update", params: one, body: `{"status":"BLOCKED","blocked":` +
			`{"kind":"TRANSIENT","reason":"` + strings.Repeat("reason ", 400) + `"}}`},
	} {
		wantTexts(t, r.operation, twice(bob, r)["task"])
	}
	data := twice(ann, request{
		operation: "checkpoint.create", params: []string{name}, key: "checkpoint",
		body: `{"summary":"s","tasks":[{"task_id":"` + task + `","title":"long"},` +
			`{"create":` + longTask(t) + `}]}`,
	})
	wantTexts(t, "checkpoint.create", first(data, "tasks"))
	wantTexts(t, "checkpoint.create", data["tasks"].([]any)[1])
	for _, r := range []struct {
		request
		list string
	}{
		{request{operation: "task.list", params: []string{name}}, "tasks"},
		{request{operation: "task.open", query: map[string]string{"status": "BLOCKED"}}, "tasks"},
		{request{operation: "claim.mine"}, "claims"},
	} {
		shown := first(twice(bob, r.request), r.list)
		if nested, ok := shown["task"].(map[string]any); ok {
			shown = nested
		}
		wantTexts(t, r.operation, shown)
		blocked, _ := shown["blocked"].(map[string]any)
		if blocked["reason"] != strings.Repeat("reason ", 400) {
			t.Errorf("%s: it is blocked by %.80v", r.operation, blocked)
		}
	}
	checkStoredAnswers(t, o, project)
}

// checkStoredAnswers checks that the stored answers of a project have no long texts.
func checkStoredAnswers(t *testing.T, o *testEngine, project id.ID) {
	t.Helper()
	view, err := o.Project(project)
	if err != nil {
		t.Fatal(err)
	}
	from, to := view.ResultRange()
	if to-from != 6 {
		t.Errorf("%d answers are stored", to-from)
	}
	for nth := from; nth < to; nth++ {
		if kept, _ := view.ResultAt(nth); len(kept.Body) > 1000 || len(kept.Tasks) == 0 {
			t.Errorf("answer %d has %d bytes, and texts of %d tasks", nth, len(kept.Body),
				len(kept.Tasks))
		}
	}
}

// TestListsReadNoLongTexts asks for what shows only titles, or cut reasons.
func TestListsReadNoLongTexts(t *testing.T) {
	o := newTestEngine(t)
	ann := o.register("ann")
	project, _ := o.project(ann, work.Public)
	name := project.Format(id.Project)
	for n := range 4 {
		_, data, err := o.call(ann, request{
			operation: "task.create", params: []string{name}, body: longTask(t),
			key: fmt.Sprint(n),
		})
		if err != nil {
			t.Fatal(err)
		}
		task := data["task"].(map[string]any)["id"].(string)
		switch n {
		case 0:
			continue
		case 1:
			_, _, err = o.call(ann, request{operation: "task.claim", params: []string{task}})
		default:
			_, _, err = o.call(ann, request{
				operation: "task.update", params: []string{task}, body: `{"status":"BLOCKED",` +
					`"blocked":{"kind":"TRANSIENT","reason":"` + strings.Repeat("why ", 900) + `"}}`,
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	reads := func(r request) (count int64, answer string) {
		t.Helper()
		before := o.reads.Load()
		reply, _, err := o.call(ann, r)
		if err != nil {
			t.Fatalf("%s: %v", r.operation, err)
		}
		return o.reads.Load() - before, string(reply.AppendData(nil))
	}
	compact := map[string]string{"detail": "compact"}
	for _, r := range []request{
		{operation: "manifest.read", params: []string{name}},
		{operation: "resume.read", params: []string{name}, query: compact},
		{operation: "opportunity.list"},
		{operation: "agent.overview"},
	} {
		count, answer := reads(r)
		if count > 0 || !strings.Contains(answer, "long") {
			t.Errorf("%s reads %d contents: %s", r.operation, count, answer)
		}
	}
	for _, detail := range []string{"standard", "full"} {
		large := map[string]string{"detail": detail, "max_chars": "200000"}
		count, answer := reads(request{
			operation: "resume.read", params: []string{name}, query: large,
		})
		if count == 0 || !strings.Contains(answer, "condition 29") {
			t.Errorf("a resume with detail %s reads %d contents: %.3000s", detail, count, answer)
		}
	}
	small := map[string]string{"detail": "full", "max_chars": "1000"}
	if count, _ := reads(request{
		operation: "resume.read", params: []string{name}, query: small,
	}); count > 4 {
		t.Errorf("a small resume reads %d contents", count)
	}
}
