package cli

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pws/client"
)

// TestLostWritesAreBounded keeps more keys than there is room for, and longer than they are kept.
func TestLostWritesAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	env := &Env{
		Folders: client.Folders{State: t.TempDir()},
		Now:     func() time.Time { return now },
	}
	lost := env.lostWrites("agt_1")
	id := func(nth int) string { return fmt.Sprint("id", nth) }
	for nth := range lostMax + 2 {
		request, err := write(http.MethodPost, projectPath("prj_1", "tasks"), nil)
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
		if err := lost.keep(t.Context(), id(nth), request); err != nil {
			t.Fatal(err)
		}
	}
	all, err := lost.read()
	if err != nil || len(all) != lostMax {
		t.Fatalf("%d keys, %v", len(all), err)
	}
	for nth, kept := range map[int]bool{0: false, 1: false, 2: true, lostMax + 1: true} {
		if _, is := all[id(nth)]; is != kept {
			t.Errorf("number %d is kept: %v", nth, is)
		}
	}
	now = now.Add(lostFor - 2*time.Second)
	if all, err = lost.read(); err != nil || len(all) != 2 {
		t.Errorf("%d keys after their time, %v", len(all), err)
	}
}

// TestAnsweredWrites drops the keys of writes that a later one makes new commands.
func TestAnsweredWrites(t *testing.T) {
	for _, c := range []struct {
		method, lost, later, by string
		dropped                 bool
	}{
		{"POST", "tasks/t1/release", "tasks/t1/claim", "a", true},
		{"POST", "tasks/claim-next", "tasks/t1/release", "a", true},
		{"PATCH", "tasks/t1", "tasks/claim-next", "a", true},
		{"PATCH", "tasks/t1", "projects/p/checkpoint", "a", true},
		{"DELETE", "projects/p", "projects/p/restore", "a", true},
		{"POST", "workspaces/w/submit", "workspaces/w/files/x", "a", true},
		{"POST", "tasks/t1/release", "tasks/t2/claim", "a", false},
		{"POST", "tasks/t1/release", "tasks/t11/claim", "a", false},
		{"POST", "tasks/t1/release", "tasks/t1/claim", "b", false},
		{"POST", "projects/p/tasks", "projects/p/tasks", "a", false},
		{"POST", "projects/p/handoffs", "projects/p/checkpoint", "a", false},
	} {
		env := &Env{Folders: client.Folders{State: t.TempDir()}, Now: time.Now}
		mine, later := env.lostWrites("a"), env.lostWrites(c.by)
		keep := &client.Request{Method: c.method, Path: apiPath(c.lost)}
		if err := mine.keep(t.Context(), "lost", keep); err != nil {
			t.Fatal(err)
		}
		answered := &client.Request{Method: http.MethodPost, Path: apiPath(c.later)}
		if err := later.answered(t.Context(), "later", answered); err != nil {
			t.Fatal(err)
		}
		all, err := mine.read()
		if dropped := len(all) == 0; err != nil || dropped != c.dropped {
			t.Errorf("%s %s, then %s: dropped %v, %v", c.method, c.lost, c.later, dropped, err)
		}
	}
}

// TestReportOfAnInterruptedWrite says that the outcome is unknown.
func TestReportOfAnInterruptedWrite(t *testing.T) {
	var out strings.Builder
	Report(&unknownOutcomeError{context.Canceled, true}, false, &Env{Err: &out})
	const want = "pws: interrupted; " + outcomeUnknown + "\ntry: repeat the same command"
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("reported as %q", out.String())
	}
}
