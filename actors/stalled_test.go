package actors

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pws/api"
	"pws/internal/id"
	"pws/work"
)

// streamOf opens an event stream of a project.
func streamOf(t *testing.T, e *Engine, project id.ID) api.EventStream {
	t.Helper()
	return streamBy(t, e, map[string]string{"project": project.Format(id.Project)}, "")
}

// streamBy opens an event stream by its query, after an event, "" for the newest.
func streamBy(t *testing.T, e *Engine, query map[string]string, after string) api.EventStream {
	t.Helper()
	c := operationOf(e, "events.poll", id.ID{}, query)
	c.Streams, c.LastEventID = true, after
	reply, err := c.Operation.Run(c, c.Operation.NewRequest())
	if err != nil {
		t.Fatal(err)
	}
	live := reply.Data.(api.EventStream)
	t.Cleanup(live.Stop)
	lookAt(t, live)
	return live
}

func lookAt(t *testing.T, live api.EventStream) string {
	t.Helper()
	text, err := live.Look(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// awaitEvent returns what a stream sends next.
func awaitEvent(t *testing.T, live api.EventStream) string {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case <-live.Ready():
			if text := lookAt(t, live); text != "" {
				return text
			}
		case <-limit:
			t.Fatal("no event")
		}
	}
}

// TestStalledStreamsDelayNobody has streams of a project whose transport has stopped: it sends
// events to readers that do not read, or a heartbeat. A stream of it and one of another project get
// every event meanwhile, and the stalled ones get theirs afterwards.
func TestStalledStreamsDelayNobody(t *testing.T) {
	e := start(t, quiet(t.TempDir()))
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	other := createProject(t, e, owner, work.Public)
	var stalled []api.EventStream
	for n := range 8 {
		live := streamOf(t, e, project)
		stalled = append(stalled, live)
		if n%2 == 0 {
			mustPut(t, e, project, owner, fmt.Sprint("first", n), "x")
			awaitEvent(t, live)
			continue
		}
		live.Ready()
		if _, err := live.Beat(nil); err != nil {
			t.Fatal(err)
		}
	}
	reader, stranger := streamOf(t, e, project), streamOf(t, e, other)
	const events = 50
	for n := range events {
		mustPut(t, e, project, owner, fmt.Sprint("file", n), "x")
		mustPut(t, e, other, owner, fmt.Sprint("file", n), "x")
		for _, live := range []api.EventStream{reader, stranger} {
			if got := awaitEvent(t, live); strings.Count(got, "id: ") != 1 {
				t.Fatalf("event %d: %s", n, got)
			}
		}
	}
	for _, live := range stalled {
		for got := 0; got < events; {
			got += strings.Count(awaitEvent(t, live), "id: ")
		}
	}
}

// TestSilentStreamResumes has streams whose filters leave everything out, until the feed has
// dropped the events at which they began. They resume at the place that a heartbeat named.
func TestSilentStreamResumes(t *testing.T) {
	config := quiet(t.TempDir())
	config.FeedEvents = 300
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	silent := createProject(t, e, owner, work.Public)
	for _, query := range []map[string]string{
		{"type": "handoff.created"}, {"project": silent.Format(id.Project)},
	} {
		live, place := streamBy(t, e, query, ""), ""
		for n := range 800 {
			mustPut(t, e, project, owner, "a", fmt.Sprint(query, n))
			if n%200 > 0 {
				continue
			}
			beat, err := live.Beat(nil)
			named := false
			if place, named = strings.CutPrefix(string(beat), ":\nid: "); err != nil || !named {
				t.Fatalf("heartbeat %q: %v", beat, err)
			}
		}
		if err := errors.Join(e.Save(), e.feed.expire()); err != nil {
			t.Fatal(err)
		}
		streamBy(t, e, query, strings.TrimSuffix(place, "\n\n"))
	}
}
