package checkout

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pws/client"
)

// interrupted is a directory whose pull writes, deletes, merges and has conflicts. It ends BEFORE
// the effect of the number kill, from 1; zero is no end.
func interrupted(t *testing.T, kill int) (server *fake, dir string, done Pulled, effects int) {
	t.Helper()
	const lines = "1\n2\n3\n4\n5\n"
	server = newFake(t, files{
		".git/x": lines, "a": lines, "both": lines, "gone": lines, "old": lines, "own": lines,
	})
	dir = t.TempDir()
	_, err := pull(t, server.copyOf(t, dir))
	must(t, err)
	server.set(files{
		".git/x": lines, "a": "theirs\n", "both": lines + "theirs\n", "gone": "theirs\n",
		"z/file": "z\n",
	})
	write(t, dir, files{
		"a": "mine\n", "both": "mine\n" + lines, "old": lines, "own": "mine\n",
	})
	tree := server.copyOf(t, dir)
	tree.before = func(string) error {
		if effects++; effects == kill {
			return errKilled
		}
		return nil
	}
	done, err = pull(t, tree)
	if kill == 0 {
		must(t, err)
	} else if !errors.Is(err, errKilled) {
		t.Fatalf("kill %d: %v", kill, err)
	}
	return server, dir, done, effects
}

// killedAtFile is the number of the effect that writes z/file, the last one.
func killedAtFile(t *testing.T) int {
	t.Helper()
	server, dir, _, _ := interrupted(t, 1)
	tree, nth, found := server.copyOf(t, dir), 0, 0
	tree.before = func(effect string) error {
		if nth++; effect == "replace z/file" {
			found = nth
		}
		return nil
	}
	_, err := pull(t, tree)
	must(t, err)
	return found
}

// TestInterruptedPullIsReported kills a pull before each of its effects. The run that completes it
// reports what the pull has done, conflicts too, and the one after it does not.
func TestInterruptedPullIsReported(t *testing.T) {
	_, _, want, effects := interrupted(t, 0)
	if len(want.Conflicts) != 3 || len(want.LeftOut) != 1 || len(want.Merged) != 1 {
		t.Fatalf("the whole pull: %+v", want)
	}
	for kill := 1; kill <= effects; kill++ {
		server, dir, _, _ := interrupted(t, kill)
		done, err := pull(t, server.copyOf(t, dir))
		must(t, err)
		if !reflect.DeepEqual(done, want) {
			t.Errorf("kill %d: the pull after it returns\n%+v, want\n%+v", kill, done, want)
		}
		done, err = pull(t, server.copyOf(t, dir))
		if err != nil || len(done.Conflicts)+len(done.Written)+len(done.LeftOut) > 0 {
			t.Errorf("kill %d: a third pull: %+v, %v", kill, done, err)
		}
	}
}

// TestInterruptedPullMeetsChanges changes files after the end of a pull. What becomes of them is
// reported, and is still known if the completion ends too.
func TestInterruptedPullMeetsChanges(t *testing.T) {
	kill := killedAtFile(t)
	for again := range 8 {
		server, dir, _, _ := interrupted(t, kill)
		write(t, dir, files{
			"a": filesIn(t, dir)["a"], "both": filesIn(t, dir)["both"], "gone": "mine\n",
			"old": "mine\n", "own": "mine\n", "z/file": "mine\n",
		})
		tree, left := server.copyOf(t, dir), again
		tree.before = func(string) error {
			if left--; left == 0 {
				return errKilled
			}
			return nil
		}
		_, err := pull(t, tree)
		if again > 0 && !errors.Is(err, errKilled) {
			t.Fatalf("kill %d: %v", again, err)
		}
		if again == 0 {
			must(t, err)
			continue
		}
		done, err := pull(t, server.copyOf(t, dir))
		must(t, err)
		conflicts := []Conflict{
			{"a", ConflictText}, {"gone", ConflictDeletedHere}, {"old", ConflictDeletedThere},
			{"own", ConflictDeletedThere}, {"z/file", ConflictText},
		}
		if !slices.Equal(done.Conflicts, conflicts) || len(done.Written) > 0 {
			t.Errorf("kill %d: the pull after it returns %+v", again, done)
		}
		if text := filesIn(t, dir)["z/file"]; strings.Count(text, "<<<<<<<") != 1 {
			t.Errorf("kill %d: z/file has %q", again, text)
		}
	}
}

// TestPushAfterInterruptedPull: a push that completes a pull with conflicts publishes nothing, so
// that somebody sees them.
func TestPushAfterInterruptedPull(t *testing.T) {
	server, dir, _, _ := interrupted(t, killedAtFile(t))
	tree := server.copyOf(t, dir)
	var blocked *BlockedError
	_, err := push(t, tree, PushOptions{AllowMarkers: true})
	if !errors.As(err, &blocked) || len(blocked.Files) != 3 || server.published() > 0 {
		t.Errorf("the push that completes the pull: %v", err)
	}
	if _, err = push(t, tree, PushOptions{AllowMarkers: true}); err != nil || server.published() != 1 {
		t.Errorf("the push after it: %v", err)
	}
}

// TestInterruptedPullWithoutServer: the result is returned beside the error of the run itself.
func TestInterruptedPullWithoutServer(t *testing.T) {
	server, dir, _, _ := interrupted(t, killedAtFile(t))
	server.Close()
	done, err := pull(t, server.copyOf(t, dir))
	var lost *client.UnreachableError
	if !errors.As(err, &lost) || len(done.Conflicts) != 3 {
		t.Errorf("pull: %+v, %v", done, err)
	}
}

// TestInterruptedPullThenMore: the run that completes a pull makes another one.
func TestInterruptedPullThenMore(t *testing.T) {
	server, dir, _, _ := interrupted(t, killedAtFile(t))
	// A run that completes it and is of no use: there is nobody to resolve the conflict in a.
	must(t, os.Remove(filepath.Join(dir, "a")))
	head := map[string]string{}
	for name, content := range server.head() {
		head[name] = content
	}
	delete(head, "z/file")
	head["gone"], head["new"] = "later\n", "n\n"
	server.set(head)
	done, err := pull(t, server.copyOf(t, dir))
	must(t, err)
	conflicts := []Conflict{
		{"a", ConflictText}, {"gone", ConflictDeletedHere}, {"own", ConflictDeletedThere},
	}
	if !slices.Equal(done.Conflicts, conflicts) || !slices.Equal(done.Written, []string{"new"}) ||
		!slices.Equal(done.Deleted, []string{"old", "z/file"}) {
		t.Errorf("pull: %+v", done)
	}
}

// TestJournalOfOlderProgram completes one that has no result. The markers are known all the same.
func TestJournalOfOlderProgram(t *testing.T) {
	server, dir, _, _ := interrupted(t, killedAtFile(t))
	tree := server.copyOf(t, dir)
	var j struct {
		Effects []effect `json:"effects"`
		Next    base     `json:"next"`
	}
	exists, err := tree.readOrder(journalFile, &j)
	if err != nil || !exists {
		t.Fatal(err)
	}
	must(t, tree.writeOrder(journalFile, j))
	done, err := pull(t, tree)
	if err != nil || !slices.Equal(done.Conflicts, []Conflict{{"a", ConflictText}}) {
		t.Errorf("pull: %+v, %v", done, err)
	}
}
