package http

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/id"
)

// requestIDLen is the size of "req_" and a ULID.
const requestIDLen = 30

// exchange is one request on its way through the server. It is pooled: nothing of it may be kept
// beyond the request but the strings of its target.
type exchange struct {
	server *Server
	ctx    *fasthttp.RequestCtx
	call   api.Call
	route  *route
	// leaf are the routes of the pattern that the router found.
	leaf []*route
	// target is the one copy of the request target; path and query are parts of it.
	target, path, query string
	headers             headers
	requestID           [requestIDLen]byte
	ip                  netip.Addr
	sessionID           id.ID
	standing            standing
	// code is the error code of the answer, and reason which limit or queue refused the request.
	code, reason string
	params       map[string]string
	body         []byte
	// begun is when the head of a request that waits for 100 Continue was looked at; the transport
	// does not note the time of such a request. waited is the part of its time that it spent waiting
	// for others.
	begun  time.Time
	waited time.Duration
	// bodyRead says that the body has been read to its end, and cut that the request cannot be.
	bodyRead, cut bool
	reserved      int64
	scratch       []byte
	// message is what a request to the MCP endpoint says, made the body that was made of it, and data
	// the answer that goes into its result.
	message    message
	made, data []byte
}

// headers are the request headers that the server reads, as they stand in the request's memory.
type headers struct {
	authorization, idempotencyKey, ifMatch, ifNoneMatch, acceptEncoding   []byte
	contentEncoding, origin, forwardedFor, forwardedProto                 []byte
	preflightMethod                                                       []byte
	accept, lastEventID, protocol, method, name                           []byte
	authorizations, idempotencyKeys, ifMatches, ifNoneMatches, forwardeds int
	protocols, methods, names                                             int
	// others counts the headers of MCP that are none of these.
	others int
}

// exchangeKey is where a request context carries its exchange.
type exchangeKey struct{}

// userKey is made once, so that setting it allocates nothing.
var userKey any = exchangeKey{}

func exchangeOf(ctx *fasthttp.RequestCtx) *exchange {
	x, ok := ctx.UserValue(userKey).(*exchange)
	if !ok {
		panic("http: a request without an exchange")
	}
	return x
}

var exchanges = sync.Pool{New: func() any {
	return &exchange{scratch: make([]byte, 0, 512)}
}}

// begin makes the exchange of a request; it has an identity, a time and an address from then on.
func (s *Server) begin(ctx *fasthttp.RequestCtx) *exchange {
	x, ok := exchanges.Get().(*exchange)
	if !ok {
		panic("http: foreign value in the pool")
	}
	x.server, x.ctx = s, ctx
	x.call.Service = s.service
	x.call.Now = s.now()
	x.call.Meter = x
	// The id is unique by its 80 random bits; the generator is seeded by the system.
	var entropy [10]byte
	high, low := rand.Uint64(), rand.Uint64()
	for i := range 8 {
		entropy[i] = byte(high >> (8 * i))
	}
	entropy[8], entropy[9] = byte(low), byte(low>>8)
	id.New(x.call.Now, entropy).Append(x.requestID[:0], id.Request)
	if c, tracked := ctx.Conn().(*conn); tracked {
		x.ip = c.ip
	}
	for key, value := range ctx.Request.Header.All() {
		x.header(key, value)
	}
	if len(s.cfg.TrustedProxies) > 0 && s.trusts(x.ip) {
		s.forwarded(x)
	}
	return x
}

// release gives the exchange back. Large buffers are left to the collector.
func (x *exchange) release() {
	x.server.budget.release(x.reserved)
	clear(x.params)
	clear(x.call.Params)
	params, query, body, scratch := x.call.Params[:0], x.params, kept(x.body), kept(x.scratch)
	if scratch == nil {
		scratch = make([]byte, 0, 512)
	}
	x.message.reset()
	*x = exchange{
		params: query, body: body, scratch: scratch, message: x.message,
		made: kept(x.made), data: kept(x.data),
	}
	x.call.Params = params
	exchanges.Put(x)
}

// kept is a buffer to use again, nil where it is large.
func kept(buffer []byte) []byte {
	const keep = 64 << 10
	if cap(buffer) > keep {
		return nil
	}
	return buffer[:0]
}

// header notes one request header; names come in their canonical form.
func (x *exchange) header(key, value []byte) {
	h := &x.headers
	switch string(key) {
	case fasthttp.HeaderAuthorization:
		h.authorization = value
		h.authorizations++
	case "Idempotency-Key":
		h.idempotencyKey = value
		h.idempotencyKeys++
	case fasthttp.HeaderIfMatch:
		h.ifMatch = joinList(h.ifMatch, value, &h.ifMatches)
	case fasthttp.HeaderIfNoneMatch:
		h.ifNoneMatch = joinList(h.ifNoneMatch, value, &h.ifNoneMatches)
	case fasthttp.HeaderAccept:
		h.accept = joinList(h.accept, value, nil)
	case "Last-Event-Id":
		h.lastEventID = value
	case "Mcp-Protocol-Version":
		h.protocol = value
		h.protocols++
	case "Mcp-Method":
		h.method = value
		h.methods++
	case "Mcp-Name":
		h.name = value
		h.names++
	case fasthttp.HeaderAcceptEncoding:
		h.acceptEncoding = joinList(h.acceptEncoding, value, nil)
	case fasthttp.HeaderContentEncoding:
		h.contentEncoding = joinList(h.contentEncoding, value, nil)
	case fasthttp.HeaderOrigin:
		h.origin = value
	case fasthttp.HeaderXForwardedFor:
		h.forwardedFor = joinList(h.forwardedFor, value, &h.forwardeds)
	case fasthttp.HeaderXForwardedProto:
		h.forwardedProto = joinList(h.forwardedProto, value, nil)
	case fasthttp.HeaderAccessControlRequestMethod:
		h.preflightMethod = value
	default:
		if len(key) > len(mcpHeaders) && string(key[:len(mcpHeaders)]) == mcpHeaders {
			h.others++
		}
	}
}

// joinList makes one list of a header that may be sent in several lines.
func joinList(have, value []byte, count *int) []byte {
	if count != nil {
		*count++
	}
	if len(have) == 0 {
		return value
	}
	joined := append(append([]byte{}, have...), ", "...)
	return append(joined, value...)
}
