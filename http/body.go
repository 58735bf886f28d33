package http

import (
	"errors"
	"io"
	"net"
	"sync/atomic"

	"pws/internal/fault"
)

// smallBody is the size up to which a body is not counted in the budget, in bytes.
const smallBody = 64 << 10

// budget bounds the bodies in memory over all connections, in bytes.
type budget struct {
	max  int64
	used atomic.Int64
}

func (b *budget) reserve(n int64) bool {
	if b.used.Add(n) <= b.max {
		return true
	}
	b.used.Add(-n)
	return false
}

func (b *budget) release(n int64) {
	if n > 0 {
		b.used.Add(-n)
	}
}

// tooLarge refuses the body and closes the connection, because the rest may be endless.
func (x *exchange) tooLarge(limit int) error {
	x.ctx.SetConnectionClose()
	return bodyTooLarge(limit)
}

func bodyTooLarge(limit int) error {
	return fault.New(fault.BodyTooLarge, "The request body is too large.").
		With("limit_bytes", limit)
}

// readBody reads the body into memory of the exchange, at most limit bytes. Errors:
// BODY_TOO_LARGE, REQUEST_TIMEOUT, RATE_LIMITED if too many large bodies are being read,
// VALIDATION_FAILED if the body ends early.
func (x *exchange) readBody(limit int) ([]byte, error) {
	x.body = x.body[:0]
	stream := x.ctx.RequestBodyStream()
	if stream == nil || !x.hasBody() {
		return x.body, nil
	}
	if length := x.ctx.Request.Header.ContentLength(); length > 0 {
		if length > limit {
			return nil, x.tooLarge(limit)
		}
		if err := x.growBody(length); err != nil {
			return nil, err
		}
	}
	for {
		if len(x.body) > limit {
			return nil, x.tooLarge(limit)
		}
		if len(x.body) == cap(x.body) {
			// One byte more than the limit shows that a body is too large.
			if err := x.growBody(min(max(2*cap(x.body), 4<<10), limit+1)); err != nil {
				return nil, err
			}
		}
		n, err := stream.Read(x.body[len(x.body):cap(x.body)])
		x.body = x.body[:len(x.body)+n]
		if err == io.EOF {
			return x.body, x.finishBody(limit)
		}
		if err != nil {
			return nil, x.bodyFault(err)
		}
	}
}

// finishBody checks a body that was read to its end. Errors: BODY_TOO_LARGE, and
// VALIDATION_FAILED if the body ended early.
func (x *exchange) finishBody(limit int) error {
	length := x.ctx.Request.Header.ContentLength()
	if length > len(x.body) || length < 0 && x.peerEnded() {
		return x.bodyFault(io.ErrUnexpectedEOF)
	}
	if len(x.body) > limit {
		return x.tooLarge(limit)
	}
	x.bodyRead = true
	return nil
}

// peerEnded reports whether the input ended BEFORE the request was complete. A chunked body that is
// complete and one that is cut off both end with io.EOF. Nothing is read beyond a complete body, so
// a connection that has met the end of its input met it too early.
func (x *exchange) peerEnded() bool {
	peer, tracked := x.ctx.Conn().(*conn)
	return tracked && peer.ended
}

// growBody allocates memory for a body of that size. Errors: RATE_LIMITED.
func (x *exchange) growBody(size int) error {
	if size <= cap(x.body) {
		return nil
	}
	if more := int64(size) - x.reserved; size > smallBody && more > 0 {
		if err := x.reserve(more); err != nil {
			return err
		}
	}
	grown := make([]byte, len(x.body), size)
	copy(grown, x.body)
	x.body = grown
	return nil
}

// reserve takes bytes out of the budget until the request ends. Errors: RATE_LIMITED.
func (x *exchange) reserve(size int64) error {
	if !x.server.budget.reserve(size) {
		return fault.New(fault.RateLimited, "Too many large requests at one time.").
			With("reason", "BODY_MEMORY").With("retry_after_seconds", 1)
	}
	x.reserved += size
	return nil
}

// bodyFault returns the error for a body that cannot be read to its end. The connection cannot
// be used after that.
func (x *exchange) bodyFault(err error) error {
	x.ctx.SetConnectionClose()
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return fault.New(fault.RequestTimeout, "The request did not arrive in time.")
	}
	return fault.Invalid(fault.Field{Field: "body", Problem: "ends early or is badly chunked"})
}
