package checkout

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"pws/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type files = map[string]string

// TestPull has each combination of what may have become of a file on both sides.
func TestPull(t *testing.T) {
	const lines = "1\n2\n3\n4\n5\n"
	ours, theirs := strings.Replace(lines, "1", "ours", 1), strings.Replace(lines, "5", "theirs", 1)
	clash := strings.Replace(lines, "1", "theirs", 1)
	marked := strings.Replace(lines, "1\n", "<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n", 1)
	before := files{
		"taken": lines, "gone": lines, "kept": lines, "both": lines, "same": lines, "clash": lines,
		"back": lines, "stays": lines, "left": lines, "d/e/f": lines, "turned": lines, "x/y": lines,
	}
	server := newFake(t, before)
	dir := t.TempDir()
	tree := server.copyOf(t, dir)
	done, err := pull(t, tree)
	must(t, err)
	if len(done.Written) != len(before) || len(done.Conflicts) != 0 {
		t.Errorf("first pull: %+v", done)
	}
	wantFiles(t, dir, before)

	server.set(files{
		"taken": theirs, "kept": lines, "both": theirs, "same": ours, "clash": clash, "back": theirs,
		"left": lines, "new": theirs, "new both": theirs, "new same": ours, "turned/a": lines, "x": lines,
	})
	write(t, dir, files{
		"taken": lines, "gone": lines, "kept": ours, "both": ours, "same": ours, "clash": ours,
		"stays": ours, "d/e/f": lines, "own": ours, "new both": ours, "new same": ours,
		"turned": lines, "x/y": lines,
	})
	must(t, os.Chmod(filepath.Join(dir, "taken"), 0o744))
	done, err = pull(t, tree)
	must(t, err)
	got := filesIn(t, dir)
	if !strings.Contains(got["new both"], "<<<<<<< ours\n") {
		t.Errorf("two new files: %q", got["new both"])
	}
	delete(got, "new both")
	want := files{
		"taken": theirs, "kept": ours, "both": strings.Replace(ours, "5", "theirs", 1), "same": ours,
		"clash": marked, "back": theirs, "stays": ours, "own": ours, "new": theirs, "new same": ours,
		"turned/a": lines, "x": lines,
	}
	if !maps.Equal(got, want) {
		t.Errorf("the directory has\n%q\nwant\n%q", got, want)
	}
	conflicts := []Conflict{
		{"back", ConflictDeletedHere}, {"clash", ConflictText}, {"new both", ConflictText},
		{"stays", ConflictDeletedThere},
	}
	if !slices.Equal(done.Conflicts, conflicts) || !slices.Equal(done.Merged, []string{"both"}) ||
		!slices.Equal(done.Deleted, []string{"d/e/f", "gone", "turned", "x/y"}) ||
		!slices.Equal(done.Written, []string{"new", "taken", "turned/a", "x"}) {
		t.Errorf("second pull: %+v", done)
	}
	if info, err := os.Stat(filepath.Join(dir, "taken")); err != nil || info.Mode().Perm() != 0o744 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "d")); err == nil {
		t.Error("an empty folder stays")
	}
	checkMarkers(t, server, dir, tree)
}

