package actors

import (
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
	c := operationOf(e, "events.poll", id.ID{}, map[string]string{
		"project": project.Format(id.Project),
	})
	c.Streams = true
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
	limit := time.After(10 * time.Second)
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
		} else if live.Ready(); live.Check() != nil {
			t.Fatal("the stream may not go on")
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
