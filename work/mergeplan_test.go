package work_test

import (
	"fmt"
	"strings"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// bothChanged is a workspace and a project that have changed the same files, all of which git would
// join: the first line is theirs, the last ours.
func bothChanged(t *testing.T, files, size int) (*world, id.ID) {
	w := newWorld()
	w.create(t)
	text := func(n int, first, last string) work.Blob {
		filler := strings.Repeat(strings.Repeat("x", size/8-1)+"\n", 8)
		return blob(fmt.Sprintf("%s\n%d\n%s%s\n", first, n, filler, last))
	}
	path := func(n int) string { return fmt.Sprintf("f%d.txt", n) }
	put := func(n int, content work.Blob) {
		w.must(t, &work.PutFile{Path: path(n), Blob: content, ContentType: "text/plain"})
	}
	for n := range files {
		put(n, text(n, "first", "last"))
	}
	space := w.must(t, new(work.OpenWorkspace)).Result.Subject
	for n := range files {
		w.must(t, &work.WriteWorkspaceFile{
			Workspace: space, Path: path(n), Blob: text(n, "first", "ours"),
			ContentType: "text/plain",
		})
		put(n, text(n, "theirs", "last"))
	}
	return w, space
}

// TestMergedBytes: what a merge brings fits into one entry of the log; the files beyond are in
// conflict, as the workspace has them, and nothing of them is lost.
func TestMergedBytes(t *testing.T) {
	const files, size = 60, 1_000_000
	w, space := bothChanged(t, files, size)
	one, _ := w.project.Workspace(space)
	plan := w.plan(one)
	bytes := 0
	for _, brought := range plan.Blobs {
		bytes += len(brought.Content)
	}
	if bytes > 56<<20 {
		t.Errorf("a merge brings %d bytes", bytes)
	}
	w.must(t, &work.RefreshWorkspace{Workspace: space, Plan: plan})
	one, _ = w.project.Workspace(space)
	if len(plan.Merged) < 40 || len(plan.Merged)+len(one.Conflicts) != files {
		t.Errorf("%d joined and %d in conflict of %d", len(plan.Merged), len(one.Conflicts), files)
	}
	for at := range one.Conflicts {
		c := &one.Conflicts[at]
		file, stands := w.project.WorkspaceFile(one, c.Path)
		if c.Kind != work.ContentConflict || !stands || file.Blob != c.Ours ||
			!strings.HasSuffix(string(w.blobs[file.Blob]), "ours\n") {
			t.Fatalf("%+v, and the file is %x", c, file.Blob)
		}
	}
}