// TestRenamedThere: a file that was changed here moves with a rename of the server, unless the
// rename is in doubt.
func TestRenamedThere(t *testing.T) {
	p := newPlace(t, newFake(t, files{
		"long": "l\n", "turn": "t\n", "twin 1": "w\n", "twin 2": "w\n", "taken": "k\n",
	}))
	write(t, p.dir, files{
		"long": "l\nmore\n", "turn": "t\nmore\n", "twin 1": "w\nmore\n", "twin 2": "w\n",
		"taken": "k\nmore\n", "new": "own\n",
	})
	p.server.set(files{"moved": "l\n", "turn/in": "t\n", "twin": "w\n", "new": "k\n"})
	done, err := pull(t, p.tree)
	must(t, err)
	if !slices.Equal(done.Merged, []string{"moved", "turn/in"}) ||
		!slices.Equal(done.Deleted, []string{"long", "turn", "twin 2"}) ||
		!slices.Equal(done.Conflicts, []Conflict{
			{"new", ConflictText}, {"taken", ConflictDeletedThere}, {"twin 1", ConflictDeletedThere},
		}) {
		t.Errorf("pull: %+v", done)
	}
	if !slices.Contains(p.told, "long was renamed to moved on the server: what was changed here is "+
		"there now.") {
		t.Errorf("told %q", p.told)
	}
	wantFiles(t, p.dir, files{
		"moved": "l\nmore\n", "turn/in": "t\nmore\n", "twin": "w\n", "twin 1": "w\nmore\n",
		"taken": "k\nmore\n", "new": "<<<<<<< ours\nown\n=======\nk\n>>>>>>> theirs\n",
	})
	status, err := p.tree.LocalStatus()
	must(t, err)
	var changes []string
	for _, one := range status.Changes {
		changes = append(changes, one.Action+" "+one.Path)
	}
	want := []string{"MODIFY moved", "MODIFY new", "MODIFY turn/in", "CREATE taken", "CREATE twin 1"}
	if !slices.Equal(changes, want) {
		t.Errorf("changes %q", changes)
	}
}

// checkMarkers: files with markers are neither pushed nor pulled over.
func checkMarkers(t *testing.T, server *fake, dir string, tree *Tree) {
	t.Helper()
	var blocked *BlockedError
	if _, err := push(t, tree, PushOptions{}); !errors.As(err, &blocked) || len(blocked.Files) != 2 {
		t.Errorf("push of markers: %v", err)
	}
	server.set(maps.Clone(server.head()))
	if _, err := pull(t, tree); !errors.As(err, &blocked) {
		t.Errorf("pull over markers: %v", err)
	}
	all := filesIn(t, dir)
	all["clash"], all["new both"] = "resolved\n", "resolved\n"
	write(t, dir, all)
	if _, err := pull(t, tree); err != nil {
		t.Error(err)
	}
	if _, err := push(t, tree, PushOptions{}); err != nil {
		t.Error(err)
	}
	if !maps.Equal(server.head(), all) {
		t.Errorf("the server has %q, want %q", server.head(), all)
	}
}

func TestPush(t *testing.T) {
	server := newFake(t, files{"a": "a\n", "b": "b\n", "c": "c\n", "e": "", "f/g": "g\n"})
	dir := t.TempDir()
	tree := server.copyOf(t, dir)
	if _, err := push(t, tree, PushOptions{}); err == nil {
		t.Error("a push without a base")
	}
	_, err := pull(t, tree)
	must(t, err)
	now := files{"a": "A\n", "moved": "b\n", "new": "", "f": "file\n", "h/i": "c\n", "h/j": "c\n"}
	write(t, dir, now)
	done, err := push(t, tree, PushOptions{})
	must(t, err)
	var said []string
	for _, one := range done.Changes {
		said = append(said, one.Action+" "+one.Previous+" "+one.Path)
	}
	want := []string{
		"DELETE  e", "DELETE  f/g", "RENAME c h/i", "RENAME b moved", "MODIFY  a", "CREATE  f",
		"CREATE  h/j", "CREATE  new",
	}
	if !slices.Equal(said, want) || !maps.Equal(server.head(), now) {
		t.Errorf("changes %q; the server has %q", said, server.head())
	}
	if done, err = push(t, tree, PushOptions{}); err != nil || len(done.Changesets) != 0 {
		t.Errorf("a second push: %+v, %v", done, err)
	}

	// The server has moved.
	server.set(files{"a": "other\n"})
	now["new"] = "x"
	write(t, dir, now)
	if _, err = push(t, tree, PushOptions{}); !client.IsCode(err, "PROJECT_MOVED") {
		t.Errorf("a push on an old base: %v", err)
	}
	if status, err := tree.Status(t.Context()); err != nil || status.Interrupted ||
		status.Head == status.Base {
		t.Errorf("status %+v, %v", status, err)
	}
	wantFiles(t, dir, now)
}

