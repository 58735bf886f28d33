package http

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"

	"github.com/klauspost/compress/zstd"

	"pws/api"
)

const (
	// streamMemory is what an operation that streams may hold while it is sent, in bytes: one content
	// and the record or the part of the content that is being written.
	streamMemory = 3 << 20
	// coderMemory is about what a coder holds, in bytes.
	coderMemory = 2 << 20
	// streamChunk is the size of a write in bytes.
	streamChunk = 32 << 10
)

// stream sends data while it is produced. It outlives its exchange and keeps nothing of it but the
// account.
type stream struct {
	server    *Server
	conn      net.Conn
	requestID string
	operation string
	// write writes the body.
	write api.Stream
	as    coding
	// computed is the expensive part of the request, nil if there is none.
	computed *computation
	// account is what the answer holds until it is sent or cannot be sent.
	account account
}

// stream begins to stream the data of an answer. Errors: RATE_LIMITED where too much memory is in
// use.
func (x *exchange) stream(data api.Stream) error {
	return x.sendPieces(streamMemory, x.enveloped(data))
}

// enveloped writes data in its envelope. It keeps nothing of the exchange.
func (x *exchange) enveloped(data api.Stream) api.Stream {
	end := `,"meta":{"request_id":"` + x.call.RequestID + `"}}`
	return func(w io.Writer) error {
		if _, err := io.WriteString(w, `{"ok":true,"data":`); err != nil {
			return err
		}
		if err := data(w); err != nil {
			return err
		}
		_, err := io.WriteString(w, end)
		return err
	}
}

// sendPieces sends a body of unknown length piece by piece. Beside what the request holds already,
// that many bytes are held while it is written. Errors: RATE_LIMITED.
func (x *exchange) sendPieces(bytes int64, write api.Stream) error {
	as := negotiate(x.headers.acceptEncoding)
	if as != identity {
		bytes += coderMemory
	}
	h := &x.ctx.Response.Header
	h.SetContentTypeBytes(jsonTypeBytes)
	h.SetCanonical(headerVary, varyCoding)
	if err := x.sendCoded(as, bytes, write); err != nil {
		return err
	}
	if as != identity {
		h.SetCanonical(headerCoding, []byte(codingNames[as]))
	}
	return nil
}

// sendCoded is sendPieces with a coding. Errors: RATE_LIMITED.
func (x *exchange) sendCoded(as coding, bytes int64, write api.Stream) error {
	if err := x.growAnswer(x.heldMemory().bytes + bytes + streamChunk); err != nil {
		return err
	}
	x.sendStream(x.newStream(as, write))
	return nil
}

// newStream is a stream that takes over the account of the exchange.
func (x *exchange) newStream(as coding, write api.Stream) *stream {
	return &stream{
		server: x.server, conn: x.ctx.Conn(), requestID: x.call.RequestID,
		operation: x.operationName(), write: write, as: as, account: x.handOver(),
		computed: x.computed,
	}
}

// SupportsBodyWriteTo makes fasthttp call WriteTo and never Read.
func (s *stream) SupportsBodyWriteTo() bool { return true }

// Read makes it a body; it always fails.
func (s *stream) Read([]byte) (int, error) { return 0, errors.New("http: a stream is written") }

// Close gives back the memory. It is also called for a stream that never began.
func (s *stream) Close() error {
	s.account.close()
	return nil
}

// WriteTo sends the whole answer. An error leaves it incomplete and ends the connection.
func (s *stream) WriteTo(w io.Writer) (int64, error) {
	if peer, tracked := s.conn.(*conn); tracked {
		peer.limitUnsent()
	}
	out := &pacedWriter{w: w, conn: s.conn, pace: s.server.newPace(s.server.cfg.WriteTimeout)}
	err := s.produce(out)
	if err != nil && out.err == nil {
		s.server.log.Error("response aborted", slog.String("request_id", s.requestID),
			slog.String("operation", s.operation), slog.Any("error", err))
	}
	return out.sent, err
}

// produce makes and sends the answer. What is expensive is made in slots.
func (s *stream) produce(out io.Writer) error {
	if s.computed == nil {
		return s.send(out)
	}
	s.computed.resume()
	defer s.computed.pause()
	return s.send(&slicedWriter{w: out, of: s.computed})
}

func (s *stream) send(out io.Writer) error {
	chunks := bufio.NewWriterSize(out, streamChunk)
	pool := s.as.coders()
	if pool == nil {
		if err := s.write(chunks); err != nil {
			return err
		}
		return chunks.Flush()
	}
	coder, ok := pool.Get().(encoder)
	if !ok {
		panic("http: foreign value in the pool")
	}
	coder.Reset(chunks)
	if err := s.write(coder); err != nil {
		// A coder in the middle of an answer is not used again.
		return err
	}
	err := errors.Join(coder.Close(), chunks.Flush())
	coder.Reset(nil)
	pool.Put(coder)
	return err
}

// encoder is a coder that can be used again.
type encoder interface {
	io.WriteCloser
	Reset(w io.Writer)
}

var zstds = sync.Pool{New: func() any {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(512<<10), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return w
}}

// coders is the pool of the coders of a coding, nil for identity.
func (as coding) coders() *sync.Pool {
	switch as {
	case gzipCoding:
		return &gzips
	case zstdCoding:
		return &zstds
	case identity:
	}
	return nil
}
