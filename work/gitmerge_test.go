package work_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// gitRepository is a bare repository that merges are asked of.
type gitRepository struct {
	t   *testing.T
	dir string
}

func newGitRepository(t *testing.T) *gitRepository {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: nothing to compare with")
	}
	g := &gitRepository{t: t, dir: t.TempDir()}
	g.run("", "init", "-q", "--bare")
	if usage, _ := g.command("merge-tree", "-h").CombinedOutput(); !bytes.Contains(usage,
		[]byte("--write-tree")) {
		t.Skip("git merge-tree knows no --write-tree: nothing to compare with")
	}
	return g
}

// command has no say of the machine's configuration. Directories are not followed when they are
// renamed, for no operation here renames one.
func (g *gitRepository) command(arguments ...string) *exec.Cmd {
	command := exec.Command("git", append([]string{"-c", "merge.directoryRenames=false",
		"-c", "merge.renames=true", "-c", "merge.renameLimit=1000"}, arguments...)...)
	command.Dir = g.dir
	command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_DIR="+g.dir, "LC_ALL=C")
	return command
}

func (g *gitRepository) run(input string, arguments ...string) string {
	g.t.Helper()
	command := g.command(arguments...)
	command.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		g.t.Fatalf("git %v: %v: %.2000s", arguments, err, stderr.Bytes())
	}
	return string(output)
}

// treeCase is one merge: the trees of the base and of both sides, and what a workspace made of it.
type treeCase struct {
	base, ours, theirs, result side
	conflicts                  []work.Conflict
	steps                      []string
}

// commits writes the three commits of each case.
func (g *gitRepository) commits(cases []*treeCase) {
	var stream strings.Builder
	commit := func(name, parent string, tree side) {
		fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter a <a> 1 +0000\ndata 1\nx\n", name)
		if parent != "" {
			fmt.Fprintf(&stream, "from refs/heads/%s\ndeleteall\n", parent)
		}
		for _, path := range slices.Sorted(maps.Keys(tree)) {
			fmt.Fprintf(&stream, "M 644 inline %s\ndata %d\n%s\n", path, len(tree[path]), tree[path])
		}
	}
	for n, c := range cases {
		commit(fmt.Sprint("base", n), "", c.base)
		commit(fmt.Sprint("ours", n), fmt.Sprint("base", n), c.ours)
		commit(fmt.Sprint("theirs", n), fmt.Sprint("base", n), c.theirs)
	}
	g.run(stream.String(), "fast-import", "--quiet")
}

// merges gives the trees of the merges that are clean, by the number of the case.
func (g *gitRepository) merges(count int) map[int]string {
	g.t.Helper()
	var input strings.Builder
	for n := range count {
		fmt.Fprintf(&input, "ours%d theirs%d\n", n, n)
	}
	// Each answer is "1" or "0", the tree, the paths in conflict, and an empty part.
	clean := map[int]string{}
	parts := strings.Split(g.run(input.String(), "merge-tree", "--write-tree", "--stdin",
		"--no-messages", "--name-only", "-z"), "\x00")
	at := 0
	for n := range count {
		if at+1 >= len(parts) {
			g.t.Fatalf("git answered only %d merges", n)
		}
		if parts[at] == "1" {
			clean[n] = parts[at+1]
		}
		for at += 2; parts[at] != ""; at++ {
		}
		at++
	}
	return clean
}

// trees reads those trees.
func (g *gitRepository) trees(trees map[int]string) map[int]side {
	g.t.Helper()
	var input strings.Builder
	numbers := slices.Sorted(maps.Keys(trees))
	for _, n := range numbers {
		for _, path := range gitPaths {
			fmt.Fprintf(&input, "%s:%s\n", trees[n], path)
		}
	}
	answers := bufio.NewReader(strings.NewReader(g.run(input.String(), "cat-file", "--batch")))
	read := map[int]side{}
	for _, n := range numbers {
		read[n] = side{}
		for _, path := range gitPaths {
			head, _ := answers.ReadString('\n')
			words := strings.Fields(head)
			if len(words) != 3 {
				continue // the object does not exist
			}
			size, _ := strconv.Atoi(words[2])
			content := make([]byte, size+1)
			if _, err := io.ReadFull(answers, content); err != nil {
				g.t.Fatal(err)
			}
			if words[1] == "blob" {
				read[n][path] = string(content[:size])
			}
		}
	}
	return read
}