func TestManyChanges(t *testing.T) {
	server := newFake(t, files{"old": "o\n"})
	dir := t.TempDir()
	tree := server.copyOf(t, dir)
	_, err := pull(t, tree)
	must(t, err)
	now, large := files{}, strings.Repeat("\x01\n", 500_000)
	for i := range 250 {
		now["n"+string(rune('a'+i/26))+string(rune('a'+i%26))] = string(rune('0' + i))
	}
	for i := range 6 {
		// A control character takes six bytes as JSON.
		now["l"+string(rune('a'+i))] = large + string(rune('a'+i))
	}
	write(t, dir, now)
	var many *TooManyError
	if _, err = push(t, tree, PushOptions{}); !errors.As(err, &many) || many.Operations != 257 {
		t.Errorf("many changes: %v", err)
	}
	if server.published() != 0 {
		t.Error("something was published")
	}
	done, err := push(t, tree, PushOptions{Split: true})
	must(t, err)
	if len(done.Changesets) != many.Changesets || len(done.Changes) != 257 ||
		!maps.Equal(server.head(), now) {
		t.Errorf("%d changesets, %d changes", len(done.Changesets), len(done.Changes))
	}
}

// TestUnfitFiles: what a project cannot keep is named, and stays where it is.
func TestUnfitFiles(t *testing.T) {
	server := newFake(t, files{"kept": "k\n", "linked": "l\n", "deep/a": "a\n"})
	dir := t.TempDir()
	tree := server.copyOf(t, dir)
	_, err := pull(t, tree)
	must(t, err)
	outside := t.TempDir()
	write(t, outside, files{"secret": "s\n", "a": "outside\n"})
	in := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(in("binary"), []byte("a\x00b"), 0o600))
	must(t, os.WriteFile(in("latin"), []byte("\xe9"), 0o600))
	must(t, os.WriteFile(in("large"), make([]byte, FileBytesMax+1), 0o600))
	must(t, os.WriteFile(in("e\u0301"), nil, 0o600))
	must(t, os.WriteFile(in("back\\slash"), nil, 0o600))
	must(t, os.Symlink(filepath.Join(outside, "secret"), in("link")))
	must(t, os.Symlink(outside, in("folder")))
	done, err := push(t, tree, PushOptions{})
	must(t, err)
	want := []LeftOut{
		{"back\\slash", "has a path that has a backslash; segments are separated by \"/\""},
		{"binary", "is binary: it has a NUL byte"},
		{"e\u0301", "has a path that is not in Unicode normalization form C"},
		{"folder", "is a symbolic link"}, {"large", "is larger than 1 MiB (1048577 bytes)"},
		{"latin", "is not UTF-8"}, {"link", "is a symbolic link"},
	}
	if !slices.Equal(done.LeftOut, want) || len(done.Changesets) != 0 {
		t.Errorf("left out %q, published %q", done.LeftOut, done.Changesets)
	}

	// Files of the project that became such are no deletions.
	must(t, os.Remove(in("linked")))
	must(t, os.Symlink(filepath.Join(outside, "secret"), in("linked")))
	must(t, os.WriteFile(in("kept"), []byte{0}, 0o600))
	must(t, os.RemoveAll(in("deep")))
	must(t, os.Symlink(outside, in("deep")))
	var blocked *BlockedError
	unfit := []LeftOut{
		{"deep/a", "is behind the symbolic link deep"}, {"kept", "is binary: it has a NUL byte"},
		{"linked", "is a symbolic link"},
	}
	_, err = push(t, tree, PushOptions{})
	if !errors.As(err, &blocked) || !slices.Equal(blocked.Files, unfit) {
		t.Errorf("push: %v", err)
	}

	// Nothing of the server replaces them, nor goes through a link.
	server.set(files{
		"kept": "K\n", "linked": "L\n", "deep/a": "A\n", "folder/x": "x\n", "binary": "b\n",
		"kept/below": "impossible\n",
	})
	inDir, beyond := filesIn(t, dir), filesIn(t, outside)
	_, err = pull(t, tree)
	if !errors.As(err, &blocked) || len(blocked.Files) != 6 {
		t.Errorf("pull: %v", err)
	}
	wantFiles(t, dir, inDir)
	wantFiles(t, outside, beyond)
}

