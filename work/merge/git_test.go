package merge

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// outcome is what git makes of a triple.
type outcome struct {
	text      []byte
	conflicts int
}

// mergeAll lets git merge each of the files N.ours, N.base and N.theirs in its folder into
// N.merged, and prints the number of conflicts of each. One shell for all is several times faster.
const mergeAll = `
n=0
while [ "$n" -lt "$1" ]; do
	git merge-file -p -q -L ours -L base -L theirs $n.ours $n.base $n.theirs >$n.merged
	echo $?
	n=$((n+1))
done`

// gitMerges gives what git makes of triples.
func gitMerges(t *testing.T, triples []triple) []outcome {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	for n, c := range triples {
		for name, content := range map[string][]byte{
			"base": c.base, "ours": c.ours, "theirs": c.theirs,
		} {
			name = filepath.Join(root, fmt.Sprintf("%d.%s", n, name))
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	command := exec.Command("sh", "-c", mergeAll, "sh", strconv.Itoa(len(triples)))
	command.Dir = root
	// No configuration of the machine and no repository around the folder has a say.
	command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_DIR=/dev/null", "LC_ALL=C")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	counts := strings.Fields(string(output))
	if err != nil || len(counts) != len(triples) {
		t.Fatalf("%v: %d of %d merges\n%.2000s", err, len(counts), len(triples), stderr.Bytes())
	}
	outcomes := make([]outcome, len(triples))
	for n, count := range counts {
		outcomes[n].conflicts, err = strconv.Atoi(count)
		if err != nil || outcomes[n].conflicts >= 128 {
			t.Fatalf("git says %q: %.2000s", count, stderr.Bytes())
		}
		outcomes[n].text, err = os.ReadFile(filepath.Join(root, fmt.Sprintf("%d.merged", n)))
		if err != nil {
			t.Fatal(err)
		}
	}
	return outcomes
}

// gitConflictsMax is the most conflicts that git counts.
const gitConflictsMax = 127

// checkGit compares merges with those of git.
func checkGit(t *testing.T, triples []triple) {
	t.Helper()
	clean, failed := 0, 0
	for n, want := range gitMerges(t, triples) {
		c := triples[n]
		got := Merge(c.base, c.ours, c.theirs)
		if got.Conflicts == 0 {
			clean++
		}
		if min(got.Conflicts, gitConflictsMax) == want.conflicts &&
			bytes.Equal(got.Text, want.text) {
			continue
		}
		failed++
		if failed <= 3 {
			t.Errorf("base %.300q\nours %.300q\ntheirs %.300q\n%d conflicts %.600q\ngit has %d %.600q",
				c.base, c.ours, c.theirs, got.Conflicts, got.Text, want.conflicts, want.text)
		}
	}
	t.Logf("%d merges, %d clean, %d differ", len(triples), clean, failed)
}

func TestGitRandom(t *testing.T) {
	for _, c := range []struct{ lines, count int }{
		{4, 300}, {12, 500}, {60, 300}, {400, 100}, {3000, 15},
	} {
		t.Run(fmt.Sprintf("%d lines", c.lines), func(t *testing.T) {
			t.Parallel()
			r := newRand(t)
			triples := make([]triple, c.count)
			for i := range triples {
				triples[i] = randomTriple(r, c.lines)
			}
			checkGit(t, triples)
		})
	}
}

// TestGitHostile: as long as the budget lasts, the limits of a search are those of git.
func TestGitHostile(t *testing.T) {
	t.Parallel()
	var triples []triple
	for name, c := range hostile(1 << 15) {
		budget := new(Budget)
		budget.Merge(c.base, c.ours, c.theirs)
		if budget.used >= stepsMax/8 {
			t.Logf("%s takes too long", name)
			continue
		}
		triples = append(triples, c)
	}
	if len(triples) < 12 {
		t.Errorf("only %d are within the budget", len(triples))
	}
	checkGit(t, triples)
}

// TestGitLong: texts so long that git gives up the shortest way for one that looks good.
func TestGitLong(t *testing.T) {
	t.Parallel()
	r := newRand(t)
	var triples []triple
	for _, distinct := range []int{100, 200, 400, 1000, 3000, 100000} {
		line := func() string { return fmt.Sprintf("%x\n", r.IntN(distinct)) }
		lines := randomLines(r, line, 36000)
		side := func() []byte {
			return joined(r, exchanged(r, lines, len(lines)/(5+r.IntN(20))))
		}
		triples = append(triples, triple{joined(r, lines), side(), side()})
	}
	checkGit(t, triples)
}
