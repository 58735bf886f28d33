package http

import (
	"bytes"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

// handle answers one request, and writes the error of a stage. A request that is refused by its
// head alone does not come here (head.go).
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	x := s.begin(ctx)
	defer s.finish(x)
	if err := s.answer(x); err != nil {
		s.slowDown(x)
		x.refuse(err)
	}
	// The transport does the same, but only once it is told to stop.
	if s.draining.Load() {
		ctx.SetConnectionClose()
	}
}

// answer accepts a request and passes it to what is at its path.
func (s *Server) answer(x *exchange) error {
	if s.draining.Load() {
		return errStopping
	}
	at, err := x.accept()
	if err != nil {
		return err
	}
	if x.atMCP(at.path) {
		return s.answerMCP(x, at)
	}
	if string(x.ctx.Method()) == fasthttp.MethodOptions {
		return s.options(x, at)
	}
	if handler := s.raw[at.path]; handler != nil {
		return s.answerRaw(x, handler)
	}
	return s.answerOperation(x, at)
}

// answerOperation takes a request for an operation of the table through its stages.
func (s *Server) answerOperation(x *exchange, at target) error {
	found, err := s.route(x, at)
	if err != nil {
		return err
	}
	if err := s.checkPage(x); err != nil {
		return err
	}
	if s.passes(x, found.operation) {
		return s.passOperation(x, found)
	}
	denied := s.authenticate(x)
	if err := s.limit(x, denied); err != nil {
		return err
	}
	if err := s.checkSpent(x); err != nil {
		return err
	}
	in, err := x.read(found, at)
	x.input = in
	if err != nil {
		return err
	}
	if err := s.beginWork(x, len(in.body)); err != nil {
		return err
	}
	request, err := x.decode(found, &in)
	if err != nil {
		return err
	}
	reply, err := s.call(x, found, &in, request)
	if err != nil {
		return err
	}
	return x.write(&reply)
}

// answerRaw answers a request for a handler outside of the table.
func (s *Server) answerRaw(x *exchange, handler RawHandler) error {
	body, err := x.readBody(s.cfg.BodyMax)
	if err != nil {
		return err
	}
	handler(x.ctx, body)
	return nil
}

// accept checks the framing of a request and reads its target. Errors: VALIDATION_FAILED.
func (x *exchange) accept() (target, error) {
	// One copy holds both the target and the request ID.
	uri := x.ctx.Request.Header.RequestURI()
	x.scratch = append(append(x.scratch[:0], uri...), x.requestID[:]...)
	both := string(x.scratch)
	at := target{whole: both[:len(uri)]}
	x.call.RequestID, x.call.Target = both[len(uri):], at.whole
	if err := x.checkFraming(); err != nil {
		return at, err
	}
	if at.whole == "*" && string(x.ctx.Method()) == fasthttp.MethodOptions {
		return at, nil
	}
	var err error
	at.path, at.query, err = splitTarget(at.whole)
	return at, err
}

// route finds the operation of a request. A request without one counts for its address. Errors:
// ROUTE_NOT_FOUND, METHOD_NOT_ALLOWED.
func (s *Server) route(x *exchange, at target) (*route, error) {
	found, params := x.routes().find(x.ctx, at.path, x.call.Params)
	if found == nil {
		// The refusal by the route says more than that by a limit.
		_ = s.countUnrouted(x)
		return nil, x.routeFault(at.path)
	}
	x.call.Params = params
	x.enter(found)
	return found, nil
}

// enter notes the operation that a request has reached.
func (x *exchange) enter(found *route) {
	x.route = found
	x.call.Operation = found.operation
}

// authenticate finds the session of a request that sends a credential. Its error is passed to
// limit, because a refusal by a limit comes before it. Errors: VALIDATION_FAILED, SESSION_INVALID,
// SESSION_EXPIRED.
func (s *Server) authenticate(x *exchange) (denied error) {
	x.call.BeginRead()
	if x.isPage() {
		s.resolveCookie(x)
		x.readTheme()
		return nil
	}
	x.sessionID, denied = s.sessionOf(&x.headers, &x.call)
	return denied
}

