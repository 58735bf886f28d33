package replay

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixture is a small repository in which a test creates history.
type fixture struct {
	t    *testing.T
	repo *repository
	dir  string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir()}
	f.repo = &repository{dir: f.dir}
	f.git("init", "-q", "--template=", "--initial-branch=main", ".")
	return f
}

func (f *fixture) git(args ...string) {
	f.t.Helper()
	head := []string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c",
		"core.autocrlf=false", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"}
	command := f.repo.command(f.t.Context(), append(head, args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		f.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) write(name, content string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(f.path(name), []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) remove(name string) {
	f.t.Helper()
	if err := os.RemoveAll(f.path(name)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) move(from, to string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(to)), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.path(from), f.path(to)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) commit(message string) {
	f.t.Helper()
	f.git("add", "-A")
	f.git("commit", "-q", "--allow-empty", "--allow-empty-message", "-m", message)
}

// lines returns a text long enough for git to recognise it after a rename with a change.
func lines(seed string) string {
	var out strings.Builder
	for i := range 30 {
		fmt.Fprintf(&out, "%s line %d\n", seed, i)
	}
	return out.String()
}

// edgeCases creates a history of edge cases.
func (f *fixture) edgeCases() {
	f.write("a", lines("a"))
	f.write("dir/one", lines("one"))
	f.write("dir/two", lines("two"))
	f.write("sp ace/ümlaut%41#?.txt", "x\n")
	f.write("empty", "")
	f.write("no-newline", "no newline at the end")
	f.commit("root\n\nwith a body")
	f.commit("")
	f.move("a", "tmp")
	f.move("tmp", "a/b")
	f.commit("a file becomes a folder by a rename")
	f.move("a/b", "tmp")
	f.remove("a")
	f.move("tmp", "a")
	f.commit("a folder becomes a file by a rename")
	f.remove("dir")
	f.write("dir", "now a file\n")
	f.write("a.d/x", "x\n")
	f.commit("a folder becomes a file")
	f.remove("dir")
	f.write("dir/sub/three", "three\n")
	f.write("dir/sub/four", "four\n")
	f.commit("a file becomes a folder")
	f.move("a", "A")
	f.commit("case-only rename")
	f.write("a", "twin of another case\n")
	f.commit("twin")
	f.git("update-index", "--chmod=+x", "A")
	f.git("commit", "-q", "-m", "mode only")
	f.git("config", "core.fileMode", "false")
	f.swap()
	f.leftOutCases()
	f.merge()
	f.many()
}

func (f *fixture) swap() {
	f.write("p", lines("p"))
	f.write("q/r", lines("q"))
	f.commit("before the exchange")
	f.move("p", "tmp1")
	f.move("q/r", "tmp2")
	f.remove("q")
	f.move("tmp1", "q")
	f.move("tmp2", "p/r")
	f.commit("a file and a folder change places")
	f.write("s1", lines("s1"))
	f.write("s2", lines("s2"))
	f.commit("two files")
	f.move("s1", "tmp")
	f.move("s2", "s1")
	f.move("tmp", "s2")
	f.commit("two files change places")
}

func (f *fixture) leftOutCases() {
	f.write("turns", "text\n")
	f.write("binary", "a\x00b")
	f.write("latin1", "gr\xfc\xdfe")
	f.write("large", strings.Repeat("x", fileBytesMax+1))
	f.write("limit", strings.Repeat("y", fileBytesMax))
	f.write("back\\slash", "x")
	f.write("u\u0308", "decomposed")
	f.write("tab\tname", "x")
	if err := os.Symlink("turns", f.path("link")); err != nil {
		f.t.Fatal(err)
	}
	f.commit("what is left out")
	f.git("update-index", "--add", "--cacheinfo",
		"160000,0123456789012345678901234567890123456789,module")
	f.git("commit", "-q", "-m", "a submodule")
	f.git("rm", "-q", "--cached", "module")
	f.write("turns", "binary\x00now")
	f.remove("link")
	f.write("link", "a file now\n")
	f.write("binary", "text now\n")
	f.commit("text turns binary and back")
	f.move("latin1", "latin2")
	f.move("large", "moved/large")
	f.write("turns", "text again\n")
	f.remove("link")
	if err := os.Symlink("A", f.path("link")); err != nil {
		f.t.Fatal(err)
	}
	f.commit("what is left out moves")
}

func (f *fixture) merge() {
	f.git("checkout", "-q", "-b", "side")
	f.write("side/file", "side\n")
	f.commit("on the side")
	f.write("side/file", "side, changed\n")
	f.commit("on the side again")
	f.git("checkout", "-q", "main")
	f.write("main-only", "main\n")
	f.commit("on main")
	f.git("merge", "-q", "--no-ff", "-m", "merge", "side")
}

func (f *fixture) many() {
	for i := range 250 {
		f.write(fmt.Sprintf("many/%03d", i), lines(fmt.Sprint("many", i)))
	}
	f.commit("more than one changeset holds")
	for i := range 250 {
		if i%5 == 0 {
			f.remove(fmt.Sprintf("many/%03d", i))
		} else if i%2 == 0 {
			f.move(fmt.Sprintf("many/%03d", i), fmt.Sprintf("moved/%03d", i))
		} else {
			f.write(fmt.Sprintf("many/%03d", i), "changed\n")
		}
	}
	f.write("many/005/below", "a folder where a file was\n")
	f.commit("everything moves")
}

// random creates commits of random changes to a small set of paths, so that the paths collide.
func (f *fixture) random(seed uint64, commits int) {
	dice := rand.New(rand.NewPCG(seed, 0))
	names := []string{"a", "a/b", "a/b/c", "a/d", "e", "e/f", "g", "h", "h/i/j", "K", "k"}
	for i := range commits {
		for range dice.IntN(4) + 1 {
			name := names[dice.IntN(len(names))]
			f.clear(name)
			switch dice.IntN(6) {
			case 0:
			case 1:
				if err := os.Symlink("x", f.path(name)); err != nil {
					f.t.Fatal(err)
				}
			case 2:
				f.write(name, fmt.Sprint("binary\x00", i))
			default:
				// Few distinct texts make renames likely.
				f.write(name, lines(fmt.Sprint("text", dice.IntN(4))))
			}
		}
		f.commit(fmt.Sprint("random ", i))
	}
}

// clear removes whatever is at a path, below it and above it, and creates its folder.
func (f *fixture) clear(name string) {
	for folder := range ancestors(name) {
		if info, err := os.Lstat(f.path(folder)); err == nil && !info.IsDir() {
			f.remove(folder)
		}
	}
	f.remove(name)
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o755); err != nil {
		f.t.Fatal(err)
	}
}
