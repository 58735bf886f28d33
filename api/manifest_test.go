package api_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pws/internal/id"
	"pws/work"
)

// manifestOf is data.manifest, decoded and validated against its schema.
func (d *fakeEngine) manifestOf(t testing.TB, who string) map[string]any {
	t.Helper()
	data, err := d.read("manifest.read", who)
	if err != nil {
		t.Fatal(err)
	}
	fits(t, schema(t, "manifest.read"), data)
	manifest, _ := object(t, data)["manifest"].(map[string]any)
	return manifest
}

func TestManifestSummarisesAProject(t *testing.T) {
	d, _, last := sample(t)
	free := d.task(t, work.TaskSpec{Title: "free"})
	d.task(t, work.TaskSpec{Title: "waits", Dependencies: []id.ID{free}})
	urgent := d.task(t, work.TaskSpec{Title: "urgent", Priority: work.PriorityUrgent})
	stuck := d.task(t, work.TaskSpec{Title: "stuck"})
	d.block(t, stuck, "why?")
	mine := d.task(t, work.TaskSpec{Title: "mine"})
	d.now += 1000
	d.do(t, "bob", &work.ClaimTask{Task: mine})
	checkpoint := d.do(t, "ann", &work.CreateCheckpoint{Summary: "so far"}).Result.Subject

	got := d.manifestOf(t, "bob")
	titles := []string{}
	for _, task := range at(got, "open_work", "tasks").([]any) {
		titles = append(titles, fmt.Sprint(at(task, "title")))
	}
	for _, c := range []struct {
		want any
		path []any
	}{
		{"Parser", []any{"project", "name"}},
		{"ann", []any{"project", "owner", "handle"}},
		{3, []any{"project", "counts", "open_tasks"}},
		{"all dates", []any{"purpose"}},
		{"half", []any{"current_state", "summary"}},
		{2, []any{"current_state", "version"}},
		{[]any{"parse.go", "gone.go"}, []any{"important_files"}},
		{3, []any{"open_work", "counts", "open"}},
		{1, []any{"open_work", "counts", "in_progress"}},
		{1, []any{"open_work", "counts", "blocked"}},
		{0, []any{"open_work", "counts", "done"}},
		{1, []any{"open_work", "counts", "claimed"}},
		{urgent.Format(id.Task), []any{"open_work", "tasks", 0, "id"}},
		{1, []any{"open_work", "tasks", 2, "claim", "fencing_token"}},
		{"UNVERIFIED", []any{"verification", "status"}},
		{0, []any{"verification", "counts", "self_reports", "passed"}},
		{last.Format(id.Changeset), []any{"continuation", "head_changeset_id"}},
		{2, []any{"continuation", "state_version"}},
		{d.project.LatestHandoff().ID.Format(id.Handoff), []any{"continuation", "latest_handoff_id"}},
		{checkpoint.Format(id.Checkpoint), []any{"continuation", "latest_checkpoint_id"}},
		{2, []any{"continuation", "active_work_sessions"}},
		{"ALLOW_REUSE", []any{"reuse", "reuse_policy"}},
		{"MIT", []any{"reuse", "license_spdx"}},
	} {
		if here := at(got, c.path...); fmt.Sprint(here) != fmt.Sprint(c.want) {
			t.Errorf("%v is %v, not %v", c.path, here, c.want)
		}
	}
	if want := "urgent free mine stuck waits"; strings.Join(titles, " ") != want {
		t.Errorf("tasks %v, not %s", titles, want)
	}
}

// TestManifestOfEmptyProject: without a state the description is the purpose, and files are
// known by their names.
func TestManifestOfEmptyProject(t *testing.T) {
	d := newFakeEngine()
	d.create(t, work.About{Name: "new", Description: "for tests"})
	d.publish(t, "files", writes("z.txt", "z"), writes("docs/README.md", "deep"),
		writes("go.mod", "m"), writes("README.md", "top"))
	got := d.manifestOf(t, "")
	if got["purpose"] != "for tests" {
		t.Errorf("purpose %v", got["purpose"])
	}
	if files := fmt.Sprint(got["important_files"]); files != "[README.md go.mod]" {
		t.Errorf("files %s", files)
	}
	for path, want := range map[string]string{
		"known_problems": "[]", "dependencies": "[]", "open_work.tasks": "[]",
		"current_state.summary": "", "current_state.current_focus": "",
		"continuation.latest_handoff_id": "<nil>",
	} {
		parent, key := got, path
		if above, below, nested := strings.Cut(path, "."); nested {
			parent, key = got[above].(map[string]any), below
		}
		if value, there := parent[key]; !there || fmt.Sprint(value) != want {
			t.Errorf("%s is %v (%t), want %s", path, value, there, want)
		}
	}
	d.now += work.WorkSessionActiveSeconds * 1000
	later := d.manifestOf(t, "")
	if active := at(later, "continuation", "active_work_sessions"); fmt.Sprint(active) != "0" {
		t.Errorf("%v active after a while", active)
	}
}

