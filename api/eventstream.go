package api

import (
	"strconv"
	"time"

	"pws/index/feed"
	"pws/index/wake"
	"pws/internal/fault"
)

const (
	// eventsWaitMax is the maximum time that a poll waits, in seconds.
	eventsWaitMax = 30
	// eventsPiece is the maximum number of events that a stream sends at a time.
	eventsPiece = 64
)

// eventsWait returns how long a poll waits; the parameter was already validated.
func (c *Call) eventsWait() time.Duration {
	seconds, err := strconv.Atoi(c.Query["wait"])
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// watcher waits for events for a poll or a stream. Every check reads the session, the project
// and each event again, so that nothing is sent that the caller may not see by then. Checks that
// find nothing are not answered, and do not affect the timing of the answer.
type watcher struct {
	call   *Call
	filter eventFilter
	next   feed.Position
	waiter *wake.Waiter
}

func (c *Call) watcher(filter eventFilter, after feed.Position) *watcher {
	return &watcher{
		call: c, filter: filter, next: after,
		waiter: c.Service.Engine.WaitActivity(filter.project, c.Agent),
	}
}

// look finds the events since the previous look; there is false if there is nothing to answer,
// which the last look never reports. What it answers with is the newest, however long the caller
// waited. A check keeps other waiters from theirs. So a server that has to ask others does that
// AFTER a check that has found something, and checks again. Errors: STORAGE_UNAVAILABLE, and those
// of check.
func (w *watcher) look(limit int, last bool) (found foundEvents, there bool, err error) {
	c, from := w.call, w.next
	if !last && c.Service.Engine.ReadsWait() {
		found, err = w.check(limit)
		if err == nil && found.count == 0 {
			return found, false, nil
		}
		w.next = from
	}
	c.BeginRead()
	found, err = w.check(limit)
	if err == nil && found.count == 0 && !last {
		return found, false, nil
	}
	if stale := c.Operation.stale(c, err); stale != nil {
		return foundEvents{}, false, stale
	}
	return found, err == nil, err
}

// check finds the events that are new to the watcher. Errors: SESSION_EXPIRED, SESSION_INVALID,
// PROJECT_NOT_FOUND, PAGINATION_CURSOR_INVALID.
func (w *watcher) check(limit int) (found foundEvents, err error) {
	more := false
	defer func() { w.waiter.Seen(more) }()
	if err := w.authorize(); err != nil {
		return found, err
	}
	found, err = w.call.eventsAfter(&w.filter, w.next, limit)
	w.next, more = found.next, found.more && err == nil
	return found, err
}

// authorize checks whether the caller may continue. Errors: SESSION_EXPIRED, SESSION_INVALID,
// PROJECT_NOT_FOUND.
func (w *watcher) authorize() error {
	c := w.call
	engine := c.Service.Engine
	if c.Session != nil {
		if _, err := engine.Identity().Authenticate(c.Session.Hash, engine.Now()); err != nil {
			return err
		}
	}
	if w.filter.project.IsZero() {
		return nil
	}
	readable, err := engine.Readable(w.filter.project, c.Agent)
	if err == nil && !readable {
		err = fault.NoProject()
	}
	return err
}

// stopUnless stops the watcher unless the reply has taken it over.
func (w *watcher) stopUnless(kept *bool) {
	if !*kept {
		w.waiter.Stop()
	}
}

// awaitEvents answers with the first events that arrive, or with none at the end of the time.
func (c *Call) awaitEvents(
	filter eventFilter, after feed.Position, limit int, wait time.Duration,
) (Reply, error) {
	// It registers BEFORE it checks, so that no event is missed in between.
	w, kept := c.watcher(filter, after), false
	defer w.stopUnless(&kept)
	found, err := w.check(limit)
	if err != nil {
		return Reply{}, err
	}
	if found.count > 0 {
		return c.eventsReply(&w.filter, &found), nil
	}
	kept = true
	return Reply{Data: Deferred{
		Ready: w.waiter.Ready, Wait: wait, Stop: w.waiter.Stop,
		Look: func(last bool) (Reply, bool, error) {
			found, there, err := w.look(limit, last)
			if !there {
				return Reply{}, false, err
			}
			return c.eventsReply(&w.filter, &found), true, nil
		},
	}}, nil
}

// streamEvents answers with all events as they arrive. It finds the first ones itself, so that
// an invalid cursor is an error as in a poll.
func (c *Call) streamEvents(filter eventFilter, after feed.Position) (Reply, error) {
	w, kept := c.detached().watcher(filter, after), false
	defer w.stopUnless(&kept)
	first, err := w.check(eventsPiece)
	if err != nil {
		return Reply{}, err
	}
	kept = true
	found := &first
	return Reply{Data: EventStream{
		Ready: w.waiter.Ready, Stop: w.waiter.Stop,
		Beat: func(to []byte) ([]byte, error) {
			found, _, err := w.look(eventsPiece, true)
			if err != nil || found.count > 0 {
				return w.appendEvents(to, &found), err
			}
			return w.appendPlace(to), nil
		},
		Look: func(to []byte) ([]byte, error) {
			if found == nil {
				more, _, err := w.look(eventsPiece, false)
				if err != nil {
					return to, err
				}
				found = &more
			}
			to = w.appendEvents(to, found)
			found = nil
			return to, nil
		},
	}}, nil
}

// appendPlace writes the place in the stream without an event. Events that the filter leaves out
// move it, and one that is too old would end the stream of a reader that reconnects.
func (w *watcher) appendPlace(to []byte) []byte {
	to = append(to, ":\nid: "...)
	return append(append(to, w.call.eventCursor(&w.filter, w.next)...), "\n\n"...)
}

// appendEvents writes events in the format of a stream.
func (w *watcher) appendEvents(to []byte, found *foundEvents) []byte {
	to = append(to, found.written...)
	for i := range found.events {
		event := &found.events[i]
		to = append(to, "id: "...)
		to = append(to, w.call.eventCursor(&w.filter, found.places[i])...)
		to = append(append(to, "\nevent: "...), event.Type...)
		to = append(to, "\ndata: "...)
		to = append(appendData(to, event), "\n\n"...)
	}
	return to
}
