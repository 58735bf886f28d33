package checkout

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestIgnoredFilesAsGit compares the files that are found without git with those that git finds,
// for random patterns.
func TestIgnoredFilesAsGit(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	const rounds = 150
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "b", "ab", "x.o", "y.o", "dir", "sub", "{a}", "a b", "ü"}
	pieces := append([]string{
		"*", "**", "?", "*.o", "[ab]", "[!a]", "/", "/", "/", "/", "!", "#", `\#`, " ", `\ `, `\a`, "[",
		"[[:alpha:]]", "[]a]", "[!]b]", "[[:upper:][:digit:]x]", "[[:punct:]]", "[[:none:]a]", "[[a]",
		"\xc3", "[\x80-\xff]", "***", "***/", "/***", "/****/", "***/x.o", "a***",
	}, words...)
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	for round := range rounds {
		all := files{}
		for range 12 {
			name := pick(words)
			for range random.IntN(3) {
				name += "/" + pick(words)
			}
			all[name] = "x"
		}
		for name := range all {
			for other := range all {
				if strings.HasPrefix(other, name+"/") {
					delete(all, name)
				}
			}
		}
		for _, folder := range []string{"", "dir/", "sub/"} {
			var lines strings.Builder
			for range random.IntN(4) {
				for range 1 + random.IntN(3) {
					lines.WriteString(pick(pieces))
				}
				lines.WriteString("\n")
			}
			if _, isFile := all[strings.TrimSuffix(folder, "/")]; !isFile {
				all[folder+".gitignore"] = lines.String()
			}
		}
		dir := t.TempDir()
		write(t, dir, all)
		server := newFake(t, files{})
		tree := server.copyOf(t, dir)
		must(t, tree.readBase())
		own, _, err := tree.find()
		must(t, err)
		must(t, exec.Command(program, "init", "-q", dir).Run())
		asked, _, err := tree.find()
		must(t, err)
		slices.Sort(own)
		slices.Sort(asked)
		if !slices.Equal(own, asked) {
			t.Fatalf("round %d: found %q, git finds %q, with\n%s", round, own, asked, ignoreFilesOf(all))
		}
	}
}

func ignoreFilesOf(all files) string {
	var text strings.Builder
	for name, content := range all {
		if filepath.Base(name) == ".gitignore" {
			fmt.Fprintf(&text, "%s: %q\n", name, content)
		}
	}
	return text.String()
}

func TestFoundFiles(t *testing.T) {
	server := newFake(t, files{".github/workflow": "w\n", "a": "a\n"})
	dir := t.TempDir()
	tree := server.copyOf(t, dir)
	_, err := pull(t, tree)
	must(t, err)
	now := filesIn(t, dir)
	now[".github/new"], now[".venv/lib"], now[".env"], now["other/.pws/x"] = "n\n", "v\n", "e\n", ""
	write(t, dir, now)
	write(t, filepath.Join(dir, "other"), files{"own": "o\n"})
	status, err := tree.Status(t.Context())
	must(t, err)
	var changed []string
	for _, one := range status.Changes {
		changed = append(changed, one.Path)
	}
	left := []LeftOut{
		{".venv/", "is a folder with a dot before its name"}, {"other/", "is another repository"},
	}
	if !slices.Equal(changed, []string{".env", ".github/new"}) || !slices.Equal(status.LeftOut, left) {
		t.Errorf("changed %q, left out %q", changed, status.LeftOut)
	}
}

// TestNestedCopyInGit: what a working copy in the directory has is not of this one, in a repository
// of git as without.
func TestNestedCopyInGit(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	tree := newFake(t, files{}).copyOf(t, dir)
	all := files{"deep/a": "a\n"}
	for _, inner := range []string{"inner/", "deep/inner/", "own/"} {
		all[inner+".pws/config.toml"] = ""
		all[inner+"secret"], all[inner+"sub/secret"] = "s\n", "s\n"
	}
	write(t, dir, all)
	must(t, exec.Command(program, "init", "-q", filepath.Join(dir, "own")).Run())
	must(t, exec.Command(program, "init", "-q", filepath.Join(dir, "plain")).Run())
	check := func(with string) {
		t.Helper()
		found, left, err := tree.find()
		must(t, err)
		slices.SortFunc(left, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
		want := []LeftOut{
			{"deep/inner/", "is another repository"}, {"inner/", "is another repository"},
			{"own/", "is another repository"}, {"plain/", "is another repository"},
		}
		if !slices.Equal(found, []string{"deep/a"}) || !slices.Equal(left, want) {
			t.Errorf("%s: found %q, left out %q", with, found, left)
		}
	}
	check("without git")
	must(t, exec.Command(program, "init", "-q", dir).Run())
	check("with git")
	must(t, exec.Command(program, "-C", dir, "add", "inner", "deep").Run())
	check("added")
}

// TestIgnoredFilesInHook finds files as a hook of git does, which git binds to its repository by
// variables of the environment.
func TestIgnoredFilesInHook(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	write(t, dir, files{".gitignore": "secret*\n", "docs/secret.env": "x", "docs/a": "x"})
	out, err := exec.Command(program, "-C", dir, "init", "--quiet").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("GIT_DIR", filepath.Join(dir, ".git"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(dir, ".git", "index"))
	tree := newFake(t, files{}).copyOf(t, filepath.Join(dir, "docs"))
	found, _, err := tree.find()
	if err != nil || !slices.Equal(found, []string{"a"}) {
		t.Errorf("found %q, %v", found, err)
	}
}
