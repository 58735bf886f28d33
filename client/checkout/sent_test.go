package checkout

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pws/client"
)

// errDropped is a connection that ends without an answer.
var errDropped = errors.New("dropped")

// place is a working copy of a fake that notes what the user is told.
type place struct {
	server *fake
	dir    string
	tree   *Tree
	told   []string
}

func newPlace(t *testing.T, server *fake) *place {
	t.Helper()
	p := &place{server: server, dir: t.TempDir()}
	p.as(t, "agt_1")
	_, err := pull(t, p.tree)
	must(t, err)
	return p
}

// as opens the directory as another process, of an agent.
func (p *place) as(t *testing.T, agent string) {
	t.Helper()
	p.tree = p.server.copyOf(t, p.dir)
	p.tree.agent = func(context.Context) (string, error) { return agent, nil }
	p.tree.notice = func(text string) { p.told = append(p.told, text) }
}

func (p *place) has(name string) bool {
	_, err := os.Lstat(filepath.Join(p.dir, name))
	return err == nil
}

// pushLost pushes; the request is lost, or only its answer.
func (p *place) pushLost(t *testing.T, published bool) {
	t.Helper()
	if !published {
		p.server.refuse(errDropped)
	}
	p.server.cut(true)
	var kept *KeptError
	_, err := push(t, p.tree, PushOptions{})
	if !errors.As(err, &kept) || !strings.Contains(err.Error(), "repeats it") || !p.has(pushFile) {
		t.Fatalf("push: %v", err)
	}
	p.server.refuse(nil)
	p.server.cut(false)
}

// pullOK pulls and expects no conflict.
func (p *place) pullOK(t *testing.T) Pulled {
	t.Helper()
	done, err := pull(t, p.tree)
	if err != nil || len(done.Conflicts) > 0 {
		t.Errorf("pull: %+v, %v", done, err)
	}
	return done
}

// toldOnce expects one sentence since the last call.
func (p *place) toldOnce(t *testing.T, words string) {
	t.Helper()
	if len(p.told) != 1 || !strings.Contains(p.told[0], words) {
		t.Errorf("the user was told %q, want one with %q", p.told, words)
	}
	p.told = nil
}

// TestFailedPushIsForgotten: what the server has refused for now, or was not sent, is not kept.
func TestFailedPushIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		with error
		kept bool
	}{
		"a limit":         {refusal(429, "RATE_LIMITED"), false},
		"a full disk":     {refusalFor(503, "STORAGE_UNAVAILABLE", "DISK_RESERVE"), false},
		"a stop":          {refusal(503, "SHUTTING_DOWN"), false},
		"unknown outcome": {refusalFor(503, "STORAGE_UNAVAILABLE", "OUTCOME_UNKNOWN"), true},
		"an error":        {refusal(500, "INTERNAL"), true},
		"no answer":       {errDropped, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, newFake(t, files{"a": "a\n"}))
			write(t, p.dir, files{"a": "b\n"})
			p.server.refuse(c.with)
			_, err := push(t, p.tree, PushOptions{})
			var kept *KeptError
			if err == nil || errors.As(err, &kept) != c.kept || p.has(pushFile) != c.kept {
				t.Errorf("push: %v; kept %v", err, p.has(pushFile))
			}
		})
	}
	p := newPlace(t, newFake(t, files{"a": "a\n"}))
	p.server.Close()
	// A connection that was open could take the request, and its outcome would be unknown.
	p.tree.remote.Client.Close()
	write(t, p.dir, files{"a": "b\n"})
	var lost *client.UnreachableError
	if _, err := push(t, p.tree, PushOptions{}); !errors.As(err, &lost) || p.has(pushFile) {
		t.Errorf("push without a server: %v; kept %v", err, p.has(pushFile))
	}
}

// TestLostPushOfOtherFiles: what was removed or changed since is not published by a repetition. If
// the server has it already, the changes since are changes of what it has.
func TestLostPushOfOtherFiles(t *testing.T) {
	for _, published := range []bool{false, true} {
		p := newPlace(t, newFake(t, files{"a": "a\n", "gone": "g\n"}))
		write(t, p.dir, files{"a": "a\nb\n", "secret": "s\n"})
		p.pushLost(t, published)
		now := files{"a": "a\nb\nc\n"}
		write(t, p.dir, now)
		asked := p.server.asked()
		_, err := push(t, p.tree, PushOptions{})
		if published && !client.IsCode(err, "PROJECT_MOVED") || !published && err != nil {
			t.Errorf("push: %v", err)
		}
		p.toldOnce(t, "a was changed since")
		if asked+1 != p.server.asked() || p.has(pushFile) {
			t.Errorf("%d requests instead of one", p.server.asked()-asked)
		}
		done := p.pullOK(t)
		if len(done.Written)+len(done.Deleted)+len(done.Merged) > 0 {
			t.Errorf("pull: %+v", done)
		}
		wantFiles(t, p.dir, now)
		if _, err := push(t, p.tree, PushOptions{}); err != nil {
			t.Error(err)
		}
		if !maps.Equal(p.server.head(), now) {
			t.Errorf("the server has %q", p.server.head())
		}
	}
}

