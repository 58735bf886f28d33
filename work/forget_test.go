package work_test

import (
	"slices"
	"strings"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// TestTasksForgetPurgedTexts purges the reason and the related files of a task: their beginnings
// go, and what the task counts stays.
func TestTasksForgetPurgedTexts(t *testing.T) {
	w := newWorld()
	w.create(t)
	made := w.must(t, &work.CreateTask{Spec: work.TaskSpec{
		Title: "t", Description: long("description"), RelatedFiles: longList("file"),
	}}).Result.Subject
	w.must(t, &work.UpdateTask{Task: made, Change: work.TaskChange{
		Status: work.TaskBlocked,
		Blocked: &work.Blocked{
			Kind: work.BlockedByNeedsInput, Reason: strings.Repeat("reason ", 900),
		},
	}})
	before, _ := w.project.Task(made, work.AsStored)
	texts := before.Texts()
	if before.Blocked.Reason == "" || len(before.Spec.RelatedFiles) == 0 {
		t.Fatalf("nothing is kept: %+v", before)
	}
	purged := []work.Hash{texts.Blocked.Hash, texts.Spec.Files.Hash}
	if !w.project.NamesTexts(purged[1:]) || w.project.NamesTexts([]work.Hash{{1}}) {
		t.Error("the project names other texts")
	}
	if _, err := w.do(agent("ann"), &work.ForgetTexts{Hashes: purged}); fault.CodeOf(err) !=
		fault.ProjectNotFound {
		t.Errorf("the owner has texts forgotten: %v", err)
	}
	if decision := w.operate(t, &work.ForgetTexts{Hashes: []work.Hash{
		texts.Spec.Description.Hash,
	}}); len(decision.Events) > 0 {
		t.Errorf("nothing is kept of the description: %+v", decision.Events)
	}
	version := w.project.Revision
	w.operate(t, &work.ForgetTexts{Hashes: purged})
	after, _ := w.project.Task(made, work.AsStored)
	if after.Blocked.Reason != "" || len(after.Spec.RelatedFiles) > 0 {
		t.Errorf("the beginnings are %q, %q", after.Blocked.Reason, after.Spec.RelatedFiles)
	}
	if after.Bytes() != before.Bytes() || after.Version != before.Version ||
		after.Blocked.Away.Hash != texts.Blocked.Hash || w.project.Revision <= version {
		t.Errorf("the task is %+v, it counts %d, before %d", after, after.Bytes(), before.Bytes())
	}
	if decision := w.operate(t, &work.ForgetTexts{Hashes: purged}); len(decision.Events) > 0 {
		t.Error("they are forgotten twice")
	}
	w.project.PastContents(func(work.Hash) { t.Error("a text is past that the task names") })
	restored, err := mustSave(t, w.project).restore()
	if err != nil {
		t.Fatal(err)
	}
	if saved, _ := restored.Task(made, work.AsStored); saved.Blocked.Reason != "" {
		t.Error("the saved task keeps a beginning")
	}
	if _, err := w.do(id.ID{}, &work.ForgetTexts{}); err != nil {
		t.Error(err)
	}
}

// TestForgettingIsBounded forgets what more tasks keep than one order is about. An event names only
// what its task kept.
func TestForgettingIsBounded(t *testing.T) {
	w := newWorld()
	w.create(t)
	var task id.ID
	for range work.OrderEventsMax + 10 {
		task = w.must(t, &work.CreateTask{Spec: work.TaskSpec{
			Title: "t", RelatedFiles: longList("file"),
		}}).Result.Subject
	}
	last, _ := w.project.Task(task, work.AsStored)
	purged := []work.Hash{{1}, last.Texts().Spec.Files.Hash, {2}}
	for _, want := range []int{work.OrderEventsMax, 10, 0} {
		if w.project.KeepsTexts(purged) != (want > 0) || w.project.KeepsTexts([]work.Hash{{1}}) {
			t.Errorf("tasks keep other texts, %d are to lose theirs", want)
		}
		events := w.operate(t, &work.ForgetTexts{Hashes: purged}).Events
		if len(events) != want {
			t.Fatalf("%d events and not %d", len(events), want)
		}
		for _, event := range events {
			if e := event.(*work.TaskTextsForgotten); !slices.Equal(e.Hashes, purged[1:2]) {
				t.Fatalf("the event names %x", e.Hashes)
			}
		}
	}
}
