package http

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
)

const (
	// liveUnsent bounds what the kernel buffers of a stream, in bytes.
	liveUnsent = 64 << 10
	// liveStart asks clients to wait for 2,000 ms BEFORE they reconnect.
	liveStart = "retry: 2000\n\n"
)

var (
	streamType      = []byte("text/event-stream")
	headerBuffering = []byte("X-Accel-Buffering")
	unbuffered      = []byte("no")
	varyLive        = []byte("Accept-Encoding, Accept")
	// errClientGone wraps an error that the transport does not log.
	errClientGone = fmt.Errorf("http: the reader of a stream: %w", io.ErrUnexpectedEOF)
	errStopping   = fault.Stopping()
)

// live sends a stream of events. It outlives its exchange and keeps nothing of it. It holds no
// buffer between two writes. A stream whose reader falls behind the least rate in one write ends;
// the client can resume it after its last event.
type live struct {
	server    *Server
	conn      net.Conn
	requestID string
	operation string
	data      api.EventStream
	release   func()
	ended     bool
}

// live begins a stream of events. Errors: RATE_LIMITED where too many requests wait already.
func (x *exchange) live(data api.EventStream) error {
	release, err := x.server.slots.acquire(x.party())
	if err != nil {
		data.Stop()
		return err
	}
	x.server.slots.streams.Add(1)
	h := &x.ctx.Response.Header
	h.SetContentTypeBytes(streamType)
	h.SetCanonical(headerVary, varyLive)
	h.SetCanonical(headerBuffering, unbuffered)
	x.sendStream(&live{
		server: x.server, conn: x.ctx.Conn(), requestID: x.call.RequestID,
		operation: x.operationName(), data: data, release: release,
	})
	return nil
}

// SupportsBodyWriteTo makes fasthttp call WriteTo and never Read.
func (l *live) SupportsBodyWriteTo() bool { return true }

// Read makes it a body; it always fails.
func (l *live) Read([]byte) (int, error) { return 0, errors.New("http: a stream is written") }

// Close ends the waiting. It is also called for a stream that never began.
func (l *live) Close() error {
	if !l.ended {
		l.ended = true
		l.data.Stop()
		l.server.slots.streams.Add(-1)
		l.release()
	}
	return nil
}

// WriteTo sends events until the reader leaves, the server stops, or the data ends the stream. The
// error code that ends it is sent as a comment; a client that reconnects gets it as a status.
func (l *live) WriteTo(w io.Writer) (int64, error) {
	out := &pacedWriter{
		w: w, conn: l.conn, pace: l.server.newPace(l.server.cfg.WriteTimeout), each: true,
	}
	if peer, tracked := l.conn.(*conn); tracked {
		peer.setLive(true)
		defer peer.setLive(false)
		if small, ok := peer.Conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
			// A larger buffer only delays noticing a stalled reader.
			_ = small.SetWriteBuffer(liveUnsent)
		}
	}
	_, err := io.WriteString(out, liveStart)
	if err == nil {
		err = l.send(out)
	}
	var refusal *fault.Error
	switch {
	case errors.Is(out.err, os.ErrDeadlineExceeded):
		l.server.slots.dropped.Add(1)
	case out.err != nil || errors.Is(err, errClientGone):
	case errors.As(err, &refusal) && refusal.Code != fault.Internal:
		_, err = io.WriteString(out, ": "+string(refusal.Code)+"\n\n")
	default:
		l.server.log.Error("stream aborted", slog.String("request_id", l.requestID),
			slog.String("operation", l.operation), slog.Any("error", err))
	}
	return out.sent, err
}

// liveBuffers are shared by all streams, because few of them write at one time.
var liveBuffers = sync.Pool{New: func() any {
	buffer := make([]byte, 0, api.EventStreamChunkBytes)
	return &buffer
}}

// send writes events as they come. It always ends with an error.
func (l *live) send(out io.Writer) error {
	timer := time.NewTimer(l.server.cfg.clientCheck)
	defer timer.Stop()
	lastWrite := time.Now()
	for {
		wrote, err := l.writeNext(out, l.data.Look)
		if err != nil {
			return err
		}
		if wrote {
			lastWrite = time.Now()
		}
		for again := true; again; {
			select {
			case <-l.data.Ready():
				again = false
			case <-l.server.stopping:
				return errStopping
			case <-timer.C:
				timer.Reset(l.server.cfg.clientCheck)
				wrote, err := l.checkIdle(out, time.Since(lastWrite))
				if err != nil {
					return err
				}
				if wrote {
					lastWrite = time.Now()
				}
			}
		}
	}
}

// writeNext writes what a look finds.
func (l *live) writeNext(
	out io.Writer, look func(to []byte) ([]byte, error),
) (wrote bool, err error) {
	buffer, ok := liveBuffers.Get().(*[]byte)
	if !ok {
		panic("http: foreign value in the pool")
	}
	// Events found BEFORE an error are sent.
	text, err := look((*buffer)[:0])
	if len(text) > 0 {
		_, failed := out.Write(text)
		if failed != nil {
			err = failed
		}
	}
	if cap(text) <= 2*api.EventStreamChunkBytes {
		*buffer = text
		liveBuffers.Put(buffer)
	}
	return len(text) > 0, err
}

// checkIdle checks on a stream without events that its reader is there and that it may go on. It
// sends a heartbeat after a long silence.
func (l *live) checkIdle(out io.Writer, silence time.Duration) (wrote bool, err error) {
	if peer, tracked := l.conn.(*conn); tracked && peer.peerClosed() {
		return false, errClientGone
	}
	if silence < l.server.cfg.heartbeat {
		return false, nil
	}
	return l.writeNext(out, l.data.Beat)
}

// prefersStream reports whether an Accept header names text/event-stream with a weight above that
// of JSON, or not below that of the wildcard that covers JSON.
func prefersStream(accept []byte) bool {
	stream, json, any := 0.0, -1.0, 0.0
	for one := range bytes.SplitSeq(accept, []byte(",")) {
		switch name, weight := parseMedia(one); name {
		case "text/event-stream":
			stream = weight
		case jsonType:
			json = weight
		case "application/*", "*/*":
			any = max(any, weight)
		}
	}
	if json < 0 {
		return stream > 0 && stream >= any
	}
	return stream > json
}

// parseMedia splits one element of an Accept header into media type and weight. It ignores other
// parameters.
func parseMedia(one []byte) (name string, weight float64) {
	media, parameters, _ := bytes.Cut(one, []byte(";"))
	weight = 1
	for parameter := range bytes.SplitSeq(parameters, []byte(";")) {
		key, value, _ := bytes.Cut(bytes.TrimSpace(parameter), []byte("="))
		if bytes.EqualFold(bytes.TrimSpace(key), []byte("q")) {
			given, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
			if err != nil || !(given >= 0 && given <= 1) {
				return "", 0
			}
			weight = given
		}
	}
	return string(bytes.ToLower(bytes.TrimSpace(media))), weight
}

var _ fasthttp.BodyWriterTo = (*live)(nil)
