package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pws/bench/child"
	rest "pws/bench/client"
	connect "pws/client"
	"pws/client/checkout"
	"pws/work/merge"
)

// workingCopy is a directory, and what the reference says that is in it.
type workingCopy struct {
	tree *checkout.Tree
	dir  string
	// base and here are the files of the reference; changeset is the base's number.
	base, here map[string]string
	changeset  int
	conflicts  []string
}

// TestWorkingCopies has two directories of one project on a running server. They make random edits,
// pull and push. After each step both directories and the project are equal to a reference, which
// has nothing but maps and package merge. PWS_SEED repeats a run.
func TestWorkingCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the service for seconds")
	}
	seed := seedOf(t)
	r := &copiesRun{t: t, random: rand.New(rand.NewPCG(seed, 1))}
	r.start()
	for nth := range 2 {
		r.open(nth)
	}
	steps := 800
	if os.Getenv("PWS_CUT_ALL") != "" {
		steps = 20_000
	}
	for range steps {
		one := r.copies[r.random.IntN(len(r.copies))]
		switch r.random.IntN(3) {
		case 0:
			r.edit(one)
		case 1:
			r.pull(one)
		case 2:
			r.push(one)
		}
		r.compare()
	}
	t.Logf("%d merges, %d conflicts, %d refusals, %d renames",
		r.merged, r.clashed, r.moved, r.followed)
	if r.merged == 0 || r.clashed == 0 || r.moved == 0 {
		t.Errorf("%d merges, %d conflicts and %d refusals: too few", r.merged, r.clashed, r.moved)
	}
}

type copiesRun struct {
	t      *testing.T
	random *rand.Rand
	remote checkout.Remote
	// head are the files of the project, changeset counts its changesets.
	head      map[string]string
	changeset int
	copies    []*workingCopy

	merged, clashed, moved, followed int
}

func (r *copiesRun) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *copiesRun) start() {
	process, err := child.Start(context.Background(), patience, child.Program{
		Path: "pws", Args: []string{
			"serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(r.t.TempDir(), "data"),
			"--rate-limits", "off",
		},
	})
	r.must(err)
	r.t.Cleanup(process.Kill)
	owner, err := rest.New(process.URL)
	r.must(err)
	r.must(owner.Register("owner"))
	project, err := owner.CreateProject("random")
	r.must(err)
	r.remote = checkout.Remote{
		Client: connect.New(process.URL, connect.Fixed(owner.Credential)), Project: project.ID,
	}
	r.t.Cleanup(func() {
		owner.Close()
		r.remote.Client.Close()
	})
	r.head = map[string]string{}
}

func (r *copiesRun) open(nth int) {
	one := &workingCopy{dir: r.t.TempDir(), base: map[string]string{}, here: map[string]string{}}
	var err error
	one.tree, err = checkout.Open(checkout.Options{Dir: one.dir, Folder: ".", Remote: r.remote})
	r.must(err)
	r.t.Cleanup(func() { r.must(one.tree.Close()) })
	one.changeset = -1
	r.copies = append(r.copies, one)
	if nth == 0 {
		r.pull(one)
	}
}

// edit changes some files, in the directory and in the reference.
func (r *copiesRun) edit(one *workingCopy) {
	names := []string{"a", "b", "c", "d/a", "d/b", "d/e/f", "ünter"}
	name := names[r.random.IntN(len(names))]
	at := filepath.Join(one.dir, name)
	old, exists := one.here[name]
	lines := strings.SplitAfter(old, "\n")
	switch r.random.IntN(6) {
	case 0:
		if !exists {
			return
		}
		delete(one.here, name)
		r.must(os.Remove(at))
		return
	case 1:
		other := names[r.random.IntN(len(names))]
		if _, taken := one.here[other]; taken || !exists {
			return
		}
		delete(one.here, name)
		r.must(os.Remove(at))
		name, at = other, filepath.Join(one.dir, other)
	case 2:
		lines = nil
		for range r.random.IntN(40) {
			lines = append(lines, fmt.Sprintf("line %d\n", r.random.IntN(20)))
		}
	default:
		where := r.random.IntN(len(lines))
		lines[where] = fmt.Sprintf("edit %d\n", r.random.IntN(100)) + lines[where]
	}
	one.here[name] = strings.Join(lines, "")
	r.must(os.MkdirAll(filepath.Dir(at), 0o755))
	r.must(os.WriteFile(at, []byte(one.here[name]), 0o600))
}

// unresolved are the files that still have the markers of a conflict.
func (one *workingCopy) unresolved() bool {
	return slices.ContainsFunc(one.conflicts, func(name string) bool {
		return strings.Contains(one.here[name], "<<<<<<< ours\n")
	})
}

