package work_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

// openLines are the lines that the project has and that the conflicts of a workspace leave to its
// author. Those of a conflict with a folder are in another file.
func (r *workspaces) openLines(space *work.Workspace, base side) map[string]bool {
	open := map[string]bool{}
	for i := range space.Conflicts {
		c := &space.Conflicts[i]
		theirs := string(r.blobs[c.Theirs])
		if c.Kind == work.AddedByBoth && base[c.Path] != theirs {
			continue
		}
		for line := range strings.Lines(theirs) {
			open[line] = open[line] || !strings.Contains(string(r.blobs[c.Base]), line)
		}
	}
	return open
}

// refreshLosingNothing refreshes a workspace: what the project has added since the base, or in an
// open conflict, is in the result or in a conflict, and so is what the workspace has added. A path
// has one conflict, which names the file that the workspace has there.
func (r *workspaces) refreshLosingNothing(space id.ID) *work.Workspace {
	r.t.Helper()
	one, _ := r.project.Workspace(space)
	begun, _ := r.project.Changeset(one.Base)
	base, ours, theirs := side{}, r.view(one), r.tree()
	r.project.FilesAt(begun, "", func(f work.FileInfo) bool {
		base[f.Path] = string(r.blobs[f.Blob])
		return true
	})
	open, before := r.openLines(one, base), one.Conflicts
	r.must(r.t, &work.RefreshWorkspace{Workspace: space, Plan: r.plan(one)})
	one, _ = r.project.Workspace(space)
	result := r.view(one)
	all := ""
	for _, content := range result {
		all += content
	}
	for i := range one.Conflicts {
		c := &one.Conflicts[i]
		all += string(r.blobs[c.Base]) + string(r.blobs[c.Theirs])
		if string(r.blobs[c.Ours]) != result[c.Path] {
			r.t.Fatalf("%s %s has other contents than the file", c.Kind, c.Path)
		}
		if i > 0 && one.Conflicts[i-1].Path >= c.Path {
			r.t.Fatalf("two conflicts at %s", c.Path)
		}
	}
	for _, side := range []side{ours, theirs} {
		for path, content := range side {
			for line := range strings.Lines(content) {
				if (!existed(base, line) || open[line]) && !strings.Contains(all, line) {
					r.t.Fatalf("%q at %s is lost\nours %v\ntheirs %v\nconflicts %+v\nresult %v\n%+v",
						line, path, ours, theirs, before, result, one.Conflicts)
				}
			}
		}
	}
	r.views[space] = result
	return one
}

// TestOpenConflictsStay refreshes workspaces again and again, while files move on both sides and
// the author resolves some of the conflicts. Nothing of either side is lost, and a refresh onto a
// head that has nothing new for the workspace leaves its conflicts as they are.
func TestOpenConflictsStay(t *testing.T) {
	conflicts := 0
	for range 20 * rounds {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := newWorkspaces(t, seed, work.Standard)
			r.others()
			space := r.must(t, new(work.OpenWorkspace)).Result.Subject
			r.views[space] = r.tree()
			for round := range 3 {
				for range r.draw(4) {
					one, _ := r.project.Workspace(space)
					r.edit(one)
				}
				r.others()
				r.put(t, fmt.Sprint("beside/", round), "what the workspace does not have\n")
				was := r.refreshLosingNothing(space)
				conflicts += len(was.Conflicts)
				view := r.view(was)
				r.put(t, fmt.Sprint("besides/", round), "nor this\n")
				is := r.refreshLosingNothing(space)
				if !slices.Equal(was.Conflicts, is.Conflicts) {
					t.Fatal("conflicts change", cmp.Diff(was.Conflicts, is.Conflicts))
				}
				if got := r.view(is); len(got) != len(view)+1 || !contains(got, view) {
					t.Fatalf("files change: %v, and then %v", view, got)
				}
				r.resolveSome(is)
				r.moveFolder(space)
			}
		})
	}
	if conflicts < rounds {
		t.Errorf("%d conflicts", conflicts)
	}
}

// resolveSome writes some of the files in conflict that no folder is in the way of.
func (r *workspaces) resolveSome(space *work.Workspace) {
	left := slices.Clone(space.Conflicts)
	for i := range left {
		if r.draw(3) > 0 {
			continue
		}
		content := r.fresh("")
		_, err := r.do(space.Agent, &work.WriteWorkspaceFile{
			Workspace: space.ID, Path: left[i].Path, Blob: content, ContentType: "text/plain",
		})
		if err == nil {
			r.views[space.ID][left[i].Path] = string(content.Content)
		}
	}
}

func contains(all, some side) bool {
	for path, content := range some {
		if got, exists := all[path]; !exists || got != content {
			return false
		}
	}
	return true
}

// moveFolder moves a folder: no conflict of a file is resolved, except with a folder, and so the
// next refresh has to lose nothing of them.
func (r *workspaces) moveFolder(space id.ID) {
	r.t.Helper()
	one, _ := r.project.Workspace(space)
	begun, _ := r.project.Changeset(one.Base)
	base := side{}
	r.project.FilesAt(begun, "", func(f work.FileInfo) bool {
		base[f.Path] = string(r.blobs[f.Blob])
		return true
	})
	open := r.openLines(one, base)
	folders := []string{"a", "c", "moved", "a/b"}
	_, err := r.do(one.Agent, &work.RenameWorkspaceFile{
		Workspace: space, Path: folders[r.draw(4)], NewPath: folders[r.draw(4)], Folder: true,
	})
	if err != nil {
		return
	}
	one, _ = r.project.Workspace(space)
	r.views[space] = r.view(one)
	left := ""
	for i := range one.Conflicts {
		left += string(r.blobs[one.Conflicts[i].Theirs])
	}
	for line, is := range open {
		if is && !strings.Contains(left, line) {
			r.t.Fatalf("%q is in no conflict any more: %+v", line, one.Conflicts)
		}
	}
}
