package work_test

import (
	"slices"
	"testing"

	"pws/work"
)

// TestChangedFilesOfRenames: a handoff names both paths of a rename, whether it comes with the
// rename in a checkpoint or later.
func TestChangedFilesOfRenames(t *testing.T) {
	rename := work.Operation{Action: work.Rename, Path: "old", NewPath: "new"}
	later, with := newWorld(), newWorld()
	for _, w := range []*world{later, with} {
		w.create(t)
		w.put(t, "old", "1")
		w.must(t, new(work.CreateHandoff))
	}
	later.publish(t, rename)
	later.must(t, new(work.CreateHandoff))
	head := with.project.Head().ID
	with.must(t, &work.CreateCheckpoint{
		Summary: "s", Base: &head, Files: []work.CheckpointFile{{Operation: &rename}},
		Handoff: new(work.Continuation),
	})
	for _, w := range []*world{later, with} {
		handoff, want := w.project.LatestHandoff(), []string{"old", "new"}
		if !slices.Equal(handoff.ChangedFiles, want) || handoff.Changeset != w.project.Head().ID {
			t.Errorf("changed files %q, want %q", handoff.ChangedFiles, want)
		}
	}
}
