package http

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
)

// Group is the servers that are one service together, as one of them sees them. Each answers reads.
// One of them, the leader, answers writes; the others pass them on to it.
type Group interface {
	// Leads reports whether this server is the leader.
	Leads() bool
	// Leader is the number of the leader, which may be this server; 0 while none is known.
	Leader() uint64
	// Dial opens a connection to a member, this one included, that ends at its ServePassed.
	Dial(ctx context.Context, member uint64) (net.Conn, error)
}

const (
	// leaderWait is how long a request waits for a leader. An election takes about a second.
	leaderWait = 5 * time.Second
	// leaderCheck is how often somebody who waits asks who the leader is.
	leaderCheck = 25 * time.Millisecond
	// passedTime bounds the answer of a leader.
	passedTime = 2 * time.Minute
	// passedAnswerMax bounds the size of such an answer, in bytes.
	passedAnswerMax = 64 << 20
)

// headerOutcome is a header of answers to requests that were passed on. It says that the leader did
// not carry out the request, or does not know: outcomeNothing, outcomeUnknown. Clients do not see
// it.
const headerOutcome = "Pws-Outcome"

// headerPages is a header of requests that are passed on. It says that the request came to the
// address of the pages, which challenges name. What clients send is not passed on, and is ignored.
const headerPages = "Pws-Pages"

const (
	outcomeNothing = "nothing"
	outcomeUnknown = "unknown"
)

// passes reports whether a request for an operation is passed on to the leader. One that was passed
// on is not passed on again: whoever has passed it on looks for the leader.
func (s *Server) passes(x *exchange, op *api.Operation) bool {
	return s.cfg.Group != nil && !x.passed && (op.Writes() || op.OnLeader) && !s.cfg.Group.Leads()
}

// passOperation reads the body of a request and passes it on. Errors: those of checkSize, readBody
// and pass.
func (s *Server) passOperation(x *exchange, found *route) error {
	if err := x.checkSize(found.bodyMax); err != nil {
		return err
	}
	body, err := x.readBody(found.bodyMax)
	if err != nil {
		return err
	}
	return s.pass(x, body)
}

// passesMessage reports whether a message of MCP is passed on: one that calls a tool whose
// operation is. It notes the operation.
func (s *Server) passesMessage(x *exchange) bool {
	m := &x.message
	if !m.hasID || !m.isRequest() || string(m.method) != "tools/call" {
		return false
	}
	called := s.mcp.tools[string(m.name)]
	if called == nil || !s.passes(x, called.Operation) {
		return false
	}
	x.enter(called.route)
	for i := range m.arguments {
		declared := called.byName[string(m.arguments[i].name)]
		if declared != nil && declared.Place == api.InKey {
			x.headers.idempotencyKeys++
		}
	}
	return true
}

// pass has the leader answer a request with this body. It follows the leadership for leaderWait. A
// request of which it is unknown whether it took effect is sent again only if it has an
// Idempotency-Key, or changes nothing. Errors: RATE_LIMITED, SHUTTING_DOWN, STORAGE_UNAVAILABLE.
func (s *Server) pass(x *exchange, body []byte) error {
	if err := s.beginWrite(x); err != nil {
		return err
	}
	p := passing{
		x: x, group: s.cfg.Group, lines: &s.lines, begun: time.Now(),
		repeatable: repeatable(x),
	}
	p.fill(body)
	defer fasthttp.ReleaseRequest(p.request)
	for {
		if leader := p.group.Leader(); leader != 0 {
			if answer := p.ask(leader); answer != nil {
				x.takeAnswer(answer)
				return nil
			}
		}
		if p.sent && !p.repeatable {
			return api.ErrOutcomeUnknown()
		}
		switch {
		case time.Since(p.begun) < s.cfg.leaderWait:
		case p.sent:
			return api.ErrOutcomeUnknown()
		default:
			return errNoLeader()
		}
		select {
		case <-s.stopping:
			if p.sent {
				return api.ErrOutcomeUnknown()
			}
			return errStopping
		case <-s.cfg.after(leaderCheck):
		}
	}
}

// repeatable reports whether a request may be sent again of which it is unknown whether it took
// effect.
func repeatable(x *exchange) bool {
	op := x.route.operation
	return !op.Writes() || x.headers.idempotencyKeys > 0 && op.Idempotency != api.NoKey
}

func errNoLeader() error {
	return fault.New(fault.StorageUnavailable, "No server accepts writes now; nothing was changed.").
		With("reason", api.ReasonNotLeading).With("retry_after_seconds", 1)
}

