package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Event is one record of a stream.
type Event struct {
	// ID is the cursor to resume behind this event; empty if the server gave none.
	ID   string
	Type string
	Data string
}

const (
	eventStream = "text/event-stream"
	// streamSilenceMax ends a connection without a byte. The service sends a comment after 15 s.
	streamSilenceMax = 45 * time.Second
	eventBytesMax    = 1 << 20
)

// Events reads the event stream at a path until the context ends, handle returns an error, or the
// server refuses it for good. A connection that ends is replaced by another, which resumes behind
// the last event, at the next address if there are several. Errors: *Failure, those of handle and
// of the context.
func (c *Client) Events(
	ctx context.Context, path, after string, handle func(Event) error,
) error {
	way := c.attempts(&Request{Method: http.MethodGet, Path: path})
	for {
		before := after
		err := c.events(ctx, way, &after, handle)
		if after != before {
			way.progressed()
		}
		var lost *UnreachableError
		var failure *Failure
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &failure) && !failure.passing(), !errors.As(err, &lost) && failure == nil:
			return err
		}
		way.note(err)
		if wait := way.reconnect(err); wait > 0 {
			if err := c.wait(ctx, wait); err != nil {
				return err
			}
		}
	}
}

// passing reports whether the same request may succeed later. What a proxy says of its own failures
// has no word about it.
func (f *Failure) passing() bool {
	switch f.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return f.Retryable
}

// events reads one connection. It writes the ID of each handled event to after.
func (c *Client) events(
	ctx context.Context, way *attempts, after *string, handle func(Event) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request := *way.request
	request.Header = http.Header{"Accept": {eventStream}}
	if *after != "" {
		request.Header.Set("Last-Event-ID", *after)
	}
	var response *http.Response
	err := c.withCredential(ctx, func(credential string) (err error) {
		response, err = c.openStream(ctx, target{way.address(), c.http}, &request, credential)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	way.note(nil)
	silence := time.AfterFunc(streamSilenceMax, func() {
		cancel(fmt.Errorf("no byte for %s", streamSilenceMax))
	})
	defer silence.Stop()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, eventBytesMax)
	var event Event
	for lines.Scan() {
		silence.Reset(streamSilenceMax)
		if lines.Text() != "" {
			event.take(lines.Text())
			continue
		}
		// A heartbeat is the place in the stream without data.
		if event.Data != "" {
			if err := handle(event); err != nil {
				return err
			}
		}
		if event.ID != "" {
			*after = event.ID
		}
		event = Event{}
	}
	cause := lines.Err()
	if cause == nil {
		cause = io.ErrUnexpectedEOF
	}
	return &UnreachableError{Server: way.address(), Cause: cause}
}

// openStream sends the request of a stream. Answers that are none are errors.
func (c *Client) openStream(
	ctx context.Context, next target, request *Request, credential string,
) (*http.Response, error) {
	response, err := c.send(ctx, next, request, credential)
	if err != nil {
		return nil, err
	}
	media := response.Header.Get("Content-Type")
	if response.StatusCode == http.StatusOK && strings.HasPrefix(media, eventStream) {
		return response, nil
	}
	return nil, readFailure(ctx, next.to, response)
}

// take adds one line of an event. Lines that begin with a colon are comments.
func (e *Event) take(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "id":
		e.ID = value
	case "event":
		e.Type = value
	case "data":
		if e.Data != "" {
			e.Data += "\n"
		}
		e.Data += value
	}
}
