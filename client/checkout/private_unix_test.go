//go:build unix

package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestLocalFolderIsPrivate looks at all modes before each effect of a pull and a push.
func TestLocalFolderIsPrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	server := newFake(t, map[string]string{"private": "one\n", "other": "1\n2\n3\n"})
	dir := t.TempDir()
	local := filepath.Join(dir, ".pws", "local")
	must(t, os.MkdirAll(filepath.Join(local, "staged"), 0o755))
	must(t, os.WriteFile(filepath.Join(local, "left"), nil, 0o644))
	tree := server.copyOf(t, dir)
	looked := 0
	private := func(string) error {
		return filepath.WalkDir(local, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			// What is below the old folder staged is behind the private one.
			open := err == nil && info.Mode().Perm()&0o077 != 0 && name != filepath.Join(local, "staged")
			if looked++; open {
				t.Errorf("%s has mode %v", name, info.Mode())
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
	}
	must(t, private(""))
	tree.before = private
	if _, err := pull(t, tree); err != nil {
		t.Fatal(err)
	}
	modes := func(want map[string]fs.FileMode) {
		t.Helper()
		for name, mode := range want {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
	}
	modes(map[string]fs.FileMode{"private": 0o644, "other": 0o644, ".pws": 0o755})
	must(t, os.Chmod(filepath.Join(dir, "private"), 0o600))
	write(t, dir, map[string]string{"private": "two\n", "other": "1\n2\n3\n"})
	if _, err := push(t, tree, PushOptions{}); err != nil {
		t.Fatal(err)
	}
	modes(map[string]fs.FileMode{"private": 0o600})
	// A pull that merges stages the content of before.
	server.mu.trees = append(server.mu.trees, map[string]string{
		"private": "two\n", "other": "1\n2\n3\n4\n", "new/file": "",
	})
	write(t, dir, map[string]string{"private": "two\n", "other": "0\n1\n2\n3\n"})
	if _, err := pull(t, tree); err != nil {
		t.Fatal(err)
	}
	modes(map[string]fs.FileMode{"private": 0o600, "other": 0o644, "new/file": 0o644})
	if looked < 20 {
		t.Errorf("looked at %d modes", looked)
	}
}
