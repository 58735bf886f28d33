package http

import (
	"errors"
	"io"
	"net"

	"pws/internal/fault"
)

// tooLarge refuses the body and closes the connection, because the rest may be endless.
func (x *exchange) tooLarge(limit int) error {
	x.ctx.SetConnectionClose()
	return bodyTooLarge(limit)
}

func bodyTooLarge(limit int) error {
	return fault.New(fault.BodyTooLarge, "The request body is too large.").
		With("limit_bytes", limit)
}

// readBody reads the body into memory of the exchange, without its content coding. The limit is for
// the bytes that arrive and for what they inflate to. Errors: BODY_TOO_LARGE, REQUEST_TIMEOUT,
// RATE_LIMITED if too many large bodies are being read, UNSUPPORTED_CONTENT_TYPE for an unknown
// coding, VALIDATION_FAILED if the body ends early or is damaged.
func (x *exchange) readBody(limit int) ([]byte, error) {
	x.body = x.body[:0]
	stream := x.ctx.RequestBodyStream()
	if stream == nil || !x.hasBody() {
		return x.body, nil
	}
	length := x.ctx.Request.Header.ContentLength()
	if length > limit {
		return nil, x.tooLarge(limit)
	}
	if peer, tracked := x.ctx.Conn().(*conn); tracked && (length < 0 || length > smallBody) {
		stream = &pacedReader{
			r: stream, conn: peer, pace: x.server.newPace(0), end: peer.readBy,
			bulk: throttle{rate: bodyRate},
		}
	}
	if len(x.headers.contentEncoding) > 0 {
		as, err := x.bodyCoding()
		if err != nil {
			return nil, err
		}
		if as != identity {
			return x.readCoded(stream, as, limit)
		}
	}
	for {
		done, err := x.readPart(stream, length, limit)
		switch {
		case err == errBodyTooLarge:
			return nil, x.tooLarge(limit)
		case err != nil:
			return nil, x.bodyFault(err)
		case done:
			return x.body, x.finishBody(len(x.body), limit)
		}
	}
}

var errBodyTooLarge = errors.New("http: the body is too large")

// readPart reads more of the body, whose declared length is negative if it is unknown, and reports
// whether that was its end. Errors: RATE_LIMITED, errBodyTooLarge, and those of the reader.
func (x *exchange) readPart(from io.Reader, length, limit int) (done bool, err error) {
	if len(x.body) > limit {
		return false, errBodyTooLarge
	}
	if len(x.body) == cap(x.body) {
		if err := x.growBody(nextSize(cap(x.body), length, limit)); err != nil {
			return false, err
		}
	}
	n, err := from.Read(x.body[len(x.body):cap(x.body)])
	x.body = x.body[:len(x.body)+n]
	if err == io.EOF {
		return true, nil
	}
	return false, err
}

// finishBody checks a body that was read to its end, of which that many bytes have arrived. Errors:
// BODY_TOO_LARGE, and VALIDATION_FAILED if the body ended early.
func (x *exchange) finishBody(arrived, limit int) error {
	length := x.ctx.Request.Header.ContentLength()
	if length > arrived || length < 0 && x.peerEnded() {
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

// nextSize is the size of the memory for more of a body. The declared length is negative if it is
// unknown. A large one is not believed: the memory is at most twice what has arrived.
func nextSize(size, length, limit int) int {
	if length < 0 {
		// One byte more than the limit shows that a body is too large.
		return min(max(2*size, 4<<10), limit+1)
	}
	return min(max(2*size, smallBody), length)
}

// growBody allocates memory for a body of that size. Errors: RATE_LIMITED.
func (x *exchange) growBody(size int) error {
	if size <= cap(x.body) {
		return nil
	}
	if size > smallBody {
		if err := x.heldMemory().growTo(int64(size) + x.inflating); err != nil {
			return err
		}
	}
	grown := make([]byte, len(x.body), size)
	copy(grown, x.body)
	x.body = grown
	return nil
}

// bodyFault returns the error for a body that cannot be read to its end. The connection cannot
// be used after that, unless it is refused for the memory.
func (x *exchange) bodyFault(err error) error {
	if _, known := err.(*fault.Error); known {
		return err
	}
	x.ctx.SetConnectionClose()
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return fault.New(fault.RequestTimeout, "The request did not arrive in time.")
	}
	return fault.Invalid(fault.Field{Field: "body", Problem: "ends early or is badly chunked"})
}