// pull pulls, or first resolves the conflicts that keep it from that.
func (r *copiesRun) pull(one *workingCopy) {
	blocked := one.unresolved() && one.changeset != r.changeset
	var done checkout.Pulled
	err := one.tree.Locked(r.t.Context(), func() (err error) {
		done, err = one.tree.Pull(r.t.Context())
		return err
	})
	var refused *checkout.BlockedError
	if errors.As(err, &refused) != blocked || !blocked && err != nil {
		r.t.Fatalf("pull: %v; blocked: %v", err, blocked)
	}
	if blocked {
		r.resolve(one)
		return
	}
	if one.changeset == r.changeset {
		return
	}
	one.conflicts = nil
	moves := r.renamed(one)
	for name := range union(one.base, one.here, r.head) {
		if to, moved := moves[name]; moved {
			one.here[to] = one.here[name]
			delete(one.here, name)
			r.followed++
		} else if !slices.Contains(slices.Collect(maps.Values(moves)), name) {
			r.pullOne(one, name)
		}
	}
	one.base, one.changeset = maps.Clone(r.head), r.changeset
	r.merged += len(done.Merged)
	r.clashed += len(done.Conflicts)
}

func union(all ...map[string]string) map[string]bool {
	names := map[string]bool{}
	for _, one := range all {
		for name := range one {
			names[name] = true
		}
	}
	return names
}

// renamed are the new names of the files that were changed here and renamed on the server: those
// whose content before is at no other name that has come or gone.
func (r *copiesRun) renamed(one *workingCopy) map[string]string {
	gone, come := map[string][]string{}, map[string][]string{}
	for name, text := range one.base {
		if _, stays := r.head[name]; !stays && text != "" {
			gone[text] = append(gone[text], name)
		}
	}
	for name, text := range r.head {
		if _, known := one.base[name]; !known {
			come[text] = append(come[text], name)
		}
	}
	moves := map[string]string{}
	for text, from := range gone {
		to := come[text]
		if len(from) != 1 || len(to) != 1 {
			continue
		}
		here, exists := one.here[from[0]]
		if _, taken := one.here[to[0]]; exists && here != text && !taken {
			moves[from[0]] = to[0]
		}
	}
	return moves
}

// pullOne is the reference of a pull of a file that is not renamed.
func (r *copiesRun) pullOne(one *workingCopy, name string) {
	base, based := one.base[name]
	here, exists := one.here[name]
	there, kept := r.head[name]
	switch {
	case kept == based && there == base, kept == exists && there == here:
	case exists == based && here == base && !kept:
		delete(one.here, name)
	case exists == based && here == base, !exists:
		one.here[name] = there
	case !kept:
	default:
		result := merge.Merge([]byte(base), []byte(here), []byte(there))
		one.here[name] = string(result.Text)
		if result.Conflicts > 0 {
			one.conflicts = append(one.conflicts, name)
		}
	}
}

// resolve takes the markers out of all files.
func (r *copiesRun) resolve(one *workingCopy) {
	for _, name := range one.conflicts {
		var text strings.Builder
		for line := range strings.Lines(one.here[name]) {
			if !strings.HasPrefix(line, "<<<<<<<") && !strings.HasPrefix(line, "=======") &&
				!strings.HasPrefix(line, ">>>>>>>") {
				text.WriteString(line)
			}
		}
		if _, exists := one.here[name]; exists {
			one.here[name] = text.String()
			r.must(os.WriteFile(filepath.Join(one.dir, name), []byte(one.here[name]), 0o600))
		}
	}
}

func (r *copiesRun) push(one *workingCopy) {
	if one.changeset < 0 {
		return
	}
	err := one.tree.Locked(r.t.Context(), func() error {
		_, err := one.tree.Push(r.t.Context(), checkout.PushOptions{Message: "random"})
		return err
	})
	var refused *checkout.BlockedError
	switch changed := !maps.Equal(one.base, one.here); {
	case one.unresolved():
		if !errors.As(err, &refused) {
			r.t.Fatalf("push of markers: %v", err)
		}
		r.resolve(one)
	case changed && one.changeset != r.changeset:
		if !connect.IsCode(err, "PROJECT_MOVED") {
			r.t.Fatalf("push on an old base: %v", err)
		}
		r.moved++
	case err != nil:
		r.t.Fatalf("push: %v", err)
	case changed:
		r.changeset++
		r.head = maps.Clone(one.here)
		one.base, one.changeset = maps.Clone(one.here), r.changeset
	}
}

// compare compares the directories and the project with the reference.
func (r *copiesRun) compare() {
	for _, one := range r.copies {
		got := map[string]string{}
		r.must(filepath.WalkDir(one.dir, func(at string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				if err == nil && entry.Name() == ".pws" {
					err = filepath.SkipDir
				}
				return err
			}
			name, err := filepath.Rel(one.dir, at)
			if err != nil {
				return err
			}
			content, err := os.ReadFile(at)
			got[filepath.ToSlash(name)] = string(content)
			return err
		}))
		if !maps.Equal(got, one.here) {
			r.t.Fatalf("the directory has\n%q\nthe reference\n%q", got, one.here)
		}
	}
	var page struct {
		Files []struct {
			Path string `json:"path"`
			Size int    `json:"size_bytes"`
		} `json:"files"`
	}
	at := "/api/v1/projects/" + r.remote.Project + "/files"
	r.must(r.remote.Client.Call(r.t.Context(), "GET", at, nil, &page))
	sizes, want := map[string]int{}, map[string]int{}
	for _, file := range page.Files {
		sizes[file.Path] = file.Size
	}
	for name, content := range r.head {
		want[name] = len(content)
	}
	if !maps.Equal(sizes, want) {
		r.t.Fatalf("the project has %v, the reference %v", sizes, want)
	}
}
