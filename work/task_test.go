package work_test

import (
	"testing"

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
