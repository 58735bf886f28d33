package checkout

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// nobody is the ID of a user without rights.
const nobody = 65534

// asUser calls run as a user whom the modes of files bind: root becomes the owner of dir that is
// nobody else, for this thread and its use of files.
func asUser(t *testing.T, dir string, run func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		run()
		return
	}
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(name, nobody, nobody))
	}))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	must(t, syscall.Setfsuid(nobody))
	defer func() { must(t, syscall.Setfsuid(0)) }()
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrPermission) {
		t.Skip("the folder for temporary files is root's alone")
	}
	run()
}

// changeMode sets the modes of files, and lets the test remove them in the end.
func changeMode(t *testing.T, dir string, modes map[string]fs.FileMode) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(modes)) {
		at := filepath.Join(dir, name)
		must(t, os.Chmod(at, modes[name]))
		t.Cleanup(func() { must(t, os.Chmod(at, 0o700)) })
	}
}

const denied = "cannot be read: permission denied"

// TestUnreadable: what cannot be read is left out and named, and is no deletion where the project
// has it.
func TestUnreadable(t *testing.T) {
	server := newFake(t, files{"b": "b\n", "kept/a": "a\n", "other": "o\n"})
	dir := t.TempDir()
	tree := server.copyOf(t, dir)
	_, err := pull(t, tree)
	must(t, err)
	write(t, dir, files{
		"b": "b\n", "kept/a": "a\n", "other": "o\n", "file": "f\n", "fine": "f\n",
		"priv/x": "x\n",
	})
	changeMode(t, dir, map[string]fs.FileMode{"b": 0, "file": 0, "kept": 0, "priv": 0})
	asUser(t, dir, func() {
		status, err := tree.Status(t.Context())
		must(t, err)
		left := []LeftOut{{"file", denied}, {"kept/", denied}, {"priv/", denied}}
		unfit := []LeftOut{{"b", denied}, {"kept/a", denied}}
		if !slices.Equal(status.LeftOut, left) || !slices.Equal(status.Unfit, unfit) ||
			len(status.Changes) != 1 || status.Changes[0].Path != "fine" {
			t.Errorf("status %+v", status)
		}
		var blocked *BlockedError
		_, err = push(t, tree, PushOptions{})
		if !errors.As(err, &blocked) || !slices.Equal(blocked.Files, unfit) {
			t.Errorf("push: %v", err)
		}

		// A pull of other files is possible, one of these is not.
		server.set(files{"b": "b\n", "kept/a": "a\n", "other": "theirs\n"})
		if done, err := pull(t, tree); err != nil || !slices.Equal(done.Written, []string{"other"}) {
			t.Errorf("pull: %+v, %v", done, err)
		}
		server.set(files{"b": "theirs\n", "kept/a": "a\n", "other": "theirs\n", "priv": "p\n"})
		want := []LeftOut{{"b", denied}, {"priv", "is a folder here, and priv/ " + denied}}
		_, err = pull(t, tree)
		if !errors.As(err, &blocked) || !slices.Equal(blocked.Files, want) {
			t.Errorf("pull: %v", err)
		}
	})
	server.set(files{"b": "b\n", "kept/a": "a\n", "other": "theirs\n"})
	must(t, os.Chmod(filepath.Join(dir, "b"), 0o600))
	must(t, os.Chmod(filepath.Join(dir, "kept"), 0o700))
	asUser(t, dir, func() {
		_, err := pull(t, tree)
		must(t, err)
		done, err := push(t, tree, PushOptions{})
		if err != nil || len(done.Changes) != 1 || len(done.LeftOut) != 2 {
			t.Errorf("push: %+v, %v", done, err)
		}
	})
}

// TestUnreadableRules: without the rules in it nothing is known of what is beside it.
func TestUnreadableRules(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, files{"sub/.gitignore": ".env\n", "sub/.env": "e\n"})
	tree := newFake(t, files{}).copyOf(t, dir)
	changeMode(t, dir, map[string]fs.FileMode{"sub/.gitignore": 0})
	asUser(t, dir, func() {
		_, _, err := tree.find()
		if err == nil || !strings.HasPrefix(err.Error(), "sub/.gitignore "+denied) {
			t.Errorf("find: %v", err)
		}
	})
}

