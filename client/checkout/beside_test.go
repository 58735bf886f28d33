package checkout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// given are files that the directory need not have.
func (*place) given(changed files) func() ([]Beside, error) {
	return func() (all []Beside, err error) {
		for name, content := range changed {
			all = append(all, Beside{Path: name, Content: &content})
		}
		return all, nil
	}
}

// beside publishes files of a fake beside a push; the answer may be lost.
func (p *place) beside(t *testing.T, lose bool, changed files) (behind bool, err error) {
	t.Helper()
	err = p.tree.LockedBeside(t.Context(), func() (err error) {
		behind, err = p.tree.PublishBeside(BesideOptions{}, p.given(changed),
			func(string, []Beside) (string, error) {
				next := maps.Clone(p.server.head())
				maps.Copy(next, changed)
				p.server.set(next)
				if lose {
					return "", errDropped
				}
				return p.server.id(len(p.server.mu.trees) - 1), nil
			})
		return err
	})
	return behind, err
}

// TestPublishBeside: what was published beside a push is no change of others.
func TestPublishBeside(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "1\n2\n3\n", "b": "b\n"}))
	write(t, p.dir, files{"a": "1\n2\n3\n4\n", "b": "b\n"})
	behind, err := p.beside(t, false, files{"a": "1\n2\n3\n4\n"})
	must(t, err)
	if status, err := p.tree.Status(t.Context()); err != nil || behind || len(status.Changes) > 0 ||
		status.Head != status.Base {
		t.Errorf("behind %t, status %+v, %v", behind, status, err)
	}

	// The answer is lost, and the file is changed again.
	write(t, p.dir, files{"a": "1\n2\n3\nfour\n", "b": "b\n"})
	if _, err := p.beside(t, true, files{"a": "1\n2\n3\nfour\n"}); !errors.Is(err, errDropped) {
		t.Errorf("a lost answer: %v", err)
	}
	write(t, p.dir, files{"a": "1\n2\n3\nvier\n", "b": "b\n"})
	p.pullOK(t)
	wantFiles(t, p.dir, files{"a": "1\n2\n3\nvier\n", "b": "b\n"})

	// What the directory has otherwise stays a change of the project until it is pulled.
	behind, err = p.beside(t, false, files{"b": "other\n"})
	must(t, err)
	if !behind {
		t.Error("the directory is not behind")
	}
	if done := p.pullOK(t); len(done.Written) != 1 || done.Written[0] != "b" {
		t.Errorf("pull: %+v", done)
	}
}

// TestBesideAfterInterruptedPull: a publication beside a push that completes a pull with conflicts
// publishes nothing, so that somebody sees them.
func TestBesideAfterInterruptedPull(t *testing.T) {
	server, dir, _, _ := interrupted(t, killedAtFile(t))
	p := &place{server: server, dir: dir}
	p.as(t, "agt_1")
	var blocked *BlockedError
	_, err := p.beside(t, false, files{"a": "mine\n"})
	if !errors.As(err, &blocked) || len(blocked.Files) != 3 || server.head()["a"] != "theirs\n" {
		t.Errorf("with conflicts: %v, the server has %q", err, server.head())
	}
}

// TestBesideReadsAfterInterruptedPull: what the interrupted pull writes is what is published.
func TestBesideReadsAfterInterruptedPull(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "1\n", "b": "1\n"}))
	p.server.set(files{"a": "2\n", "b": "2\n"})
	p.tree.before = func(effect string) error {
		if effect == "replace a" {
			return errKilled
		}
		return nil
	}
	if _, err := pull(t, p.tree); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	p.as(t, "agt_1")
	must(t, p.tree.Locked(t.Context(), func() error {
		_, err := p.tree.PublishBeside(BesideOptions{}, func() ([]Beside, error) {
			one, is, err := p.tree.FileHere("a")
			if !is {
				t.Error("the directory does not have a")
			}
			return []Beside{one}, err
		}, func(base string, all []Beside) (string, error) {
			if base != "chg_1" || len(all) != 1 || *all[0].Content != "2\n" {
				t.Errorf("published %q on %s", *all[0].Content, base)
			}
			// The file is changed meanwhile: a change on what is published.
			write(t, p.dir, files{"a": "2\n3\n", "b": "2\n"})
			p.server.set(files{"a": "2\n", "b": "2\n", "c": "c\n"})
			return "", errDropped
		})
		if !errors.Is(err, errDropped) {
			t.Error(err)
		}
		return nil
	}))
	const said = "Before the checkpoint, a pull that was interrupted is now complete: " +
		"2 files written, 0 deleted, 0 merged."
	if !slices.Contains(p.told, said) {
		t.Errorf("said %q", p.told)
	}
	p.pullOK(t)
	wantFiles(t, p.dir, files{"a": "2\n3\n", "b": "2\n", "c": "c\n"})
}

