package replay

import (
	"testing"
)

func TestScratchAppliesAPatch(t *testing.T) {
	f := newFixture(t)
	f.write("a", lines("a"))
	f.write("b", "no newline at the end")
	f.write("gone", "x\n")
	f.commit("one")
	f.move("a", "d/a")
	f.write("b", "with one\n")
	f.remove("gone")
	f.write("ü new", "new\n")
	f.commit("two")
	ctx := t.Context()
	repo, err := openRepository(ctx, f.dir)
	if err != nil {
		t.Fatal(err)
	}
	commits, err := repo.history(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := newScratch(ctx, repo, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree := func(commit string) map[string]expectedFile {
		entries, err := repo.tree(ctx, commit)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]expectedFile{}
		for _, entry := range entries {
			out[entry.path] = expectedFile{oid: entry.oid}
		}
		return out
	}
	patch, err := repo.output(ctx, "diff-tree", "-p", "-M", commits[0], commits[1])
	if err != nil {
		t.Fatal(err)
	}
	got, err := scratch.apply(ctx, tree(commits[0]), patch)
	if err != nil {
		t.Fatal(err)
	}
	want := tree(commits[1])
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	for path, file := range want {
		if got[path] != file.oid {
			t.Errorf("%s is %s, want %s", path, got[path], file.oid)
		}
	}
	if _, err := scratch.apply(ctx, tree(commits[1]), patch); err == nil {
		t.Error("a patch for another tree was applied")
	}
}
