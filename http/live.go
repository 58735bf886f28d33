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
	// liveUnsent is what the kernel keeps of a stream that is not read, in bytes.
	liveUnsent = 64 << 10
	// liveStart says how long clients wait BEFORE they come back, in milliseconds.
	liveStart = "retry: 2000\n\n"
	liveBeat  = ":\n\n"
)

var (
	streamType      = []byte("text/event-stream")
	headerBuffering = []byte("X-Accel-Buffering")
	unbuffered      = []byte("no")
	varyLive        = []byte("Accept-Encoding, Accept")
	// errReaderGone has words by which the transport knows that it is nothing to log.
	errReaderGone = fmt.Errorf("http: the reader of a stream: %w", io.ErrUnexpectedEOF)
	errStopping   = fault.New(fault.ShuttingDown, "The server is stopping.")
)

// live sends an answer that goes on. It outlives its exchange and keeps nothing of it. Between two
// writes it holds no buffer of its own. A reader that stands still is given up when a piece has not
// left in the time of a whole answer; it can go on behind the last record that it has got.
type live struct {
	server    *Server
	conn      net.Conn
	requestID string
	operation string
	data      api.Live
	leave     func()
	ended     bool
}

// live begins a stream of events. Errors: RATE_LIMITED where too many requests wait already.
func (x *exchange) live(data api.Live) error {
	leave, err := x.server.seats.take(x.call.Agent, x.ip)
	if err != nil {
		data.Stop()
		return err
	}
	x.server.seats.streams.Add(1)
	h := &x.ctx.Response.Header
	h.SetContentTypeBytes(streamType)
	h.SetCanonical(headerVary, varyLive)
	h.SetCanonical(headerBuffering, unbuffered)
	x.sendPieces(&live{
		server: x.server, conn: x.ctx.Conn(), requestID: x.call.RequestID,
		operation: x.operationName(), data: data, leave: leave,
	})
	return nil
}

// SupportsBodyWriteTo makes fasthttp use WriteTo, so that Read is for nobody.
func (l *live) SupportsBodyWriteTo() bool { return true }

// Read is what makes it a body.
func (l *live) Read([]byte) (int, error) { return 0, errors.New("http: a stream is written") }

// Close ends the waiting. The answer may have ended before it began.
func (l *live) Close() error {
	if !l.ended {
		l.ended = true
		l.data.Stop()
		l.server.seats.streams.Add(-1)
		l.leave()
	}
	return nil
}

// WriteTo sends until the reader or the server is at an end, or the data says so. What ends it is
// told in a comment; a reader that comes back learns it from the status.
func (l *live) WriteTo(w io.Writer) (int64, error) {
	out := &pieces{w: w, conn: l.conn, timeout: l.server.cfg.WriteTimeout}
	if peer, tracked := l.conn.(*conn); tracked {
		peer.setLive(true)
		defer peer.setLive(false)
		if small, ok := peer.Conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
			// Where the kernel keeps more, it only notices a reader that stands still later.
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
		l.server.seats.dropped.Add(1)
	case out.err != nil || errors.Is(err, errReaderGone):
	case errors.As(err, &refusal) && refusal.Code != fault.Internal:
		_, err = io.WriteString(out, ": "+string(refusal.Code)+"\n\n")
	default:
		l.server.log.Error("a stream was broken off", slog.String("request_id", l.requestID),
			slog.String("operation", l.operation), slog.Any("error", err))
	}
	return out.sent, err
}

// liveBuffers are shared by all streams, for few of them write at one time.
var liveBuffers = sync.Pool{New: func() any {
	buffer := make([]byte, 0, api.LiveChunk)
	return &buffer
}}

// send sends what comes. It always ends with an error.
func (l *live) send(out io.Writer) error {
	timer := time.NewTimer(l.server.cfg.lookAfter)
	defer timer.Stop()
	spoke := time.Now()
	for {
		spoken, err := l.piece(out)
		if err != nil {
			return err
		}
		if spoken {
			spoke = time.Now()
		}
		for again := true; again; {
			select {
			case <-l.data.Ready:
				again = false
			case <-l.server.stopping:
				return errStopping
			case <-timer.C:
				timer.Reset(l.server.cfg.lookAfter)
				beaten, err := l.idle(out, time.Since(spoke))
				if err != nil {
					return err
				}
				if beaten {
					spoke = time.Now()
				}
			}
		}
	}
}

// piece writes what has come since the piece before.
func (l *live) piece(out io.Writer) (spoken bool, err error) {
	buffer, ok := liveBuffers.Get().(*[]byte)
	if !ok {
		panic("http: foreign value in the pool")
	}
	// What was found BEFORE an error is sent.
	text, err := l.data.Look((*buffer)[:0])
	if len(text) > 0 {
		_, failed := out.Write(text)
		if failed != nil {
			err = failed
		}
	}
	if cap(text) <= 2*api.LiveChunk {
		*buffer = text
		liveBuffers.Put(buffer)
	}
	return len(text) > 0, err
}

// idle looks after a stream on which nothing comes: whether it has a reader still, and whether it
// may go on.
func (l *live) idle(out io.Writer, silence time.Duration) (beaten bool, err error) {
	if peer, tracked := l.conn.(*conn); tracked && peer.gone() {
		return false, errReaderGone
	}
	if silence < l.server.cfg.heartbeat {
		return false, nil
	}
	if err := l.data.Check(); err != nil {
		return false, err
	}
	_, err = io.WriteString(out, liveBeat)
	return true, err
}

// prefersStream reports whether an Accept names text/event-stream and likes it better than JSON, or
// as well as JSON that it does not name.
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

// parseMedia is one part of an Accept: a media type and its weight. Other parameters do not count.
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
