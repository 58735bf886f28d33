package api_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pws/api"
	"pws/index/feed"
	"pws/internal/id"
	"pws/work"
)

// inboxPaged is an inbox through all its pages, and how much of it is unread.
func (o *testEngine) inboxPaged(who *testAgent, limit int) (items []map[string]any, unread int) {
	o.t.Helper()
	query := map[string]string{"limit": fmt.Sprint(limit)}
	for {
		_, data, err := o.call(who, request{operation: "inbox.read", query: query})
		if err != nil {
			o.t.Fatal(err)
		}
		for _, item := range data["items"].([]any) {
			items = append(items, item.(map[string]any))
		}
		unread = int(data["unread_count"].(float64))
		next, more := data["next_cursor"].(string)
		if !more {
			return items, unread
		}
		query["cursor"] = next
	}
}

// watchedEvents are the IDs of the events that a watcher should find, the newest first: all in the
// projects that it watches since it does, but for its own.
func (o *testEngine) watchedEvents(
	who *testAgent, since map[id.ID]feed.Position,
) (events []string) {
	o.t.Helper()
	var at feed.Position
	for {
		page, err := o.Activity(api.ActivityQuery{After: at, Limit: 100})
		if err != nil {
			o.t.Fatal(err)
		}
		for _, record := range page.Records {
			from, watched := since[record.Project]
			if watched && record.Compare(from) > 0 && record.Activity.Actor != who.id() {
				evt := o.EventID(record.Position, record.At)
				events = append(events, evt.Format(id.ActivityEvent))
			}
		}
		at = page.Next
		if !page.More {
			slices.Reverse(events)
			return events
		}
	}
}

// lastActivity is the newest position of the feed.
func (o *testEngine) lastActivity() (at feed.Position) {
	o.t.Helper()
	for {
		page, err := o.Activity(api.ActivityQuery{After: at, Limit: 100})
		if err != nil {
			o.t.Fatal(err)
		}
		if at = page.Next; !page.More {
			return at
		}
	}
}

// An inbox has all that happens in watched projects, each event once and in order, whatever of it
// each project has, and through pages of any size.
func TestInboxMergesWatchedProjects(t *testing.T) {
	o := newTestEngine(t)
	ann, eve := o.register("ann"), o.register("eve")
	random := rand.New(rand.NewPCG(1, 2))
	var projects []id.ID
	since := map[id.ID]feed.Position{}
	for range 7 {
		project, _ := o.project(ann, work.Public)
		projects = append(projects, project)
	}
	for step := range 600 {
		// Most of it happens in few projects.
		project := projects[min(random.IntN(7), random.IntN(7))]
		_, watched := since[project]
		switch {
		case !watched && random.IntN(9) == 0:
			// What is watched counts from the millisecond on in which it was asked for.
			o.Advance(1)
			o.give(eve, project, new(work.WatchProject))
			since[project] = o.lastActivity()
		case random.IntN(8) == 0:
			o.give(eve, project, &work.CreateDiscussion{Title: "own", Body: "b"})
		default:
			o.give(ann, project, &work.CreateTask{Spec: work.TaskSpec{
				Title: fmt.Sprint("task ", step), Priority: work.PriorityNormal,
			}})
		}
	}
	want := o.watchedEvents(eve, since)
	for _, limit := range []int{7, 200} {
		items, unread := o.inboxPaged(eve, limit)
		var got []string
		for _, item := range items {
			got = append(got, item["event_id"].(string))
			if item["kind"] != "WATCHED_ACTIVITY" {
				t.Fatalf("an item is %v", item)
			}
		}
		if !slices.Equal(got, want) || unread != len(want) {
			t.Fatalf("by %d: %d items, %d unread, want %d", limit, len(got), unread, len(want))
		}
	}
	if len(want) < 200 {
		t.Fatalf("%d events are too few", len(want))
	}
	// Half of them is archived, then the rest is read.
	items, _ := o.inboxPaged(eve, 200)
	var half []string
	for i := 0; i < len(items); i += 2 {
		half = append(half, fmt.Sprintf("%q", items[i]["id"]))
	}
	for _, c := range []struct {
		body string
		want int
	}{
		{`{"status":"ARCHIVED","item_ids":[` + strings.Join(half, ",") + `]}`, len(half)},
		{`{"status":"READ","all":true}`, len(want) - len(half)},
		{`{"status":"READ","all":true}`, 0},
	} {
		_, data, err := o.call(eve, request{operation: "inbox.update", body: c.body})
		if err != nil || int(data["updated"].(float64)) != c.want {
			t.Fatalf("%.40s: %v, %v, want %d", c.body, data, err, c.want)
		}
	}
	if items, unread := o.inboxPaged(eve, 50); len(items) != len(want)-len(half) || unread != 0 {
		t.Fatalf("%d items are left, %d unread", len(items), unread)
	}
}

// Whatever happens in watched projects, the inbox has the newest thousand of it.
func TestInboxOfWatchedProjectsIsBounded(t *testing.T) {
	o := newTestEngine(t)
	ann, eve := o.register("ann"), o.register("eve")
	project, _ := o.project(ann, work.Public)
	o.give(eve, project, new(work.WatchProject))
	for n := range 1100 {
		o.give(ann, project, &work.CreateTask{Spec: work.TaskSpec{
			Title: fmt.Sprint(n), Priority: work.PriorityNormal,
		}})
	}
	items, unread := o.inboxPaged(eve, 200)
	if len(items) != 1000 || unread != 1000 {
		t.Fatalf("%d items, %d unread", len(items), unread)
	}
	if title := items[999]["subject"].(map[string]any)["title"]; title != "100" {
		t.Fatalf("the oldest belongs to %v", title)
	}
}
