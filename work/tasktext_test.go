package work_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pws/internal/id"
	"pws/work"
)

func frozenRef(name string) work.Away {
	return work.Away{Hash: blob(name).Hash, Size: 3000, Bytes: 2900, Kept: 7}
}

// frozenTaskTextEvents have texts of tasks that are stored away.
var frozenTaskTextEvents = []frozenEvent{
	{"12-task-created-away", &work.TaskCreated{ID: agent("task"), Spec: work.TaskSpec{
		Title: "t", Priority: work.PriorityNormal, RelatedFiles: []string{"a.go"},
		Away: &work.SpecAway{
			Description: frozenRef("d"), Output: frozenRef("o"), Conditions: frozenRef("c"),
			Files: frozenRef("f"),
		},
	}}},
	{"13-task-updated-away", &work.TaskUpdated{Task: agent("task"), Change: work.TaskChange{
		Description: pointer(""), ExpectedOutput: pointer(""), Conditions: &[]string{},
		Status:  work.TaskBlocked,
		Blocked: &work.Blocked{Kind: work.BlockedByTransient, Reason: "r", Away: frozenRef("r")},
		Result:  &work.TaskResult{Away: frozenRef("s")},
		Away:    &work.SpecAway{Description: frozenRef("d"), Conditions: frozenRef("c")},
	}}},
	{"36-project-imported-tasks-away", &work.ProjectImported{
		Changesets: []work.ChangesetPublished{{ID: agent("changeset"), Source: work.SourceImport}},
		Tasks: []*work.Task{{
			ID: agent("task"), Status: work.TaskOpen, CreatedBy: agent("ann"), CreatedAt: testNow,
			UpdatedAt: testNow, Version: 1, Spec: work.TaskSpec{
				Title: "t", Priority: work.PriorityLow,
				Away: &work.SpecAway{Output: frozenRef("o")},
			},
		}},
	}},
}

func long(name string) string { return strings.Repeat(name+" ", 3000/(len(name)+1)) }

func longList(name string) []string {
	return slices.Repeat([]string{name + strings.Repeat(".", 80)}, 30)
}

// taskTextWorld is a project with long texts of tasks, some of which were replaced.
func taskTextWorld(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.put(t, "a.go", "1")
	made, err := w.do(agent("ann"), &work.CreateTask{Spec: work.TaskSpec{
		Title: "first", Description: long("description"), ExpectedOutput: long("output"),
		Conditions: longList("condition"), RelatedFiles: longList("file"),
	}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	first := made.Result.Subject
	keyed := func(command *work.UpdateTask, key byte) {
		if _, err := w.do(agent("ann"), command, key); err != nil {
			t.Fatal(err)
		}
	}
	keyed(&work.UpdateTask{Task: first, Change: work.TaskChange{
		Description: pointer(long("other")), Status: work.TaskBlocked,
		Blocked: &work.Blocked{Kind: work.BlockedByNeedsInput, Reason: long("reason")},
	}}, 6)
	w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "short", Description: "d"}})
	second := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "third"}}).Result.Subject
	keyed(&work.UpdateTask{Task: second, Change: work.TaskChange{
		Status: work.TaskDone, Result: &work.TaskResult{Summary: long("summary")},
	}}, 9)
	left := w.must(t, &work.CreateHandoff{Continuation: longContinuation()}).Result.Subject
	w.must(t, &work.DeleteHandoff{Handoff: left})
	return w
}

// TestFrozenTaskTexts reads a project that was saved with texts of tasks stored away.
func TestFrozenTaskTexts(t *testing.T) {
	p, _ := frozenProject(t, "testdata/snapshot/v10-tasktexts", taskTextWorld,
		map[string]work.ChunkKind{"tasks.cbor": work.TaskChunk, "past.cbor": work.PastChunk})
	w := taskTextWorld(t)
	want, got := w.project.NewestTasks(9, testNow), p.NewestTasks(9, testNow)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), savedTask); diff != "" {
		t.Error(diff)
	}
	var past, saved []work.Hash
	w.project.PastContents(func(h work.Hash) { past = append(past, h) })
	p.PastContents(func(h work.Hash) { saved = append(saved, h) })
	if len(past) != 2 || !slices.Equal(past, saved) {
		t.Errorf("past contents are %x, want %x", saved, past)
	}
	result, kept := p.ResultAt(0)
	if !kept || len(result.Tasks) != 1 || result.Tasks[0].None() {
		t.Errorf("the stored result is %+v", result)
	}
}

// load returns the contents that the test world has stored.
func (w *world) load(hash work.Hash) ([]byte, error) {
	content, ok := w.blobs[hash]
	if !ok {
		return nil, fmt.Errorf("no content %x", hash)
	}
	return content, nil
}

// texts are the texts of a task that may be stored away.
type texts struct {
	description, output, reason, summary string
	conditions, files                    []string
}

func textsOf(t *work.Task) texts {
	all := texts{
		description: t.Spec.Description, output: t.Spec.ExpectedOutput,
		conditions: t.Spec.Conditions, files: t.Spec.RelatedFiles,
	}
	if t.Blocked != nil {
		all.reason = t.Blocked.Reason
	}
	if t.Result != nil {
		all.summary = t.Result.Summary
	}
	return all
}

func (t *texts) bytes() int {
	size := len(t.description) + len(t.output) + len(t.reason) + len(t.summary)
	for _, item := range slices.Concat(t.conditions, t.files) {
		size += 16 + len(item)
	}
	return size
}

