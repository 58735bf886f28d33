package work_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/internal/logformat"
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

// TestMergeFitsIntoOneEntry: what a merge brings fits into one entry of the log; the files beyond
// are in conflict, as the workspace has them, and nothing of them is lost.
func TestMergeFitsIntoOneEntry(t *testing.T) {
	const files, size = 60, 1_000_000
	w, space := bothChanged(t, files, size)
	one, _ := w.project.Workspace(space)
	plan := w.plan(one)
	decision := w.must(t, &work.RefreshWorkspace{Workspace: space, Plan: plan})
	bytes := 0
	for _, brought := range decision.Blobs {
		bytes += len(brought.Content)
	}
	for _, event := range decision.Events {
		encoded, err := work.EncodeEvent(nil, event)
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(encoded)
	}
	if bytes > logformat.EntryBytesMax {
		t.Errorf("a merge brings %d bytes", bytes)
	}
	one, _ = w.project.Workspace(space)
	if len(plan.Merged) < 30 || len(plan.Merged)+len(one.Conflicts) != files {
		t.Errorf("%d joined and %d in conflict of %d", len(plan.Merged), len(one.Conflicts), files)
	}
	for i := range one.Conflicts {
		c := &one.Conflicts[i]
		file, exists := w.project.WorkspaceFile(one, c.Path)
		if c.Kind != work.ContentConflict || !exists || file.Blob != c.Ours ||
			!strings.HasSuffix(string(w.blobs[file.Blob]), "ours\n") {
			t.Fatalf("%+v, and the file is %x", c, file.Blob)
		}
	}
}

// TestPlanStaysValid: a plan holds while nothing comes near the files that it has looked at, and
// does then what a new one would do. The last one is taken on the head that it was made on.
func TestPlanStaysValid(t *testing.T) {
	held, stale := 0, 0
	for range 10 * rounds {
		seed := rand.Uint64()
		r := newWorkspaces(t, seed, work.Standard)
		r.others()
		space := r.must(t, new(work.OpenWorkspace)).Result.Subject
		r.views[space] = r.tree()
		for range 1 + r.draw(2) {
			one, _ := r.project.Workspace(space)
			r.edit(one)
		}
		r.others()
		one, _ := r.project.Workspace(space)
		plan, planned := r.plan(one), r.project.Head().ID
		if plan == nil {
			continue
		}
		if r.draw(2) > 0 {
			r.put(t, "else", "beside the others")
		}
		r.others()
		before := r.project
		shows := func(plan *work.MergePlan) (string, id.ID, error) {
			r.project = before
			_, err := r.do(agent("ann"), &work.RefreshWorkspace{Workspace: space, Plan: plan})
			after, _ := r.project.Workspace(space)
			return fmt.Sprint(r.view(after), after.Conflicts), after.Base, err
		}
		fresh, onto, err := shows(r.plan(one))
		if err != nil || onto != before.Head().ID {
			t.Fatalf("seed %d: a new plan: %v", seed, err)
		}
		got, onto, err := shows(plan)
		if err == nil {
			if held++; got != fresh || onto != before.Head().ID {
				t.Fatalf("seed %d: a plan that holds makes\n%s\na new one\n%s", seed, got, fresh)
			}
			continue
		}
		stale++
		plan.Last = true
		if _, onto, last := shows(plan); !work.Stale(err) || last != nil || onto != planned {
			t.Fatalf("seed %d: %v, and as the last one %v", seed, err, last)
		}
	}
	if held < rounds || stale < rounds/4 {
		t.Errorf("%d plans held and %d were stale", held, stale)
	}
}

// TestPlanNeedsSourcesOfRenames: the project replaces the file of a workspace by another one, and
// then has a file at the old path of that one again. The plan that followed the rename is stale.
func TestPlanNeedsSourcesOfRenames(t *testing.T) {
	w := newWorld()
	w.create(t)
	w.put(t, "a", "1")
	w.put(t, "b", "2")
	space := w.must(t, new(work.OpenWorkspace)).Result.Subject
	w.must(t, &work.WriteWorkspaceFile{
		Workspace: space, Path: "a", Blob: blob("ours"), ContentType: "text/plain",
	})
	w.publish(t, work.Operation{Action: work.Delete, Path: "a"},
		work.Operation{Action: work.Rename, Path: "b", NewPath: "a"})
	one, _ := w.project.Workspace(space)
	plan := w.plan(one)
	w.put(t, "b", "again")
	_, err := w.do(agent("ann"), &work.RefreshWorkspace{Workspace: space, Plan: plan})
	if !work.Stale(err) {
		t.Errorf("the plan was taken: %v", err)
	}
}

// outcomesOnly remembers the outcomes of merges and none of their texts.
type outcomesOnly map[work.MergeSides]work.MergeOutcome

func (o outcomesOnly) Outcome(
	sides work.MergeSides, join func() (work.MergeOutcome, error),
) (work.MergeOutcome, error) {
	if known, ok := o[sides]; ok {
		return known, nil
	}
	outcome, err := join()
	o[sides] = outcome
	return outcome, err
}

func (o outcomesOnly) Text(_ work.MergeSides, join func() ([]byte, error)) ([]byte, error) {
	return join()
}

