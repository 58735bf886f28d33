package checkout

import (
	"errors"
	"maps"
	"testing"
)

// beside publishes files of a fake beside a push; the answer may be lost.
func (p *place) beside(t *testing.T, lose bool, changed files) (behind bool, err error) {
	t.Helper()
	var all []Beside
	for name, content := range changed {
		all = append(all, Beside{Path: name, Content: &content})
	}
	err = p.tree.Locked(t.Context(), func() (err error) {
		behind, err = p.tree.PublishBeside(p.tree.Base(), all, func() (string, error) {
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
