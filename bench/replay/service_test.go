package replay

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// buildService builds the program whose serve command runs the service.
func buildService(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the service")
	}
	program := filepath.Join(t.TempDir(), "pws")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program,
		"pws/cmd/pws").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

func TestReplayIntoTheService(t *testing.T) {
	program := buildService(t)
	for name, write := range map[string]func(*fixture){
		"edge cases": (*fixture).edgeCases,
		"random":     func(f *fixture) { f.random(7, 30) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			write(f)
			var progress bytes.Buffer
			result, err := Run(t.Context(), Options{
				Repository: f.dir, Program: program, Kills: 6, Samples: 1000, Dir: t.TempDir(),
				Progress: &progress,
			})
			if err != nil {
				t.Fatal(err)
			}
			c := result.Compared
			if !c.Equal() {
				t.Errorf("%d differences:\n%s", c.Differences, strings.Join(c.Words, "\n"))
			}
			if c.Trees != result.Commits || c.Diffs == 0 || c.Contents == 0 {
				t.Errorf("compared too little: %+v", c)
			}
			if result.Repeats != result.Commits-result.EmptyCommits {
				t.Errorf("%d repeats", result.Repeats)
			}
			if len(result.Kills) != 7 {
				t.Errorf("%d kills, want 6 and one before the comparison", len(result.Kills))
			}
			if !strings.HasSuffix(progress.String(), "\n") {
				t.Errorf("the progress line is not ended: %q", progress.String())
			}
		})
	}
}

func TestReplayReportsDifferences(t *testing.T) {
	f := newFixture(t)
	if _, err := Run(t.Context(), Options{Repository: f.dir}); err == nil {
		t.Error("a repository without commits was replayed")
	}
	if _, err := Run(t.Context(), Options{Repository: t.TempDir()}); err == nil {
		t.Error("a folder without a repository was replayed")
	}
	f.write("a", "a\n")
	f.commit("one")
	_, err := Run(t.Context(), Options{
		Repository: f.dir, Program: filepath.Join(f.dir, "nothing"), Dir: t.TempDir(),
	})
	if err == nil {
		t.Error("no program was started")
	}
}