// TestManifestIsCompact: whatever a project holds, lists and texts keep to their bounds.
func TestManifestIsCompact(t *testing.T) {
	answer := schema(t, "manifest.read")
	rapid.Check(t, func(t *rapid.T) {
		d := most(t).project()
		data, err := d.read("manifest.read", "bob")
		if err != nil {
			t.Fatal(err)
		}
		fits(t, answer, data)
		got := object(t, data)["manifest"]
		for _, key := range []string{"important_files", "known_problems", "dependencies"} {
			list, _ := at(got, key).([]any)
			if len(list) > 20 {
				t.Fatalf("%s has %d items", key, len(list))
			}
			for _, item := range list {
				checkShort(t, key, item)
			}
		}
		checkShort(t, "purpose", at(got, "purpose"))
		checkShort(t, "summary", at(got, "current_state", "summary"))
		tasks, _ := at(got, "open_work", "tasks").([]any)
		if len(tasks) != min(10, d.project.TasksTotal()) {
			t.Fatalf("%d tasks of %d", len(tasks), d.project.TasksTotal())
		}
	})
}

func checkShort(t *rapid.T, key string, text any) {
	if n := utf8.RuneCountInString(fmt.Sprint(text)); n > 500 {
		t.Fatalf("%s has %d characters", key, n)
	}
}

// TestBriefsAgree: a task reads the same in the manifest and in a compact resume.
func TestBriefsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := some(t).project()
		data, err := d.read("manifest.read", "bob")
		if err != nil {
			t.Fatal(err)
		}
		_, resume := d.resumeOf(t, "bob", "detail", "compact", "max_chars", "200000")
		inResume := map[any]string{}
		for _, list := range []string{"open", "claimed", "blocked"} {
			tasks, _ := at(resume, "tasks", list).([]any)
			for _, task := range tasks {
				inResume[at(task, "id")] = withoutReason(task)
			}
		}
		tasks, _ := at(object(t, data), "manifest", "open_work", "tasks").([]any)
		for _, task := range tasks {
			if other := inResume[at(task, "id")]; other != withoutReason(task) {
				t.Fatalf("%s in the manifest, %s in the resume", withoutReason(task), other)
			}
		}
	})
}

// withoutReason is a task but for the text that both cut in their own way.
func withoutReason(task any) string {
	if blocked, isObject := at(task, "blocked").(map[string]any); isObject {
		delete(blocked, "reason")
	}
	return fmt.Sprint(task)
}

// TestOutlinesOfLanguages: what a reader of a language looks for first, cut to its bounds.
func TestOutlinesOfLanguages(t *testing.T) {
	for _, c := range []struct{ path, content, want string }{
		{
			"a.md", "# One\ntext\n\n## Two\r\n    # deep\n        # code\n",
			"# One|## Two|    # deep",
		},
		{
			"a.go", "package a\n\nimport \"b\"\n\ntype T struct {\n\tn int\n}\n\nfunc F() {\n",
			"package a|type T struct {|func F() {",
		},
		{
			"a.py", "import os\nclass A:\n    def f(self):\n        def deep(): pass\n",
			"class A:|    def f(self):",
		},
		{"a.ts", "export const a = 1\ninterface I {}\nlet b\n", "export const a = 1|interface I {}"},
		{"a.sh", "x=1\nrun() {\n  echo hi\n}\n", "run() {"},
		{"a.yaml", "on:\n  push:\njobs: {}\n- x: 1\n# c: d\n", "on:|jobs: {}"},
		{"a.txt", "# none\n", ""},
		{"empty.go", "", ""},
		{"long.md", "#" + strings.Repeat("é", 200), "#" + strings.Repeat("é", 118) + "…"},
		{"many.md", strings.Repeat("# x\n", 50), strings.Repeat("# x|", 39) + "# x"},
	} {
		d := newFakeEngine()
		d.create(t, work.About{Name: "outline"})
		d.publish(t, "one", writes(c.path, c.content))
		_, got := d.resumeOf(t, "", "detail", "full")
		lines, _ := at(got, "files", 0, "outline").([]any)
		texts := make([]string, len(lines))
		for nth, line := range lines {
			texts[nth] = fmt.Sprint(line)
		}
		if joined := strings.Join(texts, "|"); joined != c.want || (lines == nil) != (c.want == "") {
			t.Errorf("%s: %q, not %q", c.path, joined, c.want)
		}
	}
}
