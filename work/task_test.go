package work_test

import (
	"fmt"
	"strings"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// A list that was emptied is empty after a replay as well, however the emptiness was spelled.
func TestEmptiedListsAreReplayed(t *testing.T) {
	w := newWorld()
	w.create(t)
	first := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "first"}}).Result.Subject
	task := w.must(t, &work.CreateTask{Spec: work.TaskSpec{
		Title: "second", Skills: []string{"go"}, Dependencies: []id.ID{first},
		RelatedFiles: []string{"a"}, Conditions: []string{"c"},
	}}).Result.Subject
	w.must(t, &work.UpdateTask{Task: task, Change: work.TaskChange{
		Skills: new([]string), Dependencies: new([]id.ID), RelatedFiles: new([]string),
		Conditions: new([]string),
	}})
	replayed, err := replayOn(nil, w.log)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*work.Project{"live": w.project, "replayed": replayed} {
		got, ok := p.Task(task, w.now)
		if !ok || len(got.Spec.Skills) != 0 || len(got.Spec.Dependencies) != 0 ||
			len(got.Spec.RelatedFiles) != 0 || len(got.Spec.Conditions) != 0 {
			t.Errorf("%s: %+v", name, got.Spec)
		}
	}
}

// Only so many who once held a task are remembered: those who claimed it last.
func TestOnlyNewestHoldersAreRemembered(t *testing.T) {
	w := newWorld()
	w.create(t)
	task := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "t"}}).Result.Subject
	claim := func(who string) {
		t.Helper()
		for _, command := range []work.Command{
			&work.ClaimTask{Task: task}, &work.ReleaseTask{Task: task},
		} {
			if _, err := w.do(agent(who), command); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range 20 {
		claim(fmt.Sprint("a", n))
		claim("often")
	}
	claim("a7")
	codes := map[string]fault.Code{
		"a3": fault.RoleRequired, "a4": fault.RoleRequired, "a6": fault.ClaimLost,
		"a7": fault.ClaimLost, "a8": fault.ClaimLost, "a19": fault.ClaimLost,
		"often": fault.ClaimLost, "never": fault.RoleRequired,
	}
	for who, want := range codes {
		command := &work.UpdateTask{Task: task, Change: work.TaskChange{Status: work.TaskDone}}
		if _, err := w.do(agent(who), command); fault.CodeOf(err) != want {
			t.Errorf("%s gets %v, want %s", who, err, want)
		}
	}
	if got, _ := w.project.Task(task, w.now); len(got.Holders) != 16 {
		t.Errorf("%d holders are remembered", len(got.Holders))
	}
}

// A TaskUpdated event has a status only if the status changed.
func TestEventsContainOnlySteps(t *testing.T) {
	w := newWorld()
	w.create(t)
	task := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "t"}}).Result.Subject
	for i, want := range []work.TaskStatus{work.TaskDone, 0, work.TaskOpen, 0} {
		command := &work.UpdateTask{Task: task}
		command.Change.Status = []work.TaskStatus{work.TaskDone, work.TaskOpen}[i/2]
		command.Change.Title = pointer(fmt.Sprint(i))
		decision := w.must(t, command)
		updated, ok := decision.Events[0].(*work.TaskUpdated)
		if !ok || len(decision.Events) != 1 || updated.Change.Status != want {
			t.Errorf("change %d has the event %+v", i, decision.Events[0])
		}
	}
}

// What changes do not need any longer is free again, and a restored project knows what it holds.
func TestTextsAreCounted(t *testing.T) {
	const big = 1 << 20
	w := newWorld()
	w.create(t)
	fits := work.TextBytesMax/big - 1
	for n := range fits {
		spec := work.TaskSpec{Title: fmt.Sprint(n), Description: strings.Repeat("x", big)}
		w.must(t, &work.CreateTask{Spec: spec})
	}
	task := w.project.NewestTasks(1, w.now)[0].ID
	for n := range 5 {
		w.must(t, &work.UpdateTask{Task: task, Change: work.TaskChange{
			Description: pointer(strings.Repeat(fmt.Sprint(n), big)),
		}})
	}
	restored, err := mustSave(t, w.project).restore()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*work.Project{"live": w.project, "restored": restored} {
		for size, want := range map[int]fault.Code{big / 2: "", big: fault.QuotaExceeded} {
			command := &work.CreateTask{Spec: work.TaskSpec{Description: strings.Repeat("y", size)}}
			_, err := work.Decide(command, p, w.stamp(agent("ann")))
			if fault.CodeOf(err) != want {
				t.Errorf("%s: %d bytes more: %v, want %q", name, size, err, want)
			}
		}
	}
}