// TestUnreadableInGit: git passes over what it cannot read.
func TestUnreadableInGit(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil || os.Geteuid() == 0 {
		t.Skip("there is no git, or it can read everything")
	}
	dir := t.TempDir()
	write(t, dir, files{"a": "a\n", "priv/x": "x\n", "sub/.gitignore": ".env\n", "sub/.env": "e\n"})
	must(t, exec.Command(program, "init", "-q", dir).Run())
	tree := newFake(t, files{}).copyOf(t, dir)
	var said string
	tree.notice = func(text string) { said += text }
	changeMode(t, dir, map[string]fs.FileMode{"priv": 0, "sub/.gitignore": 0o600})
	all, _, err := tree.scan(nil)
	if err != nil || len(all) != 2 || !strings.Contains(said, "priv/") {
		t.Errorf("scan: %v, %v, said %q", all, err, said)
	}
	changeMode(t, dir, map[string]fs.FileMode{"sub/.gitignore": 0})
	_, _, err = tree.scan(nil)
	if err == nil || !strings.HasPrefix(err.Error(), "sub/.gitignore "+denied) {
		t.Errorf("scan: %v", err)
	}
}

// TestBesideUnwritable: what is in a directory that the user cannot write can be published.
func TestBesideUnwritable(t *testing.T) {
	for _, removed := range []string{"none", lockFile} {
		p := newPlace(t, newFake(t, files{"a": "1\n"}))
		write(t, p.dir, files{"a": "2\n"})
		must(t, os.RemoveAll(filepath.Join(p.dir, removed)))
		changeMode(t, p.dir, map[string]fs.FileMode{localFolder: 0o555})
		asUser(t, p.dir, func() {
			p.as(t, "agt_1")
			behind, err := p.beside(t, false, files{"a": "2\n"})
			if err != nil || !behind || p.server.head()["a"] != "2\n" {
				t.Errorf("without %s: %v, behind %t", removed, err, behind)
			}
		})
		must(t, os.Chmod(filepath.Join(p.dir, localFolder), 0o700))
		if done := p.pullOK(t); len(done.Written)+len(done.Merged) > 0 {
			t.Errorf("without %s: pull: %+v", removed, done)
		}
	}

	// Without a folder for it there is no base yet.
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o555))
	asUser(t, dir, func() {
		tree := newFake(t, files{}).copyOf(t, dir)
		if _, err := pull(t, tree); !errors.Is(err, fs.ErrPermission) || tree.Base() != "" {
			t.Errorf("pull: %v", err)
		}
	})
}

// TestNamesOfAnyBytes: a folder whose name is no UTF-8 is no reason to do nothing.
func TestNamesOfAnyBytes(t *testing.T) {
	server := newFake(t, files{"a": "a\n"})
	dir := t.TempDir()
	tree := server.copyOf(t, dir)
	_, err := pull(t, tree)
	must(t, err)
	write(t, dir, files{"a": "a\n", "bad\xff/f": "1\n", "in/bad\xff/f": "1\n", "fine": "f\n"})
	done, err := push(t, tree, PushOptions{})
	if err != nil || len(done.Changes) != 1 || len(done.LeftOut) != 2 ||
		done.LeftOut[0] != (LeftOut{"bad\xff/f", "has a path that is not valid UTF-8"}) {
		t.Errorf("push: %+v, %v", done, err)
	}
	server.set(files{"a": "theirs\n", "in": "f\n"})
	var blocked *BlockedError
	want := []LeftOut{{"in", "is a folder here, with in/bad\xff/f"}}
	if _, err = pull(t, tree); !errors.As(err, &blocked) || !slices.Equal(blocked.Files, want) {
		t.Errorf("pull: %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "in/bad\xff/f")))
	if _, err = pull(t, tree); err != nil {
		t.Error(err)
	}
	wantFiles(t, dir, files{"a": "theirs\n", "bad\xff/f": "1\n", "in": "f\n"})
}
