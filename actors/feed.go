package actors

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"pws/api"
	"pws/index/feed"
	"pws/index/wake"
	"pws/internal/datadir"
	"pws/internal/disk"
	"pws/internal/id"
	"pws/internal/logformat"
	"pws/work"
)

// feedNote is what the feed records of an entry.
type feedNote struct {
	position   uint64
	project    id.ID
	now        int64
	agent      id.ID
	activities []entryActivity
}

// entryActivity is an activity with the number of its event in the entry and its own number in the
// event.
type entryActivity struct {
	event, nth int
	activity   work.Activity
}

// activitiesOf are the activities of the events of an entry.
func activitiesOf(events []work.Event) (all []entryActivity) {
	for i, event := range events {
		for nth, activity := range work.Activities(event) {
			all = append(all, entryActivity{event: i, nth: nth, activity: activity})
		}
	}
	return all
}

// records are the activities with their places. What an event leaves open is filled in: who gave
// the command, and the project.
func (n *feedNote) records(to []feed.Record) []feed.Record {
	for _, one := range n.activities {
		record := feed.Record{
			Position: feed.At(n.position, one.event, one.nth),
			Project:  n.project, At: n.now, Activity: one.activity,
		}
		if record.Activity.Actor.IsZero() {
			record.Activity.Actor = n.agent
		}
		if record.Activity.Subject.ID.IsZero() {
			record.Activity.Subject.ID = n.project
		}
		to = append(to, record)
	}
	return to
}

const (
	// feedQueueMax is how many entries wait for the feed before it goes back to the log for them.
	feedQueueMax = 1 << 14
	// feedReachWait bounds how long a reader waits for the feed to come up to the log.
	feedReachWait = time.Second
	// feedTick is how often the feed takes what was published where nobody asks for it.
	feedTick = 250 * time.Millisecond
	// feedBatch is about how many records of the log go to the feed at a time.
	feedBatch = 1024
	// feedAgainAfter is how long a feed that failed is left alone.
	feedAgainAfter = 5 * time.Second
)

// follower fills the feed with what the log has, behind the writers: they leave a note of what they
// have made durable, and nothing that the feed does makes them wait. Where the notes are more than
// may wait, or were lost in a crash, it reads the log again.
type follower struct {
	engine *Engine
	log    *feed.Log
	// hub wakes those who wait for records, AFTER they can be read.
	hub *wake.Hub

	queue struct {
		sync.Mutex
		waiting []feedNote
		// missed says that notes are lacking, up to the one of pushed.
		missed bool
		// pushed is the position of the newest entry that a note was left of.
		pushed uint64
		// spare is an empty list that waiting was BEFORE.
		spare []feedNote
	}
	// records is an empty list for those that go into the feed. It is used while filling is held.
	records []feed.Record
	// woken has the feed look at once.
	woken   wakeup
	stop    chan struct{}
	stopped sync.WaitGroup
	// filling is held while records are added to the feed, and while the log is cut.
	filling sync.Mutex
	// fault is why the feed could not follow lately.
	fault   atomic.Pointer[error]
	reached struct {
		sync.Mutex
		// position says that all activities of entries up to it can be read.
		position uint64
		// changed is closed when the position is another.
		changed chan struct{}
	}
}

func newFollower(e *Engine) *follower {
	f := &follower{
		engine: e, woken: newWakeup(), stop: make(chan struct{}),
	}
	f.reached.changed = make(chan struct{})
	return f
}

// open reads what the feed has kept.
func (f *follower) open() (err error) {
	config := &f.engine.config
	f.log, err = feed.Open(feed.Options{
		Dir: filepath.Join(config.Dir, datadir.FeedName), Events: config.FeedEvents,
		AgeMillis: config.FeedAge.Milliseconds(), Disk: disk.Guard(disk.OS{}, f.engine.space.room),
		MayKeep: func() bool { return f.engine.journal.AgreedOn(logformat.Kept) },
	})
	if err != nil {
		err = fmt.Errorf("%w; %s", err, feed.DamageAdvice)
	}
	return err
}

// join checks that the feed goes on into the log: what is between them would be lost. One that is
// not there begins with the log.
func (f *follower) join(first, last uint64) error {
	if f.log.Empty() {
		f.log.Begin(first - 1)
	}
	dir := filepath.Join(f.engine.config.Dir, datadir.FeedName)
	return feed.CheckJoin(dir, f.log.Covered(), first, last)
}