// gitPaths are where files stand; one of them is a folder of others.
var gitPaths = []string{"a", "a/x", "b", "c", "d/a", "d/b", "d/e/f", "e", "f", "g", "h", "i", "j"}

// treeEditor makes random changes of one side and follows the files that are moved.
type treeEditor struct {
	draw    source
	tree    side
	origins map[string]string
	// anew are files that began at the path of one that was deleted. In a workspace such a file is the
	// former one with another content; once it is moved git takes it for a new one.
	anew   map[string]bool
	steps  []string
	serial *int
}

func newFile(n int) string {
	var text strings.Builder
	for line := range 12 {
		fmt.Fprintf(&text, "line %d of file %d, written at first\n", line, n)
	}
	return text.String()
}

// changed is a content with one line replaced, added or taken out; both sides may come to the same.
func changed(draw source, old string) string {
	lines := strings.SplitAfter(old, "\n")
	at := draw(len(lines))
	switch word := []string{"this", "that"}[draw(2)]; {
	case at == len(lines)-1 || draw(4) == 0:
		lines = slices.Insert(lines, at, "another line: "+word+"\n")
	case draw(4) == 0:
		lines = slices.Delete(lines, at, at+1)
	default:
		lines[at] = fmt.Sprintf("line %d is %s now\n", at, word)
	}
	return strings.Join(lines, "")
}

// step tries one change. It is followed where give takes it, which does it in a workspace or in the
// project.
func (e *treeEditor) step(give func(op work.Operation) error) {
	at, to := gitPaths[e.draw(len(gitPaths))], gitPaths[e.draw(len(gitPaths))]
	if paths := slices.Sorted(maps.Keys(e.tree)); len(paths) > 0 && e.draw(4) > 0 {
		at = paths[e.draw(len(paths))]
	}
	old, exists := e.tree[at]
	op := work.Operation{Action: work.Modify, Path: at}
	switch e.draw(8) {
	case 0, 1:
		op.Action = work.Delete
	case 2, 3:
		op.Action, op.NewPath = work.Rename, to
	default:
		content := ""
		if exists {
			content = changed(e.draw, old)
		} else {
			op.Action, op.ContentType = work.Create, "text/plain"
			*e.serial++
			if content = newFile(*e.serial); e.draw(3) == 0 {
				content = newFile(-1)
			}
		}
		op.Content = new(work.Blob)
		*op.Content = blob(content)
	}
	if !exists && op.Action != work.Create ||
		op.Action == work.Rename && (at == to || e.anew[at]) || give(op) != nil {
		return
	}
	e.anew[at] = e.anew[at] || op.Action == work.Create
	e.steps = append(e.steps, fmt.Sprint(op.Action, " ", at, " ", op.NewPath))
	switch op.Action {
	case work.Delete:
		delete(e.tree, at)
		delete(e.origins, at)
	case work.Rename:
		e.tree[to] = old
		delete(e.tree, at)
		if from := e.origins[at]; from != "" {
			e.origins[to] = from
		}
		delete(e.origins, at)
	default:
		e.tree[at] = string(op.Content.Content)
	}
}

// plain reports whether git sees the renames that were made: it takes a file for renamed only where
// nothing else has come to its old path, and where nothing stood at its new one.
func (e *treeEditor) plain(base side) bool {
	for path, from := range e.origins {
		_, again := e.tree[from]
		_, before := base[path]
		if path != from && (again || before) {
			return false
		}
	}
	for path := range e.tree {
		// A file that was created again at the path of another is one of two.
		if _, before := base[path]; before && e.origins[path] != path {
			return false
		}
	}
	return true
}

