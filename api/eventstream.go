package api

import (
	"strconv"
	"time"

	"pws/index/feed"
	"pws/index/wake"
)

const (
	// eventsWaitMax is how long a poll may wait, in seconds.
	eventsWaitMax = 30
	// eventsPiece is how many events a stream takes at a time.
	eventsPiece = 64
)

// eventsWait is how long a poll waits; the parameter has been checked.
func (c *Call) eventsWait() time.Duration {
	seconds, err := strconv.Atoi(c.Query["wait"])
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// watcher is one who waits for events: the end of a poll, or of a stream so far. Every look judges
// the session, the project and each event anew, so that nobody is told what may not be seen by
// then. Looks that find nothing are not answered, and leave no trace in the time of the answer.
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

// look finds what has come since the look before. Errors: SESSION_EXPIRED, SESSION_INVALID,
// PROJECT_NOT_FOUND, PAGINATION_CURSOR_INVALID.
func (w *watcher) look(limit int) (found foundEvents, err error) {
	more := false
	defer func() { w.waiter.Seen(more) }()
	if err := w.judge(); err != nil {
		return found, err
	}
	found, err = w.call.eventsAfter(&w.filter, w.next, limit)
	w.next, more = found.next, found.more && err == nil
	return found, err
}

// judge asks whether the caller may go on. Errors: SESSION_EXPIRED, SESSION_INVALID,
// PROJECT_NOT_FOUND.
func (w *watcher) judge() error {
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
		err = errProjectNotFound()
	}
	return err
}

// stopUnless ends the waiting of a call that is over and has not handed it on.
func (w *watcher) stopUnless(kept *bool) {
	if !*kept {
		w.waiter.Stop()
	}
}

// awaitEvents answers with the first events that come, or with none at the end of the time.
func (c *Call) awaitEvents(
	filter eventFilter, after feed.Position, limit int, wait time.Duration,
) (Reply, error) {
	// It waits BEFORE it looks, so that nothing falls between.
	w, kept := c.watcher(filter, after), false
	defer w.stopUnless(&kept)
	look := func(last bool) (Reply, bool, error) {
		found, err := w.look(limit)
		if err != nil || !last && len(found.events) == 0 {
			return Reply{}, false, err
		}
		return c.eventsReply(&w.filter, &found), true, nil
	}
	reply, there, err := look(false)
	if there || err != nil {
		return reply, err
	}
	kept = true
	return Reply{Data: Later{
		Ready: w.waiter.Ready(), Wait: wait, Look: look, Stop: w.waiter.Stop,
	}}, nil
}

// streamEvents answers with all events that come. The first of them are looked for here, so that a
// cursor that leads nowhere is refused as in a poll.
func (c *Call) streamEvents(filter eventFilter, after feed.Position) (Reply, error) {
	w, kept := c.detached().watcher(filter, after), false
	defer w.stopUnless(&kept)
	first, err := w.look(eventsPiece)
	if err != nil {
		return Reply{}, err
	}
	kept = true
	found := &first
	return Reply{Data: Live{
		Ready: w.waiter.Ready(), Check: w.judge, Stop: w.waiter.Stop,
		Look: func(to []byte) ([]byte, error) {
			if found == nil {
				more, err := w.look(eventsPiece)
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

// appendEvents writes events as a stream has them.
func (w *watcher) appendEvents(to []byte, found *foundEvents) []byte {
	for at := range found.events {
		event := &found.events[at]
		to = append(to, "id: "...)
		to = append(to, w.call.eventCursor(&w.filter, found.places[at])...)
		to = append(append(to, "\nevent: "...), event.Type...)
		to = append(to, "\ndata: "...)
		to = append(appendData(to, event), "\n\n"...)
	}
	return to
}
