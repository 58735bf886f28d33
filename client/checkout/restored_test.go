package checkout

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pws/client"
)

// TestRestoredServer: a server that does not know the base any more deletes nothing here, and both
// go on together.
func TestRestoredServer(t *testing.T) {
	for _, pushFirst := range []bool{false, true} {
		p := newPlace(t, newFake(t, files{
			"same": "s\n", "older": "1\n", "kept": "k\n", "both": "1\n", "gone": "g\n",
		}))
		write(t, p.dir, files{
			"same": "s\n", "older": "2\n", "kept": "k\n", "both": "2\n", "new": "n\n", "gone": "g\n",
		})
		_, err := push(t, p.tree, PushOptions{})
		must(t, err)
		p.server.restore(files{
			"same": "s\n", "older": "1\n", "kept": "k\n", "both": "1\n", "there": "t\n", "gone": "g\n",
		})
		write(t, p.dir, files{
			"same": "s\n", "older": "2\n", "kept": "k\nlocal\n", "both": "3\n", "new": "n\n", "own": "o\n",
		})
		if pushFirst {
			_, err := push(t, p.tree, PushOptions{})
			if !client.IsCode(err, changesetUnknown) || p.has(pushFile) {
				t.Errorf("push: %v", err)
			}
		}
		done, err := pull(t, p.tree)
		must(t, err)
		p.toldOnce(t, "restored from a backup")
		conflicts := []Conflict{{"both", ConflictText}, {"older", ConflictText}}
		if len(done.Deleted) > 0 || !slices.Equal(done.Written, []string{"there"}) ||
			!slices.Equal(done.Conflicts, conflicts) {
			t.Errorf("pull: %+v", done)
		}
		now := filesIn(t, p.dir)
		for name, text := range now {
			now[name] = withoutMarkers(text)
		}
		want := files{
			"same": "s\n", "older": "2\n1\n", "kept": "k\nlocal\n", "both": "3\n1\n", "new": "n\n",
			"own": "o\n", "there": "t\n",
		}
		if !maps.Equal(now, want) {
			t.Errorf("the directory has %q", now)
		}
		write(t, p.dir, now)
		if _, err := push(t, p.tree, PushOptions{}); err != nil {
			t.Error(err)
		}
		if !maps.Equal(p.server.head(), now) {
			t.Errorf("the server has %q", p.server.head())
		}
		if done := p.pullOK(t); len(p.told) > 0 || len(done.Written)+len(done.Deleted) > 0 {
			t.Errorf("pull: %+v, told %q", done, p.told)
		}
	}
}

// TestRestoredServerOfLostPush: the outcome of a push that a server of before may have had is of no
// use.
func TestRestoredServerOfLostPush(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "a\n", "b": "b\n"}))
	now := files{"a": "a\n", "new": "n\n"}
	write(t, p.dir, now)
	p.pushLost(t, true)
	p.server.restore(files{"a": "a\n", "b": "b\n"})
	p.pullOK(t)
	if p.has(pushFile) || !strings.Contains(strings.Join(p.told, " "), "restored") {
		t.Errorf("told %q", p.told)
	}
	wantFiles(t, p.dir, now)
	if _, err := push(t, p.tree, PushOptions{}); err != nil {
		t.Error(err)
	}
	if !maps.Equal(p.server.head(), now) {
		t.Errorf("the server has %q", p.server.head())
	}
}
