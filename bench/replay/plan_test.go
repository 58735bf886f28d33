package replay

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
)

// model is a strict project: every operation must be valid when it is applied.
type model map[string]string

func (m model) apply(t *testing.T, operations [][]byte) {
	t.Helper()
	if len(operations) > operationsMax {
		t.Fatalf("%d operations in one changeset", len(operations))
	}
	targets := map[string]bool{}
	for _, text := range operations {
		var one operation
		if err := json.Unmarshal(text, &one); err != nil {
			t.Fatal(err)
		}
		target := one.Path
		old, exists := m[one.Path]
		if one.Action == "RENAME" {
			target = one.NewPath
		}
		if targets[target] {
			t.Fatalf("%s is a target twice", target)
		}
		targets[target] = true
		if exists == (one.Action == "CREATE") {
			t.Fatalf("%s %s: exists is %t", one.Action, one.Path, exists)
		}
		if one.Expected != "" && one.Expected != fmt.Sprintf("%x", sha256.Sum256([]byte(old))) {
			t.Fatalf("%s %s expects another content", one.Action, one.Path)
		}
		m.change(t, one, old)
	}
}

func (m model) change(t *testing.T, one operation, old string) {
	t.Helper()
	switch one.Action {
	case "DELETE":
		delete(m, one.Path)
		return
	case "RENAME":
		delete(m, one.Path)
		if _, exists := m[one.NewPath]; exists {
			t.Fatalf("RENAME to %s, which exists", one.NewPath)
		}
		if one.Content == nil {
			one.Content = &old
		}
		m[one.NewPath] = *one.Content
	default:
		m[one.Path] = *one.Content
	}
	for path := range m {
		for folder := range ancestors(path) {
			if _, isFile := m[folder]; isFile {
				t.Fatalf("after %s %s: %s is below a file", one.Action, one.Path, path)
			}
		}
	}
}

// replayModel applies the plan of a whole history to a model and compares every commit with git's
// tree.
func replayModel(t *testing.T, f *fixture) (*planner, int) {
	t.Helper()
	ctx := t.Context()
	repo, err := openRepository(ctx, f.dir)
	if err != nil {
		t.Fatal(err)
	}
	commits, err := repo.history(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	source, err := repo.objects(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := repo.objects(ctx)
	if err != nil {
		t.Fatal(err)
	}
	plan := newPlanner(newClassifier(source), nil)
	check := newClassifier(fresh)
	state, parts := model{}, 0
	err = repo.walk(ctx, commits, func(commit commitChanges) error {
		return plan.plan(commit, func(one part) error {
			parts++
			state.apply(t, one.operations)
			if one.last {
				compareModel(t, repo, check, commit.commit, state)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Close(); err != nil {
		t.Fatal(err)
	}
	if err := fresh.Close(); err != nil {
		t.Fatal(err)
	}
	return plan, parts
}

func compareModel(t *testing.T, repo *repository, check *classifier, commit string, state model) {
	t.Helper()
	entries, err := repo.tree(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	left := maps.Clone(state)
	for _, entry := range entries {
		verdict, err := check.file(entry.path, entry.mode, entry.oid)
		if err != nil {
			t.Fatal(err)
		}
		if verdict.reason != accepted {
			continue
		}
		content, found := left[entry.path]
		if !found || hash(sha256.Sum256([]byte(content))) != verdict.hash {
			t.Fatalf("commit %s: %q differs, found %t", commit, entry.path, found)
		}
		delete(left, entry.path)
	}
	if len(left) > 0 {
		t.Fatalf("commit %s: the model also holds %v", commit, maps.Keys(left))
	}
}

func TestHistoryOfEdgeCases(t *testing.T) {
	f := newFixture(t)
	f.edgeCases()
	plan, parts := replayModel(t, f)
	want := map[reason]int{
		reasonSymlink: 2, reasonSubmodule: 1, reasonPath: 3, reasonLarge: 2, reasonBinary: 2,
		reasonEncoding: 2,
	}
	if !maps.Equal(plan.leftOut, want) {
		t.Errorf("left out %v, want %v", plan.leftOut, want)
	}
	if plan.modeOnly != 1 {
		t.Errorf("%d mode-only changes, want 1", plan.modeOnly)
	}
	if parts < 20 {
		t.Errorf("only %d parts", parts)
	}
}

func TestRandomHistory(t *testing.T) {
	commits := 60
	if testing.Short() {
		commits = 15
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.random(seed, commits)
			replayModel(t, f)
		})
	}
}

func TestFullProjectLeavesOutTheRest(t *testing.T) {
	f := newFixture(t)
	for i := range filesMax + 3 {
		f.write(fmt.Sprintf("f/%04d", i), "same\n")
	}
	f.commit("too many")
	f.remove("f/0000")
	f.remove(fmt.Sprintf("f/%04d", filesMax+2))
	f.write("g", "takes the room\n")
	f.commit("room for one")
	repo, err := openRepository(t.Context(), f.dir)
	if err != nil {
		t.Fatal(err)
	}
	source, err := repo.objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan := newPlanner(newClassifier(source), map[int]bool{0: true, 1: true})
	commits, err := repo.history(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var beyond []int
	err = repo.walk(t.Context(), commits, func(commit commitChanges) error {
		return plan.plan(commit, func(one part) error {
			if one.last {
				beyond = append(beyond, len(one.beyond))
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.served) != filesMax || fmt.Sprint(beyond) != "[3 2]" {
		t.Errorf("serves %d files, beyond %v", len(plan.served), beyond)
	}
	if _, found := plan.served["g"]; !found {
		t.Error("the freed room was not used")
	}
	if err := source.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCheckPath(t *testing.T) {
	deep := strings.TrimSuffix(strings.Repeat("d/", pathDepthMax), "/")
	for path, want := range map[string]reason{
		"a/b.txt": accepted, "ü": accepted, "a b": accepted, deep: accepted,
		strings.Repeat("x", 255): accepted, "a/./b": reasonPath, "..": reasonPath,
		strings.Repeat("x", 256): reasonPath, deep + "/d": reasonPath, "a\\b": reasonPath,
		"a\nb": reasonPath, "\xff": reasonPath, "u\u0308": reasonPath, "": reasonPath,
		strings.Repeat("123456789/", 52): reasonPath,
	} {
		if got := classifyPath(path, fileMode); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestSampleIndexes(t *testing.T) {
	for _, one := range []struct {
		length, samples int
		want            string
	}{
		{10, 0, "[]"}, {0, 3, "[]"}, {10, 1, "[9]"}, {3, 5, "[0 1 2]"}, {10, 3, "[0 4 9]"},
	} {
		if got := fmt.Sprint(sampleIndexes(one.length, one.samples)); got != one.want {
			t.Errorf("%d of %d: %s, want %s", one.samples, one.length, got, one.want)
		}
	}
}
