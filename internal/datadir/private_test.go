//go:build unix

package datadir

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDataDirectoryIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := RequirePrivate(dir); err != nil {
		t.Errorf("a new directory: %v", err)
	}
	file := filepath.Join(filepath.Dir(dir), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := RequirePrivate(file); err == nil || !strings.Contains(err.Error(), "not a directory") ||
		strings.Contains(err.Error(), "chmod") {
		t.Errorf("a file: %v", err)
	}
	if err := Prepare(dir); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []fs.FileMode{0o750, 0o701, 0o770} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		err := RequirePrivate(dir)
		if err == nil || !strings.Contains(err.Error(), "chmod -R go-rwx '"+dir+"'") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	folder := filepath.Join(dir, LogName)
	if err := os.Mkdir(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, "1")
	if err := os.WriteFile(name, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := Tighten(dir); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, folder: 0o700, name: 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := RequirePrivate(dir); err != nil {
		t.Error(err)
	}
}

func TestMissingSecretIsNotMadeAnew(t *testing.T) {
	dir := t.TempDir()
	if err := Prepare(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, BlobsName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadSecret(dir); err == nil || !strings.Contains(err.Error(), "backup") {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, SecretName)); err == nil {
		t.Error("a secret was made")
	}
}
