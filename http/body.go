package http

import (
	"bytes"
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

// framed reports whether the request has a body on the wire.
func (x *exchange) framed() bool {
	length := x.ctx.Request.Header.ContentLength()
	return length > 0 || length == -1
}

// judgeFraming refuses requests whose end could be seen in two ways, by this server and a proxy in
// front of it. Their connection is closed, for what follows may be part of them. Errors:
// VALIDATION_FAILED.
func (x *exchange) judgeFraming() error {
	h := &x.ctx.Request.Header
	raw := h.RawHeaders()
	field, problem := "", ""
	switch version := string(h.Protocol()); {
	case version != "HTTP/1.1" && version != "HTTP/1.0":
		field, problem = "request", "must be of HTTP/1.1 or HTTP/1.0"
	case version == "HTTP/1.0" && rawHas(raw, "transfer-encoding"):
		field, problem = "Transfer-Encoding", "must not be sent with HTTP/1.0"
	case bareLineFeed(raw):
		field, problem = "request", "must end its lines with CR LF"
	case (h.ContentLength() == -1 || h.ConnectionClose()) &&
		rawHas(raw, "content-length") && rawHas(raw, "transfer-encoding"):
		field, problem = "Transfer-Encoding", "must not be sent together with Content-Length"
	default:
		return nil
	}
	x.ctx.SetConnectionClose()
	return fault.Invalid(fault.Field{Field: field, Problem: problem})
}

// bareLineFeed reports whether a line of the head ends without a carriage return. Carriage returns
// that stand elsewhere have been refused, so counting tells.
func bareLineFeed(raw []byte) bool {
	return bytes.Count(raw, lineFeed) != bytes.Count(raw, carriageReturn)
}

var lineFeed, carriageReturn = []byte("\n"), []byte("\r")

// rawHas reports whether a header block has a line of this name, given in lower case.
func rawHas(raw []byte, name string) bool {
	for line := range bytes.Lines(raw) {
		if len(line) > len(name) && line[len(name)] == ':' &&
			bytes.EqualFold(line[:len(name)], []byte(name)) {
			return true
		}
	}
	return false
}

// judgeSize refuses a body that is declared larger than it may be. Errors: BODY_TOO_LARGE.
func (x *exchange) judgeSize() error {
	if limit := x.bodyLimit(); x.ctx.Request.Header.ContentLength() > limit {
		return x.tooLarge(limit)
	}
	return nil
}

// judgeType refuses a body that is no JSON by its headers. Errors: UNSUPPORTED_CONTENT_TYPE.
func (x *exchange) judgeType() error {
	if !x.framed() {
		return nil
	}
	if encoding := x.headers.contentEncoding; len(encoding) > 0 &&
		!bytes.EqualFold(encoding, []byte("identity")) {
		return fault.New(fault.UnsupportedContentType, "Request bodies are sent uncompressed.").
			With("content_type", "Content-Encoding: "+printable(string(encoding))).
			With("supported", []string{jsonType})
	}
	if given := x.ctx.Request.Header.ContentType(); !takesType(given) {
		return fault.New(fault.UnsupportedContentType, "Request bodies are JSON.").
			With("content_type", printable(string(given))).
			With("supported", []string{jsonType})
	}
	return nil
}

// bodyLimit is the largest body that the request may have, by its operation and its caller.
func (x *exchange) bodyLimit() int {
	if x.path == mcpPath && x.call.Agent.IsZero() {
		return min(x.route.bodyMax, strangerBody)
	}
	return x.route.bodyMax
}

// tooLarge refuses the body and ends the connection, for the rest of the body may be without end.
func (x *exchange) tooLarge(limit int) error {
	x.ctx.SetConnectionClose()
	return bodyTooLarge(limit)
}

const jsonType = "application/json"

// takesType reports whether a Content-Type is JSON in UTF-8; none is.
func takesType(given []byte) bool {
	media, parameters, _ := bytes.Cut(given, []byte(";"))
	media = bytes.TrimSpace(media)
	if len(media) == 0 && len(bytes.TrimSpace(parameters)) == 0 {
		return true
	}
	if !bytes.EqualFold(media, []byte(jsonType)) {
		return false
	}
	for one := range bytes.SplitSeq(parameters, []byte(";")) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(one), []byte("="))
		value = bytes.Trim(value, `"`)
		if bytes.EqualFold(name, []byte("charset")) && !bytes.EqualFold(value, []byte("utf-8")) {
			return false
		}
	}
	return true
}

func bodyTooLarge(limit int) error {
	return fault.New(fault.BodyTooLarge, "The request body is too large.").
		With("limit_bytes", limit)
}

// readBody reads the body into the exchange, at most as many bytes as the route takes. Errors:
// BODY_TOO_LARGE, REQUEST_TIMEOUT, RATE_LIMITED where too many large bodies are being read,
// VALIDATION_FAILED where the body ends early.
func (x *exchange) readBody(limit int) error {
	x.body = x.body[:0]
	stream := x.ctx.RequestBodyStream()
	if stream == nil || !x.framed() {
		return nil
	}
	if length := x.ctx.Request.Header.ContentLength(); length > 0 {
		if length > limit {
			return x.tooLarge(limit)
		}
		if err := x.growBody(length); err != nil {
			return err
		}
	}
	for {
		if len(x.body) > limit {
			return x.tooLarge(limit)
		}
		if len(x.body) == cap(x.body) {
			// One byte beyond the limit tells that there is more.
			if err := x.growBody(min(max(2*cap(x.body), 4<<10), limit+1)); err != nil {
				return err
			}
		}
		n, err := stream.Read(x.body[len(x.body):cap(x.body)])
		x.body = x.body[:len(x.body)+n]
		if err == io.EOF {
			return x.bodyWhole(limit)
		}
		if err != nil {
			return x.bodyBroken(err)
		}
	}
}

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
