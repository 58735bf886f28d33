package work_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/fault"
	"pws/internal/fieldtest"
	"pws/internal/id"
	"pws/work"
)

// endedWorld is a deleted project with two members, a held task and an open workspace.
func endedWorld(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.must(t, &work.AddMember{Agent: agent("bob"), Role: work.Maintainer})
	w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "one"}})
	var task id.ID
	w.project.Tasks(id.ID{}, w.now, func(one *work.Task) bool { task = one.ID; return false })
	if _, err := w.do(agent("eve"), &work.ClaimTask{Task: task}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.do(agent("eve"), new(work.OpenWorkspace)); err != nil {
		t.Fatal(err)
	}
	w.now += 1000
	w.must(t, &work.DeleteProject{IfMatch: anyState})
	return w
}

// TestDeletedProjects deletes projects with all kinds of records. Restored they have all that they
// had but claims and the turn.
func TestDeletedProjects(t *testing.T) {
	skip := maps.Clone(notSaved)
	maps.Copy(skip, map[string]string{
		"Record.Version": "counted", "Record.Revision": "counted", "Record.UpdatedAt": "changed",
		"savedFields.Turn": "it ends", "Project.sessions": "another one opens",
		"savedFields.Ended": "another one opens",
	})
	for name, w := range fieldWorlds(t) {
		if w.project.Moderation() != nil || w.project.End() != nil {
			continue
		}
		w.now += work.LeaseSeconds * 1000 * 100
		w.operate(t, new(work.ExpireClaims))
		before, owner := w.project, w.project.Owner
		if _, err := w.do(owner, &work.DeleteProject{IfMatch: anyState}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		deleted := w.project
		for _, member := range before.Members() {
			if deleted.Readable(member.Agent) || deleted.RoleOf(member.Agent) != work.NoRole {
				t.Errorf("%s: a member can read it", name)
			}
		}
		owned := deleted.AsOwned()
		if !owned.Readable(owner) || owned.Visibility != before.Visibility ||
			!slices.Equal(owned.Members(), before.Members()) || deleted.Visibility != work.Private {
			t.Errorf("%s: its owner sees %+v", name, owned.Record)
		}
		w.now += 1000
		if _, err := w.do(owner, new(work.RestoreProject)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		walk := fieldtest.New(skip)
		if diff := cmp.Diff(walk.Leaves(before), walk.Leaves(w.project)); diff != "" {
			t.Errorf("%s: restored (+) differs from before (-):\n%s", name, diff)
		}
	}
}

// TestModeratedDeletedProjects hides, shows and removes a deleted project.
func TestModeratedDeletedProjects(t *testing.T) {
	w := endedWorld(t)
	w.operate(t, &work.HideProject{Reason: "spam"})
	w.operate(t, &work.HideProject{Reason: "much spam"})
	if w.project.Visibility != work.Private || len(w.project.Members()) > 0 {
		t.Errorf("%+v", w.project.Record)
	}
	saved := w.project
	w.must(t, new(work.RestoreProject))
	if w.project.Visibility != work.Private || w.project.Readable(agent("eve")) ||
		!w.project.Readable(agent("bob")) {
		t.Errorf("restored, a hidden project is %s", w.project.Visibility)
	}
	w.operate(t, new(work.ShowProject))
	if w.project.Visibility != work.Public || w.project.Status != work.Active {
		t.Errorf("%+v", w.project.Record)
	}
	w.project = saved
	w.operate(t, new(work.ShowProject))
	if w.project.Visibility != work.Private || w.project.End().Visibility != work.Public ||
		w.project.Moderation() != nil || saved.End().Visibility != work.Private {
		t.Errorf("shown: %+v, %+v", w.project.Record, w.project.End())
	}
	w.operate(t, &work.RemoveProject{Reason: "malware"})
	if w.project.Restorable(agent("ann"), w.now) {
		t.Error("a removed project can be restored")
	}
	for _, command := range []work.Command{
		new(work.RestoreProject), &work.DeleteProject{IfMatch: anyState},
	} {
		if _, err := w.do(agent("ann"), command); fault.CodeOf(err) != fault.ProjectNotFound {
			t.Errorf("%T: %v", command, err)
		}
	}
	w.operate(t, new(work.EraseProject))
	if w.project.End() != nil {
		t.Error("an erased project still says what it was")
	}
}

// TestFrozenDeletedProject reads a deleted project as it was first saved.
func TestFrozenDeletedProject(t *testing.T) {
	p, head := frozenProject(t, "testdata/snapshot/v10-ended", endedWorld,
		map[string]work.ChunkKind{
			"tasks.cbor": work.TaskChunk, "workspaces.cbor": work.WorkspaceChunk,
		})
	summary, err := work.RestoreSummary(head)
	if err != nil || summary.Readable(agent("ann")) || summary.Status != work.Deleted {
		t.Fatalf("%+v, %v", summary.Record, err)
	}
	for _, one := range []*work.Project{p, summary} {
		end := one.End()
		if end.At != testNow+1000 || end.Visibility != work.Public || end.Status != work.Active ||
			!end.Has(agent("bob")) || end.Has(agent("eve")) ||
			!one.Restorable(agent("ann"), end.Until()-1) || one.Restorable(agent("bob"), end.At) {
			t.Errorf("%+v", end)
		}
	}
}

// checkEnd checks the outcome of a command where the project was deleted before, or is now: then
// nobody can read it, nobody holds anything, and the owner alone changes it, by restoring it.
func checkEnd(
	before *work.Project, w *world, who id.ID, command work.Command, outcome error,
) error {
	p := w.project
	_, restores := command.(*work.RestoreProject)
	_, leaves := command.(*work.UnwatchProject)
	_, expires := command.(*work.ExpireClaims)
	restores = restores && who == before.Owner
	if before.End() != nil && !restores && !leaves && !expires &&
		(p != before || !strings.HasSuffix(string(fault.CodeOf(outcome)), "_NOT_FOUND")) {
		return fmt.Errorf("a deleted project answers %w", outcome)
	}
	if restores && (outcome != nil || p.End() != nil) {
		return fmt.Errorf("it is not restored: %w", outcome)
	}
	if p.End() == nil {
		return nil
	}
	if _, held := p.Turn(w.now); held || p.Readable(p.Owner) || p.Readable(id.ID{}) ||
		p.ClaimedCount(0) > 0 || p.Status != work.Deleted {
		return errors.New("the deleted project can be read, or something is held")
	}
	return nil
}
