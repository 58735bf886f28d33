package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestFolderOfOthers has a repository bring links, a device and another project for .pws.
func TestFolderOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right")
	}
	outside := filepath.Join(t.TempDir(), "outside")
	const own = "what the user has\n"
	if err := os.WriteFile(outside, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(to string) func(string) error {
		return func(at string) error { return os.Symlink(to, at) }
	}
	text := func(text string) func(string) error {
		return func(at string) error { return os.WriteFile(at, []byte(text), 0o600) }
	}
	for _, one := range []struct {
		path, want string
		make       func(at string) error
	}{
		{"config.toml", "not an ordinary file", link(outside)},
		{"config.toml", "not an ordinary file", link("/dev/zero")},
		{"config.toml", "larger than 1 MiB", text(strings.Repeat("#\n", 1<<20))},
		{"config.toml", "no ID of a project", text("project = \"prj_1/restore#\"\n")},
		{".gitignore", "not an ordinary file", link(outside)},
		{"local", "not a folder", link(filepath.Dir(outside))},
	} {
		t.Run(one.path, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, bindingFolder), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := one.make(filepath.Join(dir, bindingFolder, one.path)); err != nil {
				t.Fatal(err)
			}
			_, err := readBinding(dir)
			if one.path != bindingFile {
				bound := Binding{root: dir}
				_, err = bound.local(claimsFile)
				if err == nil {
					err = writeBinding(dir, bound)
				}
			}
			if err == nil || !strings.Contains(err.Error(), one.want) {
				t.Errorf("%v, want %s", err, one.want)
			}
			if now, err := os.ReadFile(outside); err != nil || string(now) != own {
				t.Errorf("the file outside is %q, %v", now, err)
			}
		})
	}
}

// TestFolderOfAnotherUser has .pws belong to somebody else. Root alone can make that.
func TestFolderOfAnotherUser(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	dir := t.TempDir()
	if err := writeBinding(dir, Binding{Server: "http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	if err := os.Chown(filepath.Join(dir, bindingFolder, bindingFile), nobody, nobody); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, bindingFolder, bindingFile))
	if err != nil {
		t.Fatal(err)
	}
	if !ownedBy(info, 0) || !ownedBy(info, nobody) || ownedBy(info, 1000) {
		t.Error("who may use a folder does not follow from its owner")
	}
}
