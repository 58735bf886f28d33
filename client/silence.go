package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// silentError ends an exchange in which no byte went on for too long. It is a timeout.
type silentError struct{ after time.Duration }

func (e *silentError) Error() string { return "no byte for " + e.after.String() }

// Timeout and Temporary implement net.Error.
func (*silentError) Timeout() bool   { return true }
func (*silentError) Temporary() bool { return true }

// silence ends an exchange whose body, in either direction, does not go on. What comes in between
// is bounded by ResponseHeaderTimeout.
type silence struct {
	context.Context
	end   context.CancelCauseFunc
	timer *time.Timer
	limit time.Duration
	// connected is set when there is a connection. Without one the server cannot have seen the
	// request.
	connected atomic.Bool
	// moved is called when bytes went on, unless it is nil.
	moved func()
}

func newSilence(ctx context.Context, limit time.Duration) *silence {
	s := &silence{limit: limit}
	s.Context, s.end = context.WithCancelCause(ctx)
	s.timer = time.AfterFunc(limit, func() { s.end(&silentError{limit}) })
	s.timer.Stop()
	return s
}

// traced notes the connection, and has the timer run while a request is written on it.
func (s *silence) traced() context.Context {
	return httptrace.WithClientTrace(s, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			s.connected.Store(true)
			s.timer.Reset(s.limit)
		},
		WroteRequest: func(httptrace.WroteRequestInfo) { s.timer.Stop() },
	})
}

// send makes a request one whose body is watched.
func (s *silence) send(out *http.Request, body []byte) {
	if len(body) > 0 {
		out.Body = &watched{io.NopCloser(bytes.NewReader(body)), s, s.limit, false}
	}
	// The transport must not repeat a request with a key unseen: see attempts.unsure.
	out.GetBody = nil
}

// cause is the error of the silence instead of that of the context that it has ended.
func (s *silence) cause(err error) error {
	var silent *silentError
	if errors.As(context.Cause(s), &silent) {
		return silent
	}
	return err
}

// watched is a body that goes on while it is read.
type watched struct {
	io.ReadCloser
	silence *silence
	limit   time.Duration
	// ends is true for the body of an answer, with which the exchange ends.
	ends bool
}

func (w *watched) Read(into []byte) (int, error) {
	w.silence.timer.Reset(w.limit)
	n, err := w.ReadCloser.Read(into)
	if w.ends {
		// The reader may take its time.
		w.silence.timer.Stop()
	}
	if n > 0 && w.silence.moved != nil {
		w.silence.moved()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = w.silence.cause(err)
	}
	return n, err
}

func (w *watched) Close() error {
	err := w.ReadCloser.Close()
	if w.ends {
		w.silence.timer.Stop()
		w.silence.end(nil)
	}
	return err
}