// makeTreeCase lets a workspace and the project change the same files, and refreshes.
func makeTreeCase(t *testing.T, draw source) (*treeCase, bool) {
	w, serial := newWorld(), 0
	w.create(t)
	for range 2 + draw(4) {
		path := gitPaths[draw(len(gitPaths))]
		serial++
		_, _ = w.do(agent("ann"), &work.PutFile{
			Path: path, Blob: blob(newFile(serial)), ContentType: "text/plain",
		})
	}
	opened, err := w.do(agent("eve"), new(work.OpenWorkspace))
	if err != nil {
		t.Fatal(err)
	}
	space := opened.Result.Subject
	base := w.tree()
	editor := func() *treeEditor {
		e := &treeEditor{draw: draw, tree: maps.Clone(base), serial: &serial,
			origins: map[string]string{}, anew: map[string]bool{}}
		for path := range base {
			e.origins[path] = path
		}
		return e
	}
	ours, theirs := editor(), editor()
	for range 1 + draw(6) {
		ours.step(func(op work.Operation) error { return w.editWorkspace(space, op) })
	}
	for range 1 + draw(6) {
		theirs.step(func(op work.Operation) error {
			_, err := w.do(agent("ann"), &work.PublishChangeset{
				Base: w.project.Head().ID, Operations: []work.Operation{op},
			})
			return err
		})
	}
	if !ours.plain(base) || !theirs.plain(base) {
		return nil, false
	}
	c := &treeCase{base: base, ours: ours.tree, theirs: theirs.tree,
		steps: append(append(ours.steps, "|"), theirs.steps...)}
	before, _ := w.project.Workspace(space)
	if got := w.view(before); !got.equal(c.ours) || !w.tree().equal(c.theirs) {
		t.Fatalf("it shows %v, want %v", got, c.ours)
	}
	_, err = w.do(agent("eve"), &work.RefreshWorkspace{Workspace: space, Plan: w.plan(before)})
	if err != nil {
		t.Fatal(err)
	}
	after, _ := w.project.Workspace(space)
	c.result, c.conflicts = w.view(after), after.Conflicts
	return c, true
}

// editWorkspace does in a workspace, as its author, what an operation does in a project.
func (w *world) editWorkspace(space id.ID, op work.Operation) error {
	var command work.Command
	switch op.Action {
	case work.Delete:
		command = &work.DeleteWorkspaceFile{Workspace: space, Path: op.Path}
	case work.Rename:
		command = &work.RenameWorkspaceFile{Workspace: space, Path: op.Path, NewPath: op.NewPath}
	default:
		command = &work.WriteWorkspaceFile{
			Workspace: space, Path: op.Path, Blob: *op.Content, ContentType: "text/plain",
		}
	}
	_, err := w.do(agent("eve"), command)
	return err
}

// TestGitTrees: a refresh is clean where the merge of the trees by git is, and leaves the same tree
// then; where git finds a conflict, so does it.
func TestGitTrees(t *testing.T) {
	g := newGitRepository(t)
	seed := rand.Uint64()
	draw := rand.New(rand.NewPCG(seed, 1)).IntN
	var cases []*treeCase
	for len(cases) < 600 {
		if c, plain := makeTreeCase(t, draw); plain {
			cases = append(cases, c)
		}
	}
	g.commits(cases)
	clean := g.merges(len(cases))
	if len(clean) < 100 || len(clean) > len(cases)-100 {
		t.Errorf("%d of %d merges are clean in git: too few of one sort", len(clean), len(cases))
	}
	trees, failed := g.trees(clean), 0
	for n, c := range cases {
		want, merged := trees[n]
		if merged == (len(c.conflicts) == 0) && (!merged || c.result.equal(want)) {
			continue
		}
		if failed++; failed <= 3 {
			t.Errorf("seed %d: %q: git is clean: %v, conflicts %s\n%s", seed, c.steps, merged,
				showKinds(c.conflicts), difference(c, want))
		}
	}
	t.Logf("%d merges, %d clean, %d differ", len(cases), len(clean), failed)
}

func showKinds(conflicts []work.Conflict) (text string) {
	for i := range conflicts {
		text += conflicts[i].Kind.String() + " " + conflicts[i].Path + ", "
	}
	return text
}

// difference shows the paths of the trees.
func difference(c *treeCase, want side) (text string) {
	for _, path := range gitPaths {
		line := ""
		for i, tree := range []side{c.base, c.ours, c.theirs, c.result, want} {
			name := []string{"base", "ours", "theirs", "result", "git"}[i]
			if content, exists := tree[path]; exists {
				sum := blob(content).Hash
				line += fmt.Sprintf(" %s %x", name, sum[:2])
			}
		}
		text += path + ":" + line + "\n"
	}
	return text
}