// start begins to follow a log that ends with an entry.
func (f *follower) start(last uint64) {
	f.reached.position = f.log.Covered()
	f.queue.pushed, f.queue.missed = last, true
	f.hub = wake.NewHub(f.engine.audience)
	f.stopped.Go(func() { f.always(f.woken, "feed cannot follow the log; retrying", f.fill) })
	// Those that follow and read do not wait for it.
	f.stopped.Go(func() { f.always(nil, "feed cannot remove old events; retrying", f.expire) })
	f.nudge()
}

// close ends the goroutine, AFTER the last entry was pushed. What is not durable then is read from
// the log again.
func (f *follower) close() {
	close(f.stop)
	f.stopped.Wait()
	if err := f.fill(); err != nil {
		f.engine.log.Warn("feed stays behind the log until the next start", "error", err)
	}
	f.hub.Close()
}

// cut forgets entries of the log before a position, AFTER the feed has made durable what they mean.
func (f *follower) cut(before uint64) error {
	if err := f.fill(); err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	f.filling.Lock()
	defer f.filling.Unlock()
	if err := f.log.Sync(); err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	if covered := f.log.Covered(); covered+1 < before {
		return fmt.Errorf("feed: it covers entries up to %d", covered)
	}
	return f.engine.journal.CutBefore(before)
}

// redact removes the texts of projects from the feed, AFTER it has all that is durable.
func (f *follower) redact(projects map[id.ID]bool) error {
	if err := f.fill(); err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	f.filling.Lock()
	defer f.filling.Unlock()
	if err := f.log.Redact(projects); err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	return nil
}

// nudge has the feed look at once.
func (f *follower) nudge() {
	f.woken.wake()
}

// push leaves the note of an entry. The log's committer calls it BEFORE the entry is answered.
func (f *follower) push(one feedNote) {
	f.queue.Lock()
	f.queue.pushed = one.position
	switch {
	case len(one.activities) == 0 || f.queue.missed:
	case len(f.queue.waiting) >= feedQueueMax:
		f.queue.waiting, f.queue.missed = nil, true
	default:
		f.queue.waiting = append(f.queue.waiting, one)
	}
	due := len(f.queue.waiting) == feedQueueMax/2
	f.queue.Unlock()
	if due || len(one.activities) > 0 && f.hub.Awaits(one.project) {
		f.nudge()
	}
}

// always calls a step often, and when it is woken, until the end. A step that fails is left alone
// for a while, but the process has to stop where only a start shows what the feed has.
func (f *follower) always(woken <-chan struct{}, problem string, step func() error) {
	tick := time.NewTicker(feedTick)
	defer tick.Stop()
	var again time.Time
	for {
		select {
		case <-f.stop:
			return
		case <-woken:
		case <-tick.C:
		}
		if !again.IsZero() && time.Now().Before(again) {
			continue
		}
		again = time.Time{}
		if err := step(); err != nil {
			f.engine.log.Error(problem, "error", err)
			if uncertain(err) {
				f.engine.fail(err)
			}
			again = time.Now().Add(feedAgainAfter)
		}
	}
}

// expire lets go of records that are not to be kept any more. It may take a second.
func (f *follower) expire() error { return f.log.Expire(f.engine.clock.Now()) }

// fill takes what was left since the last time.
func (f *follower) fill() error {
	f.filling.Lock()
	defer f.filling.Unlock()
	err := f.drain()
	if err == nil {
		f.fault.Store(nil)
		return nil
	}
	f.fault.Store(&err)
	return err
}

func (f *follower) drain() error {
	// What is durable has left its notes; entries that are about no project leave none.
	durable := f.engine.journal.Durable()
	f.queue.Lock()
	waiting, missed := f.queue.waiting, f.queue.missed
	target := max(durable, f.queue.pushed)
	f.queue.waiting, f.queue.missed, f.queue.spare = f.queue.spare, false, nil
	f.queue.Unlock()
	var err error
	if missed {
		err = f.readAgain(target)
	} else {
		err = f.takeNotes(waiting, target)
	}
	f.queue.Lock()
	defer f.queue.Unlock()
	if f.queue.spare == nil {
		clear(waiting)
		f.queue.spare = waiting[:0]
	}
	if err != nil {
		f.queue.waiting, f.queue.missed = nil, true
	}
	return err
}