// TestReservedPaths: what a project has below .git or .pws is not written.
func TestReservedPaths(t *testing.T) {
	hostile := files{
		".git/hooks/post-checkout": "x\n", ".GIT/config": "x\n", "sub/.git/config": "x\n",
		".g\u200cit/config": "x\n", "git~1/config": "x\n", ".pws/config.toml": "x\n",
		"sub/.pws/config.toml": "x\n", ".git./x": "x\n", "good": "g\n", ".gitignore": "ignored\n",
	}
	server := newFake(t, hostile)
	dir := t.TempDir()
	tree := server.copyOf(t, dir)
	done, err := pull(t, tree)
	must(t, err)
	wantFiles(t, dir, files{"good": "g\n", ".gitignore": "ignored\n"})
	for _, name := range []string{".git", "sub", ".pws/config.toml"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if len(done.LeftOut) != 8 {
		t.Errorf("left out: %q", done.LeftOut)
	}
	// They are no deletions.
	if pushed, err := push(t, tree, PushOptions{}); err != nil || len(pushed.Changesets) != 0 {
		t.Errorf("push: %+v, %v", pushed, err)
	}
	for name, want := range map[string]bool{
		"a/CON": true, "nul.txt": true, "com1.x": true, "console": false, "a:b": true, "dot.": true,
		"com": false, "lpt9": true, "a b/c": false, "space ": true,
	} {
		if got := windowsProblem(name) != ""; got != want {
			t.Errorf("%q on Windows: %v", name, got)
		}
	}
}

// TestBlockedPullWritesNothing: a file that cannot be written stops a pull BEFORE its first write.
func TestBlockedPullWritesNothing(t *testing.T) {
	server := newFake(t, files{"a": "a\n"})
	dir := t.TempDir()
	tree := server.copyOf(t, dir)
	_, err := pull(t, tree)
	must(t, err)
	server.set(files{"a": "A\n", "file/below": "x\n", "folder": "y\n"})
	now := files{"a": "a\n", "file": "own\n", "folder/own": "own\n"}
	write(t, dir, now)
	must(t, os.MkdirAll(filepath.Join(dir, "empty/er"), 0o755))
	var blocked *BlockedError
	want := []LeftOut{
		{"file/below", "needs a folder where file is"}, {"folder", "is a folder here, with folder/own"},
	}
	if _, err := pull(t, tree); !errors.As(err, &blocked) || !slices.Equal(blocked.Files, want) {
		t.Errorf("pull: %v", err)
	}
	wantFiles(t, dir, now)
	server.set(files{"a": "A\n", "empty": "e\n"})
	_, err = pull(t, tree)
	must(t, err)
	now["a"], now["empty"] = "A\n", "e\n"
	wantFiles(t, dir, now)

	// Names that differ in case only are one file on some disks.
	server.set(files{"a": "A\n", "Empty": "e\n", "b": "1\n", "B": "2\n"})
	tree.folding = true
	if _, err := pull(t, tree); !errors.As(err, &blocked) || len(blocked.Files) != 1 {
		t.Errorf("pull: %v", err)
	}
	server.set(files{"a": "A\n", "Empty": "e\n"})
	_, err = pull(t, tree)
	must(t, err)
	delete(now, "empty")
	now["Empty"] = "e\n"
	wantFiles(t, dir, now)
}

// TestRemovedContent: a content that operators have removed is left out, and is no deletion.
func TestRemovedContent(t *testing.T) {
	t.Run("named", func(t *testing.T) { checkRemovedContent(t, false) })
	t.Run("not named", func(t *testing.T) { checkRemovedContent(t, true) })
}

func checkRemovedContent(t *testing.T, older bool) {
	server := newFake(t, files{"a": "a\n", "bad": "bad\n", "c": "c\n", "d": "d\n", "e": "e\n"})
	server.mu.older = older
	server.removeContent("bad\n")
	dir := t.TempDir()
	tree := server.copyOf(t, dir)
	done, err := pull(t, tree)
	must(t, err)
	if !slices.Equal(done.LeftOut, []LeftOut{{"bad", reasonRemoved}}) || len(done.Written) != 4 {
		t.Errorf("pull: %+v", done)
	}
	pushed, err := push(t, tree, PushOptions{})
	if err != nil || len(pushed.Changesets) != 0 {
		t.Errorf("push: %+v, %v", pushed, err)
	}
	next := maps.Clone(server.head())
	next["bad"] = "good\n"
	server.set(next)
	_, err = pull(t, tree)
	must(t, err)
	wantFiles(t, dir, next)
	// A base whose content was removed leaves both sides.
	server.removeContent("good\n")
	next = maps.Clone(next)
	next["bad"] = "better\n"
	server.set(next)
	write(t, dir, files{"a": "a\n", "bad": "mine\n", "c": "c\n", "d": "d\n", "e": "e\n"})
	if done, err = pull(t, tree); err != nil || len(done.Conflicts) != 1 {
		t.Errorf("pull: %+v, %v", done, err)
	}
}

// TestOnlyTheChosenFolderIsKept keeps one folder of the project.
func TestOnlyTheChosenFolderIsKept(t *testing.T) {
	server := newFake(t, files{"docs/a": "a\n", "docsx": "x\n", "src": "s\n"})
	dir := t.TempDir()
	all := server.copyOf(t, dir)
	tree, err := Open(Options{Dir: dir, Folder: "docs/", Remote: all.remote})
	must(t, err)
	defer func() { _ = tree.Close() }()
	_, err = pull(t, tree)
	must(t, err)
	wantFiles(t, dir, files{"docs/a": "a\n"})
	write(t, dir, files{"docs/a": "A\n", "docs/b": "b\n", "own": "o\n"})
	_, err = push(t, tree, PushOptions{})
	must(t, err)
	want := files{"docs/a": "A\n", "docs/b": "b\n", "docsx": "x\n", "src": "s\n"}
	if !maps.Equal(server.head(), want) {
		t.Errorf("the server has %q", server.head())
	}
	for _, wrong := range []string{"", "..", "/x", "../x", ".git", "a/.pws"} {
		if _, err := Open(Options{Dir: dir, Folder: wrong, Remote: all.remote}); err == nil {
			t.Errorf("%q is a folder", wrong)
		}
	}
}

// TestLostAnswer: a push whose answer was lost is published once.
func TestLostAnswer(t *testing.T) {
	server := newFake(t, files{"a": "a\n"})
	dir := t.TempDir()
	tree := server.copyOf(t, dir)
	_, err := pull(t, tree)
	must(t, err)
	write(t, dir, files{"a": "b\n"})
	server.cut(true)
	var lost *client.UnreachableError
	if _, err = push(t, tree, PushOptions{}); !errors.As(err, &lost) {
		t.Errorf("push: %v", err)
	}
	server.cut(false)
	if status, err := tree.Status(t.Context()); err != nil || !status.Interrupted {
		t.Errorf("status %+v, %v", status, err)
	}
	done, err := push(t, tree, PushOptions{})
	if err != nil || len(done.Changesets) != 1 || server.published() != 1 {
		t.Errorf("push: %+v, %v, %d published", done, err, server.published())
	}
	// One that the server has never seen is forgotten when it is refused.
	write(t, dir, files{"a": "c\n"})
	tree.before = func(effect string) error {
		if effect == "send" {
			return errKilled
		}
		return nil
	}
	if _, err = push(t, tree, PushOptions{}); !errors.Is(err, errKilled) {
		t.Errorf("push: %v", err)
	}
	server.set(files{"a": "b\n", "d": "d\n"})
	again := server.copyOf(t, dir)
	if _, err = pull(t, again); err != nil {
		t.Error(err)
	}
	if _, err = push(t, again, PushOptions{}); err != nil {
		t.Error(err)
	}
	if want := (files{"a": "c\n", "d": "d\n"}); !maps.Equal(server.head(), want) {
		t.Errorf("the server has %q", server.head())
	}
}
