package http

import (
	"errors"
	"io"
	"net"
	"sync/atomic"

	"pws/internal/fault"
)

// smallBody is what a request may hold without asking the budget.
const smallBody = 64 << 10

// budget bounds the bodies that are in memory at one time, over all connections.
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

// tooLarge refuses the body and ends the connection, for the rest of the body may be without end.
func (x *exchange) tooLarge(limit int) error {
	x.ctx.SetConnectionClose()
	return bodyTooLarge(limit)
}

func bodyTooLarge(limit int) error {
	return fault.New(fault.BodyTooLarge, "The request body is too large.").
		With("limit_bytes", limit)
}

// readBody reads the body into memory of the exchange, at most as many bytes as the limit says.
// Errors: BODY_TOO_LARGE, REQUEST_TIMEOUT, RATE_LIMITED where too many large bodies are being read,
// VALIDATION_FAILED where the body ends early.
func (x *exchange) readBody(limit int) ([]byte, error) {
	x.body = x.body[:0]
	stream := x.ctx.RequestBodyStream()
	if stream == nil || !x.framed() {
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
			// With one byte beyond the limit, a body that is too large shows.
			if err := x.growBody(min(max(2*cap(x.body), 4<<10), limit+1)); err != nil {
				return nil, err
			}
		}
		n, err := stream.Read(x.body[len(x.body):cap(x.body)])
		x.body = x.body[:len(x.body)+n]
		if err == io.EOF {
			return x.body, x.bodyWhole(limit)
		}
		if err != nil {
			return nil, x.bodyBroken(err)
		}
	}
}

// bodyWhole checks a body that was read to its end. Errors: BODY_TOO_LARGE, and VALIDATION_FAILED
// where the end came early.
func (x *exchange) bodyWhole(limit int) error {
	length := x.ctx.Request.Header.ContentLength()
	if length > len(x.body) || length < 0 && x.peerEnded() {
		return x.bodyBroken(io.ErrUnexpectedEOF)
	}
	if len(x.body) > limit {
		return x.tooLarge(limit)
	}
	x.bodyRead = true
	return nil
}

// peerEnded reports whether the peer ended its side BEFORE the request was complete. The end of a
// chunked body reads as the end of the connection does. Nothing is read beyond a complete body, so
// whoever has met the end of the connection by then has met it too early.
func (x *exchange) peerEnded() bool {
	peer, tracked := x.ctx.Conn().(*conn)
	return tracked && peer.ended
}

// growBody makes room for a body of that size.
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

// reserve takes memory out of the budget until the request is over. Errors: RATE_LIMITED.
func (x *exchange) reserve(size int64) error {
	if !x.server.budget.reserve(size) {
		return fault.New(fault.RateLimited, "Too many large requests at one time.").
			With("reason", "BODY_MEMORY").With("retry_after_seconds", 1)
	}
	x.reserved += size
	return nil
}

// bodyBroken is the refusal of a body that cannot be read to its end; the connection is of no use
// after that.
func (x *exchange) bodyBroken(err error) error {
	x.ctx.SetConnectionClose()
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return fault.New(fault.RequestTimeout, "The request did not arrive in time.")
	}
	return fault.Invalid(fault.Field{Field: "body", Problem: "ends early or is badly chunked"})
}