// takeNotes puts what notes say into the feed.
func (f *follower) takeNotes(notes []feedNote, target uint64) error {
	from := f.position()
	for i := range notes {
		if notes[i].position > from {
			f.records = notes[i].records(f.records)
		}
	}
	err := f.take(f.records, target)
	if clear(f.records); cap(f.records) > 2*feedQueueMax {
		f.records = nil
	}
	f.records = f.records[:0]
	return err
}

// take puts records into the feed, which are all up to a position.
func (f *follower) take(records []feed.Record, position uint64) error {
	if err := f.log.Append(records, position); err != nil {
		return err
	}
	f.reached.Lock()
	if position > f.reached.position {
		f.reached.position = position
		close(f.reached.changed)
		f.reached.changed = make(chan struct{})
	}
	f.reached.Unlock()
	f.notify(records)
	return nil
}

// position is how far the feed has come.
func (f *follower) position() uint64 {
	f.reached.Lock()
	defer f.reached.Unlock()
	return f.reached.position
}

// readAgain makes records of the entries of the log, behind what the feed has and up to a position.
func (f *follower) readAgain(target uint64) error {
	var records []feed.Record
	from := f.position() + 1
	if from > target {
		return nil
	}
	read := from - 1
	err := f.engine.journal.Read(from, func(position uint64, payload []byte) error {
		if position > target {
			return errReadEnough
		}
		read = position
		one, err := decodeFeedNote(position, payload)
		if err != nil {
			return fmt.Errorf("log entry %d: %w", position, err)
		}
		if records = one.records(records); len(records) >= feedBatch {
			err = f.take(records, position)
			records = nil
		}
		return err
	})
	if err != nil && err != errReadEnough {
		return err
	}
	if read < target {
		// The feed would never look for what is between them again.
		return fmt.Errorf("the log ends at entry %d, and entry %d was reported", read, target)
	}
	return f.take(records, target)
}

var errReadEnough = errors.New("read enough")

// decodeFeedNote reads an entry of the log.
func decodeFeedNote(position uint64, payload []byte) (one feedNote, err error) {
	e, err := datadir.DecodeEntry(payload)
	if err != nil || e.Target != datadir.TargetProject {
		return one, err
	}
	events := make([]work.Event, len(e.Events))
	for i, stored := range e.Events {
		if events[i], err = work.DecodeEvent(work.Kind(stored.Kind), stored.Data); err != nil {
			return one, err
		}
	}
	return feedNote{
		position: position, project: e.ID, now: e.Now, agent: e.Agent, activities: activitiesOf(events),
	}, nil
}

// reach waits, not for ever, until the feed has all that was published when it was asked. It
// reports whether it has.
func (f *follower) reach() bool {
	f.queue.Lock()
	target := f.queue.pushed
	f.queue.Unlock()
	var late <-chan time.Time
	for {
		f.reached.Lock()
		position, changed := f.reached.position, f.reached.changed
		f.reached.Unlock()
		if position >= target {
			return true
		}
		if late == nil {
			timer := time.NewTimer(feedReachWait)
			defer timer.Stop()
			late = timer.C
		}
		f.nudge()
		select {
		case <-changed:
		case <-late:
			return false
		case <-f.stop:
			return false
		}
	}
}

// ahead reports whether a position is behind all that ever was. It was given before the data was
// restored from a backup, and what follows it there is something else.
func (f *follower) ahead(at feed.Position) bool {
	f.queue.Lock()
	pushed := f.queue.pushed
	f.queue.Unlock()
	return at.Entry > max(pushed, f.engine.journal.Durable())
}

// Activity implements api.Engine.
func (e *Engine) Activity(query api.ActivityQuery) (api.ActivityPage, error) {
	reached := e.feed.reach()
	if e.feed.ahead(query.After) {
		return api.ActivityPage{}, feed.Expired{Oldest: e.feed.log.Floor()}
	}
	page, err := e.feed.log.Read(query)
	page.More = page.More || !reached
	return page, err
}