// passing is a request that is passed on.
type passing struct {
	x          *exchange
	group      Group
	lines      *lines
	request    *fasthttp.Request
	begun      time.Time
	repeatable bool
	// sent says that some try may have taken effect: a leader may have got it, and has not said that
	// nothing was done.
	sent bool
}

// hopHeaders are request headers that are about one connection or one form of the body.
var hopHeaders = []string{
	fasthttp.HeaderConnection, "Keep-Alive", fasthttp.HeaderTE, fasthttp.HeaderTrailer,
	fasthttp.HeaderUpgrade, "Proxy-Connection", fasthttp.HeaderExpect, fasthttp.HeaderForwarded,
	fasthttp.HeaderTransferEncoding, fasthttp.HeaderContentEncoding, fasthttp.HeaderXForwardedFor,
	fasthttp.HeaderXForwardedProto, headerOutcome, headerPages,
}

// fill makes the request that is sent. The leader learns the address of the client and whether it
// uses https as from a trusted proxy, and which address the request came to.
func (p *passing) fill(body []byte) {
	p.request = fasthttp.AcquireRequest()
	h := &p.request.Header
	p.x.ctx.Request.Header.CopyTo(h)
	for _, name := range hopHeaders {
		h.Del(name)
	}
	h.ResetConnectionClose()
	h.SetNoDefaultContentType(true)
	h.SetProtocol("HTTP/1.1")
	if len(h.Host()) == 0 {
		h.SetHost("localhost")
	}
	h.Set(fasthttp.HeaderXForwardedFor, p.x.ip.String())
	if p.x.call.Secure {
		h.Set(fasthttp.HeaderXForwardedProto, "https")
	}
	if p.x.call.OnPages {
		h.Set(headerPages, "1")
	}
	p.request.SetBodyRaw(body)
}

// ask sends the request to a leader and returns its answer, nil if there is none for the client;
// sent then says whether the request may have taken effect.
func (p *passing) ask(leader uint64) *fasthttp.Response {
	line, err := p.lines.take(p.group, leader)
	if err != nil {
		return nil
	}
	answer, begun, err := line.roundTrip(p.request, func() bool {
		now := p.group.Leader()
		return now == leader || now == 0 && time.Since(p.begun) < p.x.server.cfg.leaderWait
	})
	if err != nil {
		p.lines.drop(line)
		p.sent = p.sent || begun
		return nil
	}
	p.lines.giveBack(line, answer.ConnectionClose())
	switch said := string(answer.Header.Peek(headerOutcome)); said {
	case outcomeNothing, outcomeUnknown:
		fasthttp.ReleaseResponse(answer)
		p.sent = p.sent || said == outcomeUnknown
		return nil
	}
	return answer
}

// takeAnswer answers with what the leader has answered, its request ID and limits included.
func (x *exchange) takeAnswer(answer *fasthttp.Response) {
	defer fasthttp.ReleaseResponse(answer)
	x.answered = true
	if sent := answer.Header.PeekBytes(headerRequestID); len(sent) == requestIDLen {
		copy(x.requestID[:], sent)
	}
	answer.Header.ResetConnectionClose()
	answer.Header.Del(headerOutcome)
	answer.Header.CopyTo(&x.ctx.Response.Header)
	x.setMemoryBody(bytes.Clone(answer.Body()))
}

// noteOutcome tells whoever has passed a request on what a refusal means for it.
func (x *exchange) noteOutcome(code fault.Code, reason any) {
	if !x.passed {
		return
	}
	stored := code == fault.StorageUnavailable
	switch {
	case code == fault.ShuttingDown, stored && reason == api.ReasonNotLeading:
		x.ctx.Response.Header.Set(headerOutcome, outcomeNothing)
	case stored && reason == api.ReasonOutcomeUnknown:
		x.ctx.Response.Header.Set(headerOutcome, outcomeUnknown)
	}
}

// ServePassed is Serve for a listener of requests that other members pass on. Their addresses are
// in a network, which is trusted as a proxy is.
func (s *Server) ServePassed(ln net.Listener) error {
	return s.serve(&listener{Listener: ln, passed: true})
}

// trustPassed adds the network that the connections of members come from to the trusted proxies.
func (c *Config) trustPassed() {
	if c.Group != nil {
		c.TrustedProxies = append(c.TrustedProxies[:len(c.TrustedProxies):len(c.TrustedProxies)],
			netip.MustParsePrefix(c.PassedFrom))
	}
}
