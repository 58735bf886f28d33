package checkout

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitRunsNoProgramsOfTheRepository has settings of a repository, and of a bare one among its
// files, name programs for what git status does.
func TestGitRunsNoProgramsOfTheRepository(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	proof := filepath.Join(t.TempDir(), "ran")
	run := func(in string, args ...string) {
		t.Helper()
		command := exec.Command(program, args...)
		command.Dir = in
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	settings := "[filter \"a.b\"]\n\tclean = touch '" + proof + "'; cat\n\trequired\n" +
		"[core]\n\tfsmonitor = touch '" + proof + "'\n"
	const filtered = "* filter=a.b\n"
	write(t, dir, files{".gitattributes": filtered, "a": "a\n", "sub/.gitattributes": filtered})
	run(dir, "init", "--quiet")
	run(dir, "-c", "filter.a.b.clean=cat", "add", ".")
	must(t, os.WriteFile(filepath.Join(dir, ".git", "config"), []byte(settings), 0o600))
	appendTo(t, filepath.Join(dir, "a"))
	sub := filepath.Join(dir, "sub")
	run(sub, "init", "--quiet", "--bare", ".")
	must(t, os.WriteFile(filepath.Join(sub, "config"),
		[]byte("[core]\n\tbare = false\n\tworktree = .\n"+settings), 0o600))
	for _, in := range []string{dir, sub} {
		out, err := GitCommand(t.Context(), program, in, "status", "--porcelain").CombinedOutput()
		if changed := strings.Contains(string(out), "AM a"); in == dir && (err != nil || !changed) {
			t.Errorf("%v: %s", err, out)
		}
		if _, err := os.Lstat(proof); err == nil {
			t.Fatalf("a program ran in %s", in)
		}
	}
}