// TestTextsOfTasksAreWhole changes the texts of a task at random, between lengths at which they are
// stored away and others. With its contents it has the texts that were given, without them it
// counts as much, and it is saved and restored.
func TestTextsOfTasksAreWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	text := func() string {
		size := []int{0, 12, 1002, 2046, 2052, 5004}[random.IntN(6)]
		return strings.Repeat([]string{"a", "ä", "語"}[random.IntN(3)], size)[:size]
	}
	list := func() (items []string) {
		for range []int{0, 1, 20, 24, 25, 60}[random.IntN(6)] {
			items = append(items, strings.Repeat("i", random.IntN(120)))
		}
		return items
	}
	w := newWorld()
	w.create(t)
	task := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "t"}}).Result.Subject
	want, named := texts{}, map[work.Hash]bool{}
	for range 300 {
		var change work.TaskChange
		set := func(to *string, member **string) {
			if random.IntN(3) == 0 {
				*to = text()
				*member = pointer(*to)
			}
		}
		setList := func(to *[]string, member **[]string) {
			if random.IntN(3) == 0 {
				*to = list()
				*member = pointer(*to)
			}
		}
		set(&want.description, &change.Description)
		set(&want.output, &change.ExpectedOutput)
		setList(&want.conditions, &change.Conditions)
		setList(&want.files, &change.RelatedFiles)
		if random.IntN(3) == 0 {
			want.summary = text()
			change.Result = &work.TaskResult{Summary: want.summary}
		}
		if change.Status = work.TaskBlocked; random.IntN(2) == 0 {
			want.reason = text()
			change.Blocked = &work.Blocked{Kind: work.BlockedByTransient, Reason: want.reason}
		} else {
			want.reason, change.Status = "", work.TaskOpen
		}
		w.must(t, &work.UpdateTask{Task: task, Change: change})
		checkTexts(t, w, task, &want, named)
	}
	if len(named) < 50 {
		t.Errorf("only %d contents were stored", len(named))
	}
}

// checkTexts compares a task with its texts. named has all contents that the task ever named.
func checkTexts(t *testing.T, w *world, task id.ID, want *texts, named map[work.Hash]bool) {
	t.Helper()
	stored, _ := w.project.Task(task, w.now)
	whole, err := stored.WithTexts(w.load)
	if err != nil {
		t.Fatal(err)
	}
	diff := cmp.Diff(*want, textsOf(whole), cmp.AllowUnexported(texts{}), cmpopts.EquateEmpty())
	if diff != "" {
		t.Fatal(diff)
	}
	if count := want.bytes() + len("t"); stored.Bytes() != count || whole.Bytes() != count {
		t.Fatalf("it counts %d bytes, %d with its texts; want %d", stored.Bytes(), whole.Bytes(),
			count)
	}
	if inMemory := stored.Bytes() - stored.Texts().Bytes(); inMemory > 6*2048+4004 {
		t.Fatalf("%d bytes of texts are in memory", inMemory)
	}
	if err := w.project.Recount(); err != nil {
		t.Fatal(err)
	}
	stored.Texts().Each(func(one work.Away) {
		named[one.Hash] = true
		if len(w.blobs[one.Hash]) != one.Size {
			t.Fatalf("a content has %d bytes instead of %d", len(w.blobs[one.Hash]), one.Size)
		}
	})
	known := map[work.Hash]bool{}
	keep := func(hash work.Hash) { known[hash] = true }
	w.project.Contents(func(work.Hash) bool { return false }, keep)
	w.project.PastContents(keep)
	for hash := range named {
		if !known[hash] {
			t.Fatalf("the project has lost the content %x", hash)
		}
	}
	restored, err := mustSave(t, w.project).restore()
	if err != nil {
		t.Fatal(err)
	}
	saved, _ := restored.Task(task, w.now)
	if diff := cmp.Diff(stored, saved, cmpopts.EquateEmpty(), savedTask); diff != "" {
		t.Fatal(diff)
	}
}

// TestSameTextsChangeNothing sends the long texts of a task again.
func TestSameTextsChangeNothing(t *testing.T) {
	w := newWorld()
	w.create(t)
	spec := work.TaskSpec{
		Title: "t", Description: long("d"), ExpectedOutput: long("o"), Conditions: longList("c"),
		RelatedFiles: longList("f"),
	}
	task := w.must(t, &work.CreateTask{Spec: spec}).Result.Subject
	again := w.must(t, &work.UpdateTask{Task: task, Change: work.TaskChange{
		Description: &spec.Description, ExpectedOutput: &spec.ExpectedOutput,
		Conditions: &spec.Conditions, RelatedFiles: &spec.RelatedFiles,
	}})
	if len(again.Events) > 0 {
		t.Errorf("equal texts lead to %d events", len(again.Events))
	}
	changed := w.must(t, &work.UpdateTask{Task: task, Change: work.TaskChange{
		Description: pointer(long("e")),
	}})
	if len(changed.Events) != 1 {
		t.Errorf("another text leads to %d events", len(changed.Events))
	}
}

// TestInvalidTaskTextsAreRefused reads contents that are not the texts of a task.
func TestInvalidTaskTextsAreRefused(t *testing.T) {
	w := taskTextWorld(t)
	task := w.project.NewestTasks(9, w.now)[0]
	for _, wrong := range [][]byte{{}, {0xff}, {0xff, 1, 'h', 0xa0}, {0xff, 1, 't', 0xff}} {
		if _, err := task.WithTexts(func(work.Hash) ([]byte, error) { return wrong, nil }); err == nil {
			t.Errorf("%x is taken for a text", wrong)
		}
	}
	removed, err := task.WithTexts(func(work.Hash) ([]byte, error) { return nil, nil })
	if err != nil || removed.Spec.Description != "" || len(removed.Blocked.Reason) != 1001 {
		t.Errorf("with removed contents: %v, %+v", err, removed)
	}
}
