package actors

import (
	"slices"
	"strings"
	"testing"

	"pws/work"
)

// TestPurgeFromManyTasks purges many texts. More tasks keep a part of one of them than one order is
// about.
func TestPurgeFromManyTasks(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	command := &work.CreateCheckpoint{Summary: "plan"}
	files := slices.Repeat([]string{strings.Repeat("d", 100)}, 20)
	for range work.OrderEventsMax + 10 {
		command.Tasks = append(command.Tasks, work.CheckpointTask{Create: &work.TaskSpec{
			Title: "t", Priority: work.PriorityNormal, RelatedFiles: files,
		}})
	}
	p := mustDo(t, e, project, owner, command).Project
	hashes := []work.Hash{p.NewestTasks(1, e.Now())[0].Spec.Away.Files.Hash}
	for n := range 400 {
		hashes = append(hashes, work.Hash{1, byte(n), byte(n >> 8)})
	}
	if !p.KeepsTexts(hashes[:1]) || p.KeepsTexts(hashes[1:]) {
		t.Fatal("the tasks keep other texts")
	}
	keeping, err := e.erasing.forgetTexts(hashes)
	if err != nil || !keeping[project] {
		t.Fatal(keeping, err)
	}
	if p, err = e.Project(project); err != nil || p.KeepsTexts(hashes) {
		t.Errorf("tasks keep a part of the text: %v", err)
	}
}
