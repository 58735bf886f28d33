package work_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/fault"
	"pws/work"
)

func (w *world) describe(t *testing.T, statement work.Statement) {
	t.Helper()
	w.must(t, &work.UpdateState{Statement: statement})
}

func versionsOf(p *work.Project) (all []uint64) {
	p.StateVersions(0, func(s *work.State) bool { all = append(all, s.Version); return true })
	return all
}

// A project keeps so many versions of its state with so many bytes of text; a restored project
// keeps the same.
func TestStateHistoryIsBounded(t *testing.T) {
	w := newWorld()
	w.create(t)
	first := w.project.Head()
	for n := range work.StateVersionsMax + 5 {
		w.now++
		w.describe(t, work.Statement{Summary: fmt.Sprint(n)})
	}
	newest := w.project.State().Version
	versions := versionsOf(w.project)
	if len(versions) != work.StateVersionsMax+1 || versions[0] != newest {
		t.Errorf("%d versions are kept, the newest is %d of %d", len(versions), versions[0], newest)
	}
	w.put(t, "a", "1")
	w.describe(t, work.Statement{Summary: "with a file"})
	restored, err := mustSave(t, w.project).restore()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(versionsOf(w.project), versionsOf(restored)); diff != "" {
		t.Error(diff)
	}
	if at := w.project.StateAt(first); at == nil || at.Version != newest {
		t.Errorf("the state at the first changeset: %+v", at)
	}

	large := work.Statement{Completed: []string{strings.Repeat("x", work.StateHistoryBytesMax/3)}}
	for range 5 {
		w.describe(t, large)
	}
	if versions := versionsOf(w.project); len(versions) != 3 {
		t.Errorf("%d versions with large texts are kept", len(versions))
	}
	if at := w.project.StateAt(first); at != nil {
		t.Errorf("version %d was written after the first changeset", at.Version)
	}
	// A version that is too large by itself is not kept, and what is saved remains a chunk.
	large.Completed = append(large.Completed, large.Completed[0], large.Completed[0])
	w.describe(t, large)
	w.describe(t, work.Statement{})
	if versions := versionsOf(w.project); len(versions) != 1 {
		t.Errorf("%d versions are kept after one that is too large", len(versions))
	}
	restored, err = mustSave(t, w.project).restore()
	if err != nil || len(versionsOf(restored)) != 1 {
		t.Errorf("restored: %v", err)
	}
	if emptied := w.project.State().Emptied().Names(); !cmp.Equal(emptied, []string{"completed"}) {
		t.Errorf("emptied: %v", emptied)
	}
}

// A patched member is checked in the result.
func TestPatchedCustomIsBounded(t *testing.T) {
	w := newWorld()
	w.create(t)
	grow := func(current []byte) []byte { return make([]byte, len(current)+work.CustomBytesMax/2) }
	patch := &work.UpdateState{Patch: &work.StatementPatch{Custom: grow}, Field: "state_patch."}
	w.must(t, patch)
	w.must(t, patch)
	_, err := w.do(agent("ann"), patch)
	want := fault.Invalid(fault.Field{
		Field: "state_patch.custom", Problem: "must have at most 32768 bytes",
	})
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Error(diff)
	}
	if version := w.project.State().Version; version != 3 {
		t.Errorf("version %d", version)
	}
}

// frozenStates is a project with several versions of its state.
func frozenStates(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.describe(t, work.Statement{Summary: "first", Completed: []string{"one"}})
	w.now++
	w.describe(t, frozenStatement())
	w.now++
	w.describe(t, work.Statement{Summary: "last", Custom: []byte(`{"a":1}`)})
	return w
}

// TestFrozenStates reads a project that was saved with earlier versions of its state.
func TestFrozenStates(t *testing.T) {
	p, _ := frozenProject(t, "testdata/snapshot/v9-states", frozenStates,
		map[string]work.ChunkKind{"states.cbor": work.StateChunk})
	var found []*work.State
	p.StateVersions(0, func(s *work.State) bool { found = append(found, s); return true })
	if len(found) != 4 || found[1].Statement.Objective != frozenStatement().Objective ||
		found[2].Statement.Summary != "first" || found[2].UpdatedAt != testNow ||
		!cmp.Equal(found[2].Changed.Names(), []string{"summary", "completed"}) {
		t.Errorf("%+v", found)
	}
}
