package checkout

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pws/client"
)

// TestStatusOfASilentServer: what differs here is known without the server.
func TestStatusOfASilentServer(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "a\n"}))
	write(t, p.dir, files{"a": "b\n"})
	never := make(chan struct{})
	defer close(never)
	p.server.mu.bend = func(*http.Request, any) any {
		<-never
		return nil
	}
	p.tree.patience = time.Millisecond
	status, err := p.tree.Status(t.Context())
	var lost *client.UnreachableError
	if !errors.As(err, &lost) || errors.Is(err, context.DeadlineExceeded) || len(status.Changes) != 1 {
		t.Errorf("%+v, %v", status, err)
	}
}

// TestStatusOfABusyServer: what the server has answered is the error, not that time was up.
func TestStatusOfABusyServer(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "a\n"}))
	p.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "20")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	p.tree.remote.Client.RetryFor = client.RetryUsually
	var failure *client.Failure
	var err error
	// Status takes all of this time. On a busy machine the answer may come too late for a short one.
	for _, patience := range []time.Duration{time.Second / 5, 2 * time.Second, 15 * time.Second} {
		p.tree.patience = patience
		if _, err = p.tree.Status(t.Context()); errors.As(err, &failure) {
			break
		}
	}
	if failure == nil || failure.Status != http.StatusServiceUnavailable ||
		errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestStatusOfARestoredServer: a server that does not have the base has no changes since it.
func TestStatusOfARestoredServer(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "a\n"}))
	p.server.set(files{"a": "b\n"})
	for _, restored := range []bool{false, true} {
		if restored {
			p.server.restore(files{"a": "a\n"})
		}
		status, err := p.tree.Status(t.Context())
		if err != nil || status.BaseUnknown != restored {
			t.Errorf("restored: %v: %+v, %v", restored, status, err)
		}
	}
}

// TestTruncatedBase: the error names the file, and a pull without it is what it promises.
func TestTruncatedBase(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "a\n", "b": "b\n"}))
	at := filepath.Join(p.dir, filepath.FromSlash(baseFile))
	text, err := os.ReadFile(at)
	must(t, err)
	write(t, p.dir, files{"a": "a\n", "b": "B\n", "c": "c\n"})
	for cut := range len(text) {
		must(t, os.WriteFile(at, text[:cut], 0o600))
		if err := p.tree.readBase(); err == nil || !strings.Contains(err.Error(), at) ||
			!strings.Contains(err.Error(), "remove this file and pull") {
			t.Fatalf("%d bytes: %v", cut, err)
		}
	}
	must(t, os.Remove(at))
	p.as(t, "agt_1")
	done, err := pull(t, p.tree)
	must(t, err)
	if len(done.Conflicts) != 1 || done.Conflicts[0] != (Conflict{"b", ConflictText}) {
		t.Errorf("pull: %+v", done)
	}
	if here := filesIn(t, p.dir); here["a"] != "a\n" || here["c"] != "c\n" {
		t.Errorf("the directory has %q", here)
	}
}

// TestTruncatedJournal: the error names the file, and without it a pull merges what it would have
// completed.
func TestTruncatedJournal(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "a\n"}))
	p.server.set(files{"a": "b\n"})
	at := filepath.Join(p.dir, filepath.FromSlash(journalFile))
	must(t, os.WriteFile(at, []byte(`{"code":`), 0o600))
	_, err := pull(t, p.tree)
	var broken *BrokenError
	if !errors.As(err, &broken) || broken.Path != at {
		t.Errorf("%v", err)
	}
	must(t, os.Remove(at))
	p.pullOK(t)
	wantFiles(t, p.dir, files{"a": "b\n"})
}