// TestBesideMovedBase: what was made BEFORE a pull is not published on what it has brought.
func TestBesideMovedBase(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "1\n", "b": "1\n"}))
	late := p.tree
	p.server.set(files{"a": "2\n", "b": "1\n"})
	p.as(t, "agt_1")
	p.pullOK(t)
	p.tree = late
	var blocked *BlockedError
	_, err := p.beside(t, false, files{"a": "1\nmade\n", "b": "made\n"})
	if !errors.As(err, &blocked) || len(blocked.Files) != 1 || p.server.head()["a"] != "2\n" {
		t.Errorf("on another base: %v, the server has %q", err, p.server.head())
	}
	// Now somebody has seen it.
	if _, err := p.beside(t, false, files{"a": "2\nmade\n"}); err != nil {
		t.Error(err)
	}
}

// TestRefusedBeside: what was certainly not published is a change of others, if they publish it.
func TestRefusedBeside(t *testing.T) {
	for _, c := range []struct {
		err  error
		left bool
	}{
		{refusal(http.StatusConflict, "PROJECT_MOVED"), false}, {nil, false}, {errDropped, true},
	} {
		p := newPlace(t, newFake(t, files{"a": "1\n", "b": "1\n"}))
		p.server.set(files{"a": "2\n", "b": "1\n"})
		write(t, p.dir, files{"a": "2\n", "b": "1\n"})
		err := p.tree.Locked(t.Context(), func() error {
			_, err := p.tree.PublishBeside(BesideOptions{}, p.given(files{"a": "2\n"}),
				func(string, []Beside) (string, error) { return "", c.err })
			return err
		})
		if !errors.Is(err, c.err) || p.has(lostFile) != c.left {
			t.Errorf("%v: %v, noted %t", c.err, err, p.has(lostFile))
		}
		if c.left {
			continue
		}
		write(t, p.dir, files{"a": "1\n", "b": "1\n"})
		p.pullOK(t)
		wantFiles(t, p.dir, files{"a": "2\n", "b": "1\n"})
	}

	// What an earlier one has noted stays.
	p := newPlace(t, newFake(t, files{"a": "1\n"}))
	for nth, with := range []error{errDropped, refusal(http.StatusConflict, "PROJECT_MOVED")} {
		content := fmt.Sprintf("mine %d\n", nth)
		write(t, p.dir, files{"a": content})
		err := p.tree.Locked(t.Context(), func() error {
			_, err := p.tree.PublishBeside(BesideOptions{}, p.given(files{"a": content}),
				func(string, []Beside) (string, error) { return "", with })
			return err
		})
		if !errors.Is(err, with) {
			t.Error(err)
		}
	}
	p.server.set(files{"a": "mine 0\n"})
	p.pullOK(t)
	wantFiles(t, p.dir, files{"a": "mine 1\n"})
}

// TestBesideWithMarkers: a conflict that nobody has resolved is published only if that is wanted.
func TestBesideWithMarkers(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "1\n", "b": "1\n"}))
	p.server.set(files{"a": "theirs\n", "b": "1\n"})
	write(t, p.dir, files{"a": "mine\n", "b": "1\n"})
	if done, err := pull(t, p.tree); err != nil || len(done.Conflicts) != 1 {
		t.Fatalf("pull: %+v, %v", done, err)
	}
	marked := filesIn(t, p.dir)["a"]
	publish := func(o BesideOptions, changed files) error {
		return p.tree.Locked(t.Context(), func() error {
			_, err := p.tree.PublishBeside(o, p.given(changed),
				func(string, []Beside) (string, error) { return "", nil })
			return err
		})
	}
	var blocked *BlockedError
	err := publish(BesideOptions{}, files{"a": marked, "b": "2\n"})
	if !errors.As(err, &blocked) || !slices.Equal(blocked.Files, []LeftOut{{"a", hasMarkers}}) {
		t.Errorf("with markers: %v", err)
	}
	must(t, publish(BesideOptions{}, files{"b": "2\n"}))
	must(t, publish(BesideOptions{}, files{"a": "resolved\n"}))
	must(t, publish(BesideOptions{AllowMarkers: true}, files{"a": marked}))
}

// TestTakingTurns: a change of the directory waits for another process, until it is ended.
func TestTakingTurns(t *testing.T) {
	server := newFake(t, files{"a": "a\n"})
	dir := t.TempDir()
	first, second := server.copyOf(t, dir), server.copyOf(t, dir)
	for name, locked := range map[string]func(context.Context, func() error) error{
		"Locked": second.Locked, "LockedBeside": second.LockedBeside,
	} {
		done := make(chan error, 1)
		var order []int
		// The lock of the directory is one between processes, which the race detector does not see.
		var mu sync.Mutex
		note := func(nth int) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, nth)
		}
		must(t, first.Locked(t.Context(), func() error {
			ended, end := context.WithCancel(t.Context())
			end()
			err := locked(ended, func() error { return nil })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s with an ended context: %v", name, err)
			}
			begun := make(chan struct{})
			go func() {
				close(begun)
				done <- locked(t.Context(), func() error {
					note(2)
					return nil
				})
			}()
			<-begun
			note(1)
			return nil
		}))
		if err := <-done; err != nil || !slices.Equal(order, []int{1, 2}) {
			t.Errorf("%s: order %v, %v", name, order, err)
		}
	}
}
