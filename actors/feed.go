package actors

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"pws/api"
	"pws/index/feed"
	"pws/index/wake"
	"pws/internal/id"
	"pws/wal"
	"pws/work"
)

// happening is an entry as the feed takes it: what it means to others.
type happening struct {
	position uint64
	project  id.ID
	now      int64
	agent    id.ID
	told     []telling
}

// telling is an activity with the number of its event in the entry and its own in the event.
type telling struct {
	event, nth int
	activity   work.Activity
}

// toldOf is what events mean to others.
func toldOf(events []work.Event) (all []telling) {
	for at, event := range events {
		for nth, activity := range work.Activities(event) {
			all = append(all, telling{event: at, nth: nth, activity: activity})
		}
	}
	return all
}

// records are the activities with their places. What an event leaves open is filled in: who gave
// the command, and the project.
func (h *happening) records(to []feed.Record) []feed.Record {
	for _, one := range h.told {
		record := feed.Record{
			Position: feed.At(h.position, one.event, one.nth),
			Project:  h.project, At: h.now, Activity: one.activity,
		}
		if record.Activity.Actor.IsZero() {
			record.Activity.Actor = h.agent
		}
		if record.Activity.Subject.ID.IsZero() {
			record.Activity.Subject.ID = h.project
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
		waiting []happening
		// missed says that notes are lacking, up to the one of pushed.
		missed bool
		// pushed is the position of the newest entry that a note was left of.
		pushed uint64
	}
	wake    chan struct{}
	stop    chan struct{}
	stopped sync.WaitGroup
	// reading is held while the log is read again, and by whoever cuts it.
	reading sync.Mutex
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
		engine: e, log: feed.New(), wake: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	f.reached.changed = make(chan struct{})
	return f
}

// start begins to follow a log that ends with an entry.
func (f *follower) start(last uint64) {
	f.queue.pushed, f.queue.missed = last, true
	f.hub = wake.NewHub(f.engine.audience)
	f.stopped.Go(f.run)
	f.nudge()
}

func (f *follower) close() {
	close(f.stop)
	f.stopped.Wait()
	f.hub.Close()
}

// nudge has the feed look at once.
func (f *follower) nudge() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// push leaves the note of an entry. The log's committer calls it BEFORE the entry is answered.
func (f *follower) push(one happening) {
	f.queue.Lock()
	f.queue.pushed = one.position
	switch {
	case len(one.told) == 0 || f.queue.missed:
	case len(f.queue.waiting) >= feedQueueMax:
		f.queue.waiting, f.queue.missed = nil, true
	default:
		f.queue.waiting = append(f.queue.waiting, one)
	}
	due := len(f.queue.waiting) == feedQueueMax/2
	f.queue.Unlock()
	if due || f.hub.Waiting() > 0 {
		f.nudge()
	}
}

func (f *follower) run() {
	tick := time.NewTicker(feedTick)
	defer tick.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-f.wake:
		case <-tick.C:
		}
		if err := f.fill(); err != nil {
			f.engine.log.Error("the feed cannot follow the log, and tries again", "error", err)
		}
	}
}

// fill takes what was left since the last time.
func (f *follower) fill() error {
	// What is durable has left its notes; entries that are about no project leave none.
	durable := f.engine.wal.Durable()
	f.queue.Lock()
	waiting, missed := f.queue.waiting, f.queue.missed
	target := max(durable, f.queue.pushed)
	f.queue.waiting, f.queue.missed = nil, false
	f.queue.Unlock()
	if missed {
		if err := f.readAgain(target); err != nil {
			f.queue.Lock()
			f.queue.waiting, f.queue.missed = nil, true
			f.queue.Unlock()
			return err
		}
		return nil
	}
	var records []feed.Record
	from := f.position()
	for at := range waiting {
		if waiting[at].position > from {
			records = waiting[at].records(records)
		}
	}
	f.take(records, target)
	return nil
}

// take puts records into the feed, which are all up to a position.
func (f *follower) take(records []feed.Record, position uint64) {
	if len(records) > 0 {
		f.log.Append(records)
	}
	f.reached.Lock()
	if position > f.reached.position {
		f.reached.position = position
		close(f.reached.changed)
		f.reached.changed = make(chan struct{})
	}
	f.reached.Unlock()
	f.tell(records)
}

// position is how far the feed has come.
func (f *follower) position() uint64 {
	f.reached.Lock()
	defer f.reached.Unlock()
	return f.reached.position
}

// readAgain makes records of the entries of the log, behind what the feed has and up to a position.
func (f *follower) readAgain(target uint64) error {
	f.reading.Lock()
	defer f.reading.Unlock()
	var records []feed.Record
	from := f.position() + 1
	if first := f.engine.wal.Stats().First; from < first {
		from = first
	}
	if from > target {
		return nil
	}
	err := wal.Read(filepath.Join(f.engine.config.Dir, logName), from,
		func(position uint64, payload []byte) error {
			if position > target {
				return errReadEnough
			}
			one, err := happened(position, payload)
			if err != nil {
				return fmt.Errorf("log entry %d: %w", position, err)
			}
			if records = one.records(records); len(records) >= feedBatch {
				f.take(records, position)
				records = nil
			}
			return nil
		})
	if err != nil && err != errReadEnough {
		return err
	}
	f.take(records, target)
	return nil
}

var errReadEnough = errors.New("read enough")

// happened is what an entry of the log means to others.
func happened(position uint64, payload []byte) (one happening, err error) {
	e, err := decodeEntry(payload)
	if err != nil || e.target != targetProject {
		return one, err
	}
	events := make([]work.Event, len(e.events))
	for at, stored := range e.events {
		if events[at], err = work.DecodeEvent(work.Kind(stored.kind), stored.data); err != nil {
			return one, err
		}
	}
	return happening{
		position: position, project: e.id, now: e.now, agent: e.agent, told: toldOf(events),
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

// Activity implements api.Engine.
func (e *Engine) Activity(query api.ActivityQuery) (api.ActivityPage, error) {
	reached := e.feed.reach()
	page, err := e.feed.log.Read(query)
	page.More = page.More || !reached
	return page, err
}