// limit counts a request for its caller: an agent and its session, or else the address. Then it
// returns the error for an invalid credential, even if the operation needs none, or for a
// missing one if the operation needs it. Errors: RATE_LIMITED, AUTHENTICATION_REQUIRED, and
// those of authenticate.
func (s *Server) limit(x *exchange, denied error) error {
	if err := s.count(x); err != nil {
		return err
	}
	return x.checkCaller(denied)
}

// variant returns the operation of a route for the media type of the body.
func (x *exchange) variant(found *route) *api.Operation {
	if x.mergePatch {
		return found.operation.MergePatch
	}
	return found.operation
}

// decode makes the request of an operation. All faults of query, key and body are one error.
// Errors: VALIDATION_FAILED, INVALID_JSON, PAGINATION_LIMIT_INVALID, IDEMPOTENCY_KEY_REQUIRED,
// IDEMPOTENCY_KEY_INVALID, and what the operation adds.
func (x *exchange) decode(found *route, in *input) (request any, err error) {
	op := x.variant(found)
	request = op.NewRequest()
	var bodyFault error
	blank := op.BodyOptional && len(bytes.TrimSpace(in.body)) == 0
	if raw, ok := request.(*api.RawBody); ok {
		raw.Content = in.body
	} else if op.Method != fasthttp.MethodGet && !blank {
		bodyFault = jsonschema.Decode(in.body, request)
	}
	if in.queryFault == nil && in.keyFault == nil && bodyFault == nil {
		return request, nil
	}
	faults := []error{in.queryFault, in.keyFault, bodyFault}
	return nil, fault.Together(append(faults, op.Validate(&x.call, request)...)...)
}

// call runs an operation, and waits for a reply that is not ready. The session may have ended while
// the body came, which its sender decides, and while the request waited for its turn. Errors: those
// of the operation, SESSION_INVALID, and RATE_LIMITED if too many requests wait.
func (s *Server) call(
	x *exchange, found *route, in *input, request any,
) (api.Reply, error) {
	if found.operation.Method != fasthttp.MethodGet {
		if err := s.lives(&x.call); err != nil {
			return api.Reply{}, err
		}
		x.call.Idempotency = x.idempotencyKey(found, in)
	}
	reply, err := x.variant(found).Run(&x.call, request)
	x.carriedOut = err == nil && !reply.Replayed && found.operation.Writes()
	x.unused = x.unused && !x.carriedOut
	s.endWrite(x)
	if later, waits := reply.Data.(api.Deferred); waits && err == nil {
		return s.await(x, later)
	}
	return reply, err
}

// finish completes every answer, including that of a handler that panicked.
func (s *Server) finish(x *exchange) {
	if reason := recover(); reason != nil {
		s.log.Error("handler panicked", slog.String("request_id", string(x.requestID[:])),
			slog.String("operation", x.operationName()), slog.Any("panic", reason),
			slog.String("stack", string(debug.Stack())))
		x.ctx.Response.Reset()
		x.refuse(fault.New(fault.Internal, "panic"))
	}
	x.computed.pause()
	s.endWrite(x)
	if x.unused {
		s.giveBack(x)
	}
	h := &x.ctx.Response.Header
	h.SetCanonical(headerRequestID, x.requestID[:])
	h.SetCanonical(headerSniffing, noSniff)
	if !x.answered {
		s.writeRates(x)
	}
	s.allowOrigin(x)
	if c, tracked := x.ctx.Conn().(*conn); tracked {
		c.setLinger(!x.cutOff && (x.unreadable || x.hasBody() && !x.bodyRead))
	}
	begun := x.begun
	if begun.IsZero() {
		begun = x.ctx.Time()
	}
	elapsed := time.Since(begun) - x.waited
	s.logged(x, elapsed)
	if s.cfg.Observe != nil {
		s.cfg.Observe(x.observation(elapsed))
	}
	x.release()
}
