package diff

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree is a directory: contents by path.
type tree map[string]string

// repository makes an empty repository that no configuration of the machine reaches.
func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	if output, err := git(root, nil, "init", "-q"); err != nil {
		t.Fatalf("git init: %v\n%s", err, output)
	}
	return root
}

func git(root string, stdin []byte, arguments ...string) ([]byte, error) {
	command := exec.Command("git", arguments...)
	command.Dir = root
	command.Stdin = bytes.NewReader(stdin)
	command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"LC_ALL=C")
	return command.CombinedOutput()
}

func write(t *testing.T, root string, files tree) {
	t.Helper()
	for name, content := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, root string) tree {
	t.Helper()
	files := tree{}
	err := filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		content, err := os.ReadFile(name)
		files[strings.TrimPrefix(name, root+"/")] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// checkApply lets git turn the old tree into the new one by the text of their difference.
func checkApply(t *testing.T, old, new tree, files []File) {
	t.Helper()
	root := repository(t)
	write(t, root, old)
	result := Unified(files, 1<<30)
	if result.Truncated {
		t.Fatal("the text was cut")
	}
	if result.Text == "" {
		if !maps.Equal(old, new) {
			t.Fatal("there is no text for a difference")
		}
		return
	}
	output, err := git(root, []byte(result.Text), "apply", "--whitespace=nowarn", "-")
	if err != nil || len(output) > 0 {
		t.Fatalf("git apply: %v\n%.3000s\n%.3000s", err, output, result.Text)
	}
	got := read(t, root)
	for _, name := range slices.Sorted(maps.Keys(new)) {
		if got[name] != new[name] {
			t.Fatalf("%q is %q, want %q\nwas %q", name, got[name], new[name], old[name])
		}
	}
	if !maps.Equal(got, new) {
		t.Fatalf("git apply left %q", slices.Sorted(maps.Keys(got)))
	}
	if !reversible(files) {
		return
	}
	output, err = git(root, []byte(result.Text), "apply", "-R", "--whitespace=nowarn", "-")
	if err != nil {
		t.Fatalf("git apply -R: %v\n%.3000s\n%.3000s", err, output, result.Text)
	}
	if !maps.Equal(read(t, root), old) {
		t.Fatal("git apply -R does not lead back")
	}
}

// reversible reports whether git can take a diff back: it wants what is deleted BEFORE what takes
// its place, which is the wrong order backwards.
func reversible(files []File) bool {
	comes := map[string]int{}
	for _, file := range files {
		comes[file.Path]++
		if file.Action == Rename {
			comes[file.PreviousPath]++
		}
	}
	for _, n := range comes {
		if n > 1 {
			return false
		}
	}
	return true
}

func TestApplyCases(t *testing.T) {
	same := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	type c struct {
		name     string
		old, new tree
		files    []File
	}
	file := func(action Action, previous, path, old, new string) File {
		return File{path, previous, action, []byte(old), []byte(new), nil}
	}
	cases := []c{
		{"swap", tree{"a": "1\n", "b": "2\n"}, tree{"a": "2\n", "b": "1\n"}, []File{
			file(Rename, "a", "b", "1\n", "1\n"), file(Rename, "b", "a", "2\n", "2\n")}},
		{"swap with changes", tree{"a": same, "b": "x\n"}, tree{"a": "y\n", "b": same + "10"},
			[]File{file(Rename, "a", "b", same, same+"10"), file(Rename, "b", "a", "x\n", "y\n")}},
		{"chain", tree{"a": "1\n", "b": "2\n"}, tree{"b": "1\n", "c": "2\n"}, []File{
			file(Rename, "a", "b", "1\n", "1\n"), file(Rename, "b", "c", "2\n", "2\n")}},
		{"chain, other order", tree{"a": "1\n", "b": "2\n"}, tree{"b": "1\n", "c": "2\n"}, []File{
			file(Rename, "b", "c", "2\n", "2\n"), file(Rename, "a", "b", "1\n", "1\n")}},
		{"ring", tree{"a": "1", "b": "2", "c": "3"}, tree{"b": "1", "c": "2", "a": "3"}, []File{
			file(Rename, "a", "b", "1", "1"), file(Rename, "b", "c", "2", "2"),
			file(Rename, "c", "a", "3", "3")}},
		{"renamed and created", tree{"a": "1\n"}, tree{"a": "new\n", "b": "1\n"}, []File{
			file(Rename, "a", "b", "1\n", "1\n"), file(Create, "", "a", "", "new\n")}},
		{"created and renamed", tree{"a": "1\n"}, tree{"a": "new\n", "b": "1\n"}, []File{
			file(Create, "", "a", "", "new\n"), file(Rename, "a", "b", "1\n", "1\n")}},
		{"renamed and modified", tree{"a": "1\n"}, tree{"a": "new\n", "b": "1\n"}, []File{
			file(Rename, "a", "b", "1\n", "1\n"), file(Modify, "", "a", "1\n", "new\n")}},
		{"renamed onto a deleted one", tree{"a": "1\n", "b": "2\n"}, tree{"b": "1\n"}, []File{
			file(Rename, "a", "b", "1\n", "1\n"), file(Delete, "", "b", "2\n", "")}},
		{"deleted and created", tree{"a": "1\n"}, tree{"a": "2\n"}, []File{
			file(Create, "", "a", "", "2\n"), file(Delete, "", "a", "1\n", "")}},
		{"file to folder", tree{"a": "1\n"}, tree{"a/b": "1\n"}, []File{
			file(Rename, "a", "a/b", "1\n", "1\n")}},
		{"folder to file", tree{"a/b": "1\n"}, tree{"a": "2\n"}, []File{
			file(Create, "", "a", "", "2\n"), file(Delete, "", "a/b", "1\n", "")}},
		{"empty files", tree{"d": "", "r": "", "m": "", "n": "x"},
			tree{"c": "", "s": "", "m": "x", "n": ""}, []File{file(Create, "", "c", "", ""),
				file(Delete, "", "d", "", ""), file(Rename, "r", "s", "", ""),
				file(Modify, "", "m", "", "x"), file(Modify, "", "n", "x", "")}},
		{"nothing changes", tree{"a": "1\n"}, tree{"a": "1\n"}, []File{
			file(Modify, "", "a", "1\n", "1\n")}},
		{"carriage returns", tree{"a": "1\r\n2\r\n3"}, tree{"a": "1\r\n2\n3\r"}, []File{
			file(Modify, "", "a", "1\r\n2\r\n3", "1\r\n2\n3\r")}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { checkApply(t, c.old, c.new, c.files) })
	}
}

var names = []string{"a", "b.txt", "with space", "end ", " start", "b/x b/x", "qu\"ote",
	"back\\slash", "tab\there", "new\nline", "é", "日本/語", "🙂", "-dash", "a/dev/null",
	"x b/y", "e\u0301", "bell\a", "a\tb c", "dev/null", "a/b/c", "\x7fdel", "\"", "bytes\xff"}

// randomEdit changes a content in a few places.
func randomEdit(r *rand.Rand, content string) string {
	pieces := []string{"a\n", "b\n", "\n", "\r\n", "c\r\n", "-- x\n", "++ y\n", "@@ -1 +1 @@\n",
		" \n", "\\ No newline at end of file\n", "diff --git a/a b/a\n", "é日🙂\n", "}\n",
		"\tx\n", "\r", "\x01\n"}
	lines := strings.SplitAfter(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for range r.IntN(6) {
		at := r.IntN(len(lines) + 1)
		switch piece := pieces[r.IntN(len(pieces))]; {
		case r.IntN(3) > 0 || at == len(lines):
			lines = slices.Insert(lines, at, piece)
		case r.IntN(2) == 0:
			lines[at] = piece
		default:
			lines = slices.Delete(lines, at, min(len(lines), at+1+r.IntN(3)))
		}
	}
	content = strings.Join(lines, "")
	if r.IntN(4) == 0 {
		content = strings.TrimSuffix(content, "\n")
	}
	return content
}

func randomContent(r *rand.Rand) string {
	content := ""
	for range r.IntN(6) {
		content = randomEdit(r, content)
	}
	return content
}

// randomChange makes an old and a new tree in a folder and the files that lead from one to the
// other. Files go to new places at random, so that chains, swaps and rings come by themselves.
func randomChange(r *rand.Rand, folder string, old, new tree) (files []File) {
	places := r.Perm(len(names))[:2+r.IntN(5)]
	names := func(i int) string { return fmt.Sprintf("%s/%d/%s", folder, places[i], names[places[i]]) }
	source := r.Perm(len(places))
	has := func(i int) bool { return i%3 != 2 }
	for i := range places {
		if has(i) {
			old[names(i)] = randomContent(r)
		}
	}
	kept := make([]bool, len(places))
	filled := make([]bool, len(places))
	for i, from := range source {
		name := names(i)
		before, previous := old[names(from)], names(from)
		switch action := r.IntN(3); {
		case action == 0 && has(from) && from != i:
			content := before
			if r.IntN(2) == 0 {
				content = randomEdit(r, content)
			}
			files = append(files, File{name, previous, Rename, []byte(before), []byte(content), nil})
			new[name], kept[from], filled[i] = content, true, true
		case action == 1 && !has(i):
			new[name], filled[i] = randomContent(r), true
			files = append(files, File{Path: name, Action: Create, New: []byte(new[name])})
		}
	}
	for i := range places {
		name, before := names(i), old[names(i)]
		switch {
		case !has(i) || filled[i] && kept[i]:
		case filled[i] || !kept[i] && r.IntN(4) == 0:
			files = append(files, File{Path: name, Action: Delete, Old: []byte(before)})
		case kept[i]:
			if r.IntN(2) == 0 {
				new[name] = randomContent(r)
				files = append(files, File{Path: name, Action: Create, New: []byte(new[name])})
			}
		default:
			new[name] = randomEdit(r, before)
			files = append(files, File{name, "", Modify, []byte(before), []byte(new[name]), nil})
		}
	}
	r.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	return files
}

// TestApplyRandom: git makes the new tree from the old one, for thousands of random changes.
func TestApplyRandom(t *testing.T) {
	r := newRand(t)
	old, new := tree{}, tree{}
	var files []File
	for i := range 1500 {
		files = append(files, randomChange(r, fmt.Sprintf("case%d", i), old, new)...)
	}
	actions := map[Action]int{}
	for _, file := range files {
		actions[file.Action]++
	}
	t.Log(actions)
	checkApply(t, old, new, files)
}

// TestApplyLong: hunks apart, joined, and at the ends of longer files, and coarse scripts.
func TestApplyLong(t *testing.T) {
	r := newRand(t)
	old, new := tree{}, tree{}
	var files []File
	for i := range 300 {
		path := fmt.Sprintf("long%d", i)
		content := string(randomText(r, 200, 1+r.IntN(200)))
		changed := content
		for range r.IntN(5) {
			changed = randomEdit(r, changed)
		}
		old[path], new[path] = content, changed
		files = append(files, File{path, "", Modify, []byte(content), []byte(changed), nil})
	}
	for name, pair := range hostilePairs() {
		content, changed := pair[0][:100000], pair[1][:100000]
		old[name], new[name] = string(content), string(changed)
		files = append(files, File{name, "", Modify, content, changed, nil})
	}
	checkApply(t, old, new, files)
}
