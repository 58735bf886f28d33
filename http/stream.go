package http

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
)

const (
	// streamMemory is what a stream may hold while it is sent, in bytes. It is counted with the
	// bodies, so that slow readers together cannot fill the memory.
	streamMemory = 8 << 20
	// streamChunk is the size of a write in bytes.
	streamChunk = 32 << 10
)

// stream sends data while it is produced. It outlives its exchange and keeps nothing of it.
type stream struct {
	server    *Server
	conn      net.Conn
	requestID string
	operation string
	write     api.Stream
	as        coding
	open      bool
}

// stream begins to stream an answer. Errors: RATE_LIMITED where too much memory is in use.
func (x *exchange) stream(write api.Stream) error {
	s := &stream{
		server: x.server, conn: x.ctx.Conn(), requestID: x.call.RequestID,
		operation: x.operationName(), write: write, as: negotiate(x.headers.acceptEncoding),
	}
	if !x.server.budget.reserve(streamMemory) {
		return fault.New(fault.RateLimited, "Too many large answers at one time.").
			With("reason", "BODY_MEMORY").With("retry_after_seconds", 1)
	}
	s.open = true
	h := &x.ctx.Response.Header
	h.SetContentTypeBytes(jsonTypeBytes)
	h.SetCanonical(headerVary, varyCoding)
	if s.as != identity {
		h.SetCanonical(headerCoding, []byte(codingNames[s.as]))
	}
	x.sendStream(s)
	return nil
}

// SupportsBodyWriteTo makes fasthttp call WriteTo and never Read.
func (s *stream) SupportsBodyWriteTo() bool { return true }

// Read makes it a body; it always fails.
func (s *stream) Read([]byte) (int, error) { return 0, errors.New("http: a stream is written") }

// Close returns the memory to the budget. It is also called for a stream that never began.
func (s *stream) Close() error {
	if s.open {
		s.open = false
		s.server.budget.release(streamMemory)
	}
	return nil
}

// WriteTo sends the whole answer. An error leaves it incomplete and ends the connection.
func (s *stream) WriteTo(w io.Writer) (int64, error) {
	out := &deadlineWriter{w: w, conn: s.conn, timeout: s.server.cfg.WriteTimeout}
	err := s.send(out)
	if err != nil && out.err == nil {
		s.server.log.Error("response aborted", slog.String("request_id", s.requestID),
			slog.String("operation", s.operation), slog.Any("error", err))
	}
	return out.sent, err
}

func (s *stream) send(out io.Writer) error {
	chunks := bufio.NewWriterSize(out, streamChunk)
	body, end, err := s.coder(chunks)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(body, `{"ok":true,"data":`); err != nil {
		return err
	}
	if err := s.write(body); err != nil {
		return err
	}
	if _, err := io.WriteString(body,
		`,"meta":{"request_id":"`+s.requestID+`"}}`); err != nil {
		return err
	}
	return errors.Join(end(), chunks.Flush())
}

// coder is the writer for the data, and the function that ends its coding.
func (s *stream) coder(chunks *bufio.Writer) (body io.Writer, end func() error, err error) {
	switch s.as {
	case gzipCoding:
		w, err := gzip.NewWriterLevel(chunks, gzip.BestSpeed)
		return w, w.Close, err
	case zstdCoding:
		w, err := zstd.NewWriter(chunks, zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(512<<10), zstd.WithEncoderConcurrency(1))
		return w, w.Close, err
	case identity:
	}
	return chunks, func() error { return nil }, nil
}

// deadlineWriter writes to the connection. Each write has the time of a whole answer, so that a
// stream ends when its reader stalls and not because it is long.
type deadlineWriter struct {
	w       io.Writer
	conn    net.Conn
	timeout time.Duration
	sent    int64
	err     error
}

func (p *deadlineWriter) Write(data []byte) (int, error) {
	if p.timeout > 0 {
		p.err = p.conn.SetWriteDeadline(time.Now().Add(p.timeout))
	}
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.w.Write(data)
	p.sent, p.err = p.sent+int64(n), err
	return n, err
}

var _ fasthttp.BodyWriterTo = (*stream)(nil)
