package actors

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"pws/api"
	"pws/index/feed"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
	"pws/work"
)

// recordsOfLog are the feed records of a log that was never cut, in order.
func recordsOfLog(t *testing.T, dir string) (all []feed.Record) {
	t.Helper()
	log := filepath.Join(dir, datadir.LogName)
	err := journal.Read(log, 1, func(position uint64, payload []byte) error {
		one, err := decodeFeedNote(position, payload)
		all = one.records(all)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// poller follows the feed by its positions.
type poller struct {
	after feed.Position
	seen  []feed.Record
}

// poll reads to the end of what was published before.
func (p *poller) poll(t *testing.T, e *Engine) {
	t.Helper()
	for {
		page, err := e.Activity(api.ActivityQuery{After: p.after, Limit: 7})
		if err != nil {
			t.Fatal(err)
		}
		p.seen, p.after = append(p.seen, page.Records...), page.Next
		if !page.More {
			return
		}
	}
}

// check compares all that was seen with the log.
func (p *poller) check(t *testing.T, when, dir string) {
	t.Helper()
	if want := recordsOfLog(t, dir); !reflect.DeepEqual(p.seen, want) {
		t.Fatalf("%s: %d records were seen, %d happened", when, len(p.seen), len(want))
	}
}

// TestFeedFollowsTheLog has one poller go through restarts, snapshots, the loss of the feed, and
// notes that were dropped: it sees each record of the log once and in order.
func TestFeedFollowsTheLog(t *testing.T) {
	dir := t.TempDir()
	e := start(t, quiet(dir))
	owner := register(t, e, "owner")
	var p poller
	p.poll(t, e)
	project := createProject(t, e, owner, work.Public)
	p.poll(t, e)
	for round := range 6 {
		for nth := range 20 {
			name := fmt.Sprintf("%d/%d", round, nth)
			mustPut(t, e, project, owner, name, name)
			if nth%5 == 0 {
				p.poll(t, e)
			}
			if nth == 7 {
				project = createProject(t, e, owner, work.Private)
			}
			if nth == 10 {
				// As though more had waited than there is room for.
				e.feed.queue.Lock()
				e.feed.queue.waiting, e.feed.queue.missed = nil, true
				e.feed.queue.Unlock()
			}
		}
		if round%2 == 1 {
			if err := e.Save(); err != nil {
				t.Fatal(err)
			}
		}
		if round%3 > 0 {
			p.poll(t, e)
		}
		stop(t, e)
		if round == 2 {
			if err := os.RemoveAll(filepath.Join(dir, datadir.FeedName)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Verify(dir); err != nil {
			t.Fatal(err)
		}
		e = start(t, quiet(dir))
		p.poll(t, e)
		p.check(t, fmt.Sprint("round ", round), dir)
	}
	checkNewest(t, e, p.seen, project)
	stop(t, e)
}

// checkNewest reads the records of one project from the newest on.
func checkNewest(t *testing.T, e *Engine, all []feed.Record, project id.ID) {
	t.Helper()
	var want, got []feed.Record
	for _, one := range slices.Backward(all) {
		if one.Project == project {
			want = append(want, one)
		}
	}
	err := e.NewestActivity(feed.EndOf(1<<60), []id.ID{project}, func(record *feed.Record) feed.Step {
		got = append(got, *record)
		return feed.Next
	})
	if err != nil || len(got) == 0 || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d records of the project, not %d: %v", len(got), len(want), err)
	}
}

// TestFeedOverflow has writers leave more notes than may wait while the feed is stopped.
func TestFeedOverflow(t *testing.T) {
	dir := t.TempDir()
	e := start(t, quiet(dir))
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	e.feed.filling.Lock()
	for range feedQueueMax {
		e.feed.queue.Lock()
		e.feed.queue.waiting = append(e.feed.queue.waiting, feedNote{})
		e.feed.queue.Unlock()
	}
	mustPut(t, e, project, owner, "a", "a")
	e.feed.queue.Lock()
	waiting, missed := len(e.feed.queue.waiting), e.feed.queue.missed
	e.feed.queue.Unlock()
	e.feed.filling.Unlock()
	if waiting > 0 || !missed {
		t.Fatalf("%d notes wait, missed is %v", waiting, missed)
	}
	mustPut(t, e, project, owner, "b", "b")
	var p poller
	p.poll(t, e)
	p.check(t, "after the overflow", dir)
	stop(t, e)
}

// TestFeedKeepsTheConfiguredAmount cuts by count; what was before has expired, in so many words.
func TestFeedKeepsTheConfiguredAmount(t *testing.T) {
	config := quiet(t.TempDir())
	config.FeedEvents = 300
	config.FeedAge = time.Hour
	e, _, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	var first, last poller
	first.poll(t, e)
	for nth := range 800 {
		mustPut(t, e, project, owner, "a", fmt.Sprint(nth))
	}
	if err := errors.Join(e.Save(), e.feed.expire()); err != nil {
		t.Fatal(err)
	}
	var expired feed.Expired
	_, err = e.Activity(api.ActivityQuery{After: first.after, Limit: 1})
	if !errors.As(err, &expired) {
		t.Fatalf("an old position: %v", err)
	}
	last.after = expired.Oldest
	last.poll(t, e)
	if n := len(last.seen); n < 300 || n > 300+2*256 {
		t.Fatalf("%d records are kept", n)
	}
	ahead := feed.Position{Entry: last.after.Entry + 1000}
	if _, err := e.Activity(api.ActivityQuery{After: ahead, Limit: 1}); !errors.As(err, &expired) {
		t.Fatalf("a position that never was: %v", err)
	}
	e.Advance(2 * time.Hour.Milliseconds())
	if kept := e.feed.log.Stats().Records; kept != 0 {
		t.Fatalf("%d records are too old and kept", kept)
	}
	stop(t, e)
}

// TestFeedDamage stops a start with the name of the file.
func TestFeedDamage(t *testing.T) {
	dir := t.TempDir()
	e := start(t, quiet(dir))
	owner := register(t, e, "owner")
	createProject(t, e, owner, work.Public)
	stop(t, e)
	e = start(t, quiet(dir))
	createProject(t, e, owner, work.Public)
	stop(t, e)
	names, err := filepath.Glob(filepath.Join(dir, datadir.FeedName, "feed-*"))
	if err != nil || len(names) < 2 {
		t.Fatalf("%v, %v", names, err)
	}
	content, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-3] ^= 1
	if err := os.WriteFile(names[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(quiet(dir)); !errors.Is(err, feed.ErrCorrupt) {
		t.Fatalf("a damaged feed: %v", err)
	}
	if _, err := Verify(dir); !errors.Is(err, feed.ErrCorrupt) {
		t.Fatalf("verify of a damaged feed: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, datadir.FeedName)); err != nil {
		t.Fatal(err)
	}
	e = start(t, quiet(dir))
	var p poller
	p.poll(t, e)
	p.check(t, "made of the log", dir)
	stop(t, e)
}
