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

// exchange is what the stages of one request share. It is pooled: nothing of it may be kept beyond
// the request but the strings of its target.
type exchange struct {
	server    *Server
	ctx       *fasthttp.RequestCtx
	headers   headers
	requestID [requestIDLen]byte
	// call is what the operation gets. Each stage adds what it has found.
	call api.Call
	// route is nil until the operation is known.
	route *route
	// ip, sessionID and the agent of the call are the caller that limits count.
	ip        netip.Addr
	sessionID id.ID
	rates     rateState
	// form is how the request is answered.
	form form
	// code is the error code of the answer, and reason which limit or queue refused the request.
	code, reason string
	// begun is the arrival of a request that waits for 100 Continue, or that cannot be read, which
	// the transport does not note. waited is the time that the request spent waiting: for events, a
	// slot, a turn or a delayed refusal. The access log leaves it out.
	begun  time.Time
	waited time.Duration
	// bodyRead says that the body was read to its end, and unreadable that the request cannot be.
	bodyRead, unreadable bool
	// mergePatch says that the body is a merge patch, which the operation takes.
	mergePatch bool
	// account is the memory that the request holds.
	account account
	// inflating is what the decoder of the body holds while the body is read, in bytes.
	inflating int64
	// computed is the expensive part of the request, nil if there is none.
	computed *computation
	// waitedPlace is how long it has waited for places in which texts become HTML.
	waitedPlace time.Duration
	// overLimit says that the request exceeds a rate limit, and cutOff that its connection is closed
	// for that, without waiting for the client.
	overLimit, cutOff bool
	// unused says that the request counts as a creation, and that it has created nothing so far.
	unused bool
	// writing is the permit of a write.
	writing permit
	// verbose says that the answer of a tool that writes has all members.
	verbose bool
	// carriedOut says that the request is a write that was carried out, so it is not refused.
	carriedOut bool
	// passed says that another member has passed the request on, and answered that another member has
	// answered it.
	passed, answered bool
	// input is what the caller sent, for the next call after a refusal.
	input input
	// message is what a request to the MCP endpoint says, and syntax why it is not strict JSON.
	message message
	syntax  error
	// large is memory of largeBodies for the body, nil if there is none.
	large *[]byte
	// The rest is memory of earlier requests: for query parameters, the body, a key among arguments,
	// the data of a tool's result, and temporary texts.
	params                   map[string]string
	body, key, data, scratch []byte
}

// form is how a request is answered.
type form uint8

const (
	// formEnvelope is a status with an envelope.
	formEnvelope form = iota
	// formRPC is a response of JSON-RPC.
	formRPC
	// formTool is a response of JSON-RPC in which most refusals are the result of a tool.
	formTool
)

var exchanges = sync.Pool{New: func() any {
	return &exchange{scratch: make([]byte, 0, 512)}
}}

// begin makes the exchange of a request with its ID, time and address.
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
		x.call.OnPages, x.passed = c.pages, c.passed
	}
	for key, value := range ctx.Request.Header.All() {
		x.headers.add(key, value)
	}
	x.call.PassedFromPages = x.passed && x.headers.pages
	if len(s.cfg.TrustedProxies) > 0 && s.trusts(x.ip) {
		s.forwarded(x)
	} else if x.headers.forwardeds > 0 || x.headers.forwarded {
		s.warnUntrusted(x)
	}
	return x
}

// release returns the exchange to the pool without its large buffers.
func (x *exchange) release() {
	x.account.close()
	x.giveLarge()
	clear(x.params)
	clear(x.call.Params)
	scratch := kept(x.scratch)
	if scratch == nil {
		scratch = make([]byte, 0, 512)
	}
	params := x.call.Params[:0]
	x.message.reset()
	*x = exchange{
		params: x.params, message: x.message, body: kept(x.body), key: kept(x.key),
		data: kept(x.data), scratch: scratch,
	}
	x.call.Params = params
	exchanges.Put(x)
}

// operation is nil until it is known.
func (x *exchange) operation() *api.Operation {
	if x.route == nil {
		return nil
	}
	return x.route.operation
}

func (x *exchange) operationName() string {
	if x.route == nil {
		return ""
	}
	return x.route.operation.Name
}

// kept is a buffer for the next request, nil where it is large.
func kept(buffer []byte) []byte {
	const keep = 64 << 10
	if cap(buffer) > keep {
		return nil
	}
	return buffer[:0]
}