// TestKnownMerges: a plan that is refused for its conflict needs no text of the files that merge
// cleanly, and a plan that is carried out has the same contents as one without known merges.
func TestKnownMerges(t *testing.T) {
	const files, size = 8, 200_000
	w, space := bothChanged(t, files, size)
	known, reads := outcomesOnly{}, 0
	read := func(hash work.Hash) ([]byte, error) {
		reads++
		return w.read(hash)
	}
	plan := func(publication bool) *work.MergePlan {
		t.Helper()
		one, _ := w.project.Workspace(space)
		make := (*work.Project).PlanMerge
		if publication {
			make = (*work.Project).PlanPublication
		}
		plan, err := make(w.project, one, read, known)
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	one, _ := w.project.Workspace(space)
	want := w.plan(one).Blobs
	for range 2 {
		for _, publication := range []bool{false, true} {
			if got := plan(publication).Blobs; !slices.EqualFunc(got, want, sameBlob) ||
				len(got) != files {
				t.Errorf("%d contents of %d, or others", len(got), len(want))
			}
		}
	}
	w.must(t, &work.WriteWorkspaceFile{
		Workspace: space, Path: "f0.txt", Blob: blob(strings.Repeat("ours\n", 1000)),
		ContentType: "text/plain",
	})
	plan(true)
	reads = 0
	if made := plan(true); len(made.Blobs) != 1 || reads != 3 {
		t.Errorf("%d contents, %d reads: want the text of the conflict", len(made.Blobs), reads)
	}
	if made := plan(false); len(made.Blobs) != files {
		t.Errorf("%d contents, want %d", len(made.Blobs), files)
	}
}

// TestMergeOfRemovedContents: where an operator has removed one of the three contents, the files
// are in conflict without a text, and the others are merged.
func TestMergeOfRemovedContents(t *testing.T) {
	for side := range 3 {
		w, space := bothChanged(t, 2, 1000)
		one, _ := w.project.Workspace(space)
		begun, _ := w.project.Changeset(one.Base)
		base, _ := w.project.FileAt("f0.txt", begun)
		theirs, _ := w.project.File("f0.txt")
		at := slices.IndexFunc(one.Files, func(o work.Overlaid) bool { return o.Path == "f0.txt" })
		removed := []work.Hash{base.Blob, one.Files[at].Blob, theirs.Blob}[side]
		read := func(hash work.Hash) ([]byte, error) {
			if hash == removed {
				return nil, fault.New(fault.ContentRemoved, "removed")
			}
			return w.read(hash)
		}
		plan, err := w.project.PlanMerge(one, read, outcomesOnly{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(plan.Merged, []string{"f1.txt"}) || len(plan.Blobs) != 1 {
			t.Errorf("side %d: merged %q, %d contents", side, plan.Merged, len(plan.Blobs))
		}
		w.must(t, &work.RefreshWorkspace{Workspace: space, Plan: plan})
		one, _ = w.project.Workspace(space)
		if len(one.Conflicts) != 1 || one.Conflicts[0].Path != "f0.txt" ||
			one.Conflicts[0].Marked != (work.Hash{}) {
			t.Errorf("side %d: %+v", side, one.Conflicts)
		}
	}
}

func sameBlob(a, b work.Blob) bool {
	return a.Hash == b.Hash && string(a.Content) == string(b.Content) &&
		blob(string(a.Content)).Hash == a.Hash
}

// TestBothMadeTheSame writes into a workspace what the project became since, by contents, or by the
// operations of the project. Nothing is in conflict, and nothing is left to publish.
func TestBothMadeTheSame(t *testing.T) {
	for round := range 10 * rounds {
		seed := rand.Uint64()
		r := newWorkspaces(t, seed, work.Standard)
		r.others()
		space := r.must(t, new(work.OpenWorkspace)).Result.Subject
		was := r.tree()
		base := r.project.Head()
		for range 1 + r.draw(2) {
			r.others()
		}
		is := r.tree()
		give := func(command work.Command) {
			if _, err := r.do(agent("ann"), command); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for _, change := range r.project.Changes(base, r.project.Head()) {
			if change.Action != work.Rename || round%2 == 0 {
				continue
			}
			_, err := r.do(agent("ann"), &work.RenameWorkspaceFile{
				Workspace: space, Path: change.From, NewPath: change.Path,
			})
			// One whose path is not free yet is written instead.
			if err == nil {
				was[change.Path] = was[change.From]
				delete(was, change.From)
			}
		}
		for path := range was {
			if _, still := is[path]; !still {
				give(&work.DeleteWorkspaceFile{Workspace: space, Path: path})
			}
		}
		for path, content := range is {
			if was[path] != content {
				give(&work.WriteWorkspaceFile{
					Workspace: space, Path: path, Blob: blob(content), ContentType: "text/plain",
				})
			}
		}
		one, _ := r.project.Workspace(space)
		plan := r.plan(one)
		give(&work.RefreshWorkspace{Workspace: space, Plan: plan})
		one, _ = r.project.Workspace(space)
		if got := r.view(one); !got.equal(is) || len(one.Files) > 0 || len(one.Conflicts) > 0 {
			t.Fatalf("seed %d: %d files are left, and the conflicts are %+v\n%v\nwant\n%v",
				seed, len(one.Files), one.Conflicts, got, is)
		}
	}
}
