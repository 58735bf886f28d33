package work_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// lateEdits are random changes of a workspace that has been submitted, as commands for any
// workspace. No path is changed twice, except that a file may take the path of a deleted one: so no
// file is both moved and written, and a new content is no moved file. No created file takes the
// path of another one: the workspace does not distinguish it from one with the same content.
func (r *workspaces) lateEdits(space id.ID) (all []func(space id.ID) work.Command) {
	used, deleted, created := map[string]bool{}, map[string]bool{}, map[string]bool{}
	sent, _ := r.project.Workspace(space)
	for _, one := range sent.Files {
		created[one.Path] = one.From == ""
	}
	for range 1 + r.draw(4) {
		at, to := r.draw.path(), r.draw.path()
		content := r.fresh(r.views[space][at])
		_, exists := r.views[space][at]
		if !exists || used[at] || used[to] && !deleted[to] {
			continue
		}
		command := func(space id.ID) work.Command {
			return &work.WriteWorkspaceFile{
				Workspace: space, Path: at, Blob: content, ContentType: "text/plain",
			}
		}
		kind := r.draw(4)
		switch kind {
		case 0:
			command = func(space id.ID) work.Command {
				return &work.DeleteWorkspaceFile{Workspace: space, Path: at}
			}
		case 1, 2:
			if created[at] && deleted[to] {
				continue
			}
			command = func(space id.ID) work.Command {
				return &work.RenameWorkspaceFile{Workspace: space, Path: at, NewPath: to}
			}
		}
		if _, err := r.do(agent("ann"), command(space)); err != nil {
			continue
		}
		used[at], deleted[at] = true, kind == 0
		if kind == 1 || kind == 2 {
			used[to], deleted[to] = true, false
		}
		one, _ := r.project.Workspace(space)
		r.views[space] = r.view(one)
		all = append(all, command)
	}
	return all
}

// origins are the files of a workspace that differ from its base, with the paths that they have
// there.
func origins(space *work.Workspace) (all []string) {
	for _, one := range space.Files {
		all = append(all, fmt.Sprintf("%s of %q: %x", one.Path, one.From, one.Blob[:4]))
	}
	return all
}

// hasTwice reports whether two files have the same content: then it cannot be said which is which.
func (s side) hasTwice() bool {
	known := map[string]bool{}
	for _, content := range s {
		if known[content] {
			return true
		}
		known[content] = true
	}
	return false
}

// TestLateEditsKeepTheirOrigins: once a revision was accepted, what the author has changed AFTER
// its submission is the same as if the author had changed it only then. Files that were moved have
// their origins, also those that the revision has created.
func TestLateEditsKeepTheirOrigins(t *testing.T) {
	compared := 0
	for range 20 * rounds {
		seed := rand.Uint64()
		r := newWorkspaces(t, seed, work.Standard)
		space := r.must(t, new(work.OpenWorkspace)).Result.Subject
		r.views[space] = r.tree()
		for range 1 + r.draw(4) {
			one, _ := r.project.Workspace(space)
			r.edit(one)
		}
		sent, err := r.do(agent("ann"), &work.SubmitWorkspace{Workspace: space, Summary: "done"})
		if err != nil || r.views[space].hasTwice() {
			continue
		}
		submitted := r.project
		accept := func() {
			c, _ := r.project.Contribution(sent.Result.Subject)
			r.must(t, &work.AcceptContribution{
				Contribution: c.ID, Revision: c.Current(), Plan: r.acceptance(c.ID),
			})
		}
		edits := r.lateEdits(space)
		accept()
		moved, _ := r.project.Workspace(space)
		if moved.Status.Final() {
			continue
		}
		r.project = submitted
		accept()
		space = r.must(t, new(work.OpenWorkspace)).Result.Subject
		for _, edit := range edits {
			r.must(t, edit(space))
		}
		anew, _ := r.project.Workspace(space)
		if got, want := origins(moved), origins(anew); !slices.Equal(got, want) {
			t.Fatalf("seed %d: the workspace has\n%q, want\n%q", seed, got, want)
		}
		compared++
	}
	if compared < rounds {
		t.Errorf("%d workspaces were compared", compared)
	}
}