// TestLostPushThenOthers: what others have done since to the files of a lost push is merged.
func TestLostPushThenOthers(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "1\n2\n3\n", "d": "d\n"}))
	write(t, p.dir, files{"a": "1\n2\n3\nx\n"})
	p.pushLost(t, true)
	p.server.set(files{"a": "other\n2\n3\nx\n"})
	write(t, p.dir, files{"a": "1\n2\n3\nx\n", "d": "d\n"})
	done, err := pull(t, p.tree)
	p.toldOnce(t, "d was changed since")
	// The file is back here, and was deleted on the server by the lost push: it stays.
	if want := []Conflict{{"d", ConflictDeletedThere}}; err != nil ||
		!slices.Equal(done.Conflicts, want) {
		t.Errorf("pull: %+v, %v", done, err)
	}
	wantFiles(t, p.dir, files{"a": "other\n2\n3\nx\n", "d": "d\n"})
}

// TestLostPushOfAnother: an agent does not publish what another one has begun.
func TestLostPushOfAnother(t *testing.T) {
	for _, published := range []bool{false, true} {
		p := newPlace(t, newFake(t, files{"a": "a\n"}))
		write(t, p.dir, files{"a": "b\n", "new": "n\n"})
		p.pushLost(t, published)
		before := p.server.published()
		p.as(t, "agt_2")
		done := p.pullOK(t)
		p.toldOnce(t, "another agent has begun it")
		if p.server.published() != before || p.has(pushFile) || len(done.Published) > 0 ||
			len(done.Written)+len(done.Merged) > 0 {
			t.Errorf("pull: %+v", done)
		}
		pushed, err := push(t, p.tree, PushOptions{})
		if err != nil || len(pushed.Changesets) == 1 == published || p.server.published() != 1 {
			t.Errorf("push: %+v, %v", pushed, err)
		}
	}
}

// TestPullWithoutOutcome: while the server takes no writes, a pull goes on beside a push whose
// outcome is unknown. Another push does not.
func TestPullWithoutOutcome(t *testing.T) {
	for name, with := range map[string]error{
		"a full disk": refusalFor(503, "STORAGE_UNAVAILABLE", "DISK_RESERVE"), "no answer": errDropped,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, newFake(t, files{"a": "a\n", "b": "b\n"}))
			write(t, p.dir, files{"a": "mine\n", "b": "b\n"})
			p.pushLost(t, false)
			p.server.refuse(with)
			var kept *KeptError
			if _, err := push(t, p.tree, PushOptions{}); !errors.As(err, &kept) {
				t.Errorf("push: %v", err)
			}
			p.pullOK(t)
			p.toldOnce(t, "is not completed")
			if !p.has(pushFile) {
				t.Error("the push is forgotten, and nothing else has its place")
			}
			p.server.set(files{"a": "a\n", "b": "theirs\n"})
			p.pullOK(t)
			p.toldOnce(t, "is not completed")
			wantFiles(t, p.dir, files{"a": "mine\n", "b": "theirs\n"})
			p.server.refuse(nil)
			done, err := push(t, p.tree, PushOptions{})
			if err != nil || len(done.Changesets) != 1 || len(p.told) > 0 {
				t.Errorf("push: %+v, %v, %q", done, err, p.told)
			}
		})
	}
}

// TestAnswerThatWasHandled: a push of which only the file is left is told of, and not sent again.
func TestAnswerThatWasHandled(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "a\n"}))
	p.tree.before = func(effect string) error {
		if effect == "remove "+pushFile {
			return errKilled
		}
		return nil
	}
	write(t, p.dir, files{"a": "b\n"})
	if _, err := push(t, p.tree, PushOptions{}); !errors.Is(err, errKilled) || !p.has(pushFile) {
		t.Errorf("push: %v", err)
	}
	p.as(t, "agt_1")
	write(t, p.dir, files{"a": "c\n"})
	asked := p.server.asked()
	done := p.pullOK(t)
	if len(done.Published) != 1 || p.has(pushFile) || p.server.asked() != asked || len(p.told) > 0 {
		t.Errorf("pull: %+v, told %q", done, p.told)
	}
}
