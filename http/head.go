package http

import (
	"time"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
)

// unroutedBody is the largest body of a request that reaches no operation.
const unroutedBody = 64 << 10

// headReceived looks at the head of a request BEFORE anything of its body is read. The transport
// reads the beginning of a body before its handler runs, so a client that declares more than it may
// send, and waits, would not be answered. Such a request is made one that waits for 100 Continue,
// which is judged by its head; expect refuses it by the same limit, so it is never told to go on.
func (s *Server) headReceived(h *fasthttp.RequestHeader) (defaults fasthttp.RequestConfig) {
	if length := h.ContentLength(); length <= s.routes.bodyLeast || length <= s.declaredMax(h) {
		return defaults
	}
	if string(h.Protocol()) == "HTTP/1.0" {
		// There is no waiting in HTTP/1.0. The answer is one that its clients can read.
		h.SetProtocol("HTTP/1.1")
	}
	h.Set(fasthttp.HeaderExpect, "100-continue")
	return defaults
}

// declaredMax is the largest body that a request may declare, by its head alone.
func (s *Server) declaredMax(h *fasthttp.RequestHeader) int {
	if string(h.Method()) == fasthttp.MethodOptions {
		return unroutedBody
	}
	path, _, err := judgeTarget(string(h.RequestURI()))
	switch {
	case err != nil:
		return 0
	case path == mcpPath && s.strange(h):
		return min(s.cfg.BodyMax, strangerBody)
	case path == mcpPath || s.raw[path] != nil:
		return s.cfg.BodyMax
	}
	if found := s.routes.best(string(h.Method()), path); found != nil {
		return found.bodyMax
	}
	return 0
}

// strange reports whether a request comes without a valid credential.
func (s *Server) strange(h *fasthttp.RequestHeader) bool {
	x := exchange{server: s}
	x.call.Service, x.call.Now = s.service, s.now()
	for key, value := range h.All() {
		x.header(key, value)
	}
	return x.headers.authorizations == 0 || s.authenticate(&x) != nil
}

// expect answers the heads of requests that wait for 100 Continue. What the head refuses already is
// refused without the body; the rest passes all checks again when the body is there.
func (s *Server) expect(ctx *fasthttp.RequestCtx) int {
	x := s.begin(ctx)
	x.begun = time.Now()
	err := s.foresee(x)
	if err == nil {
		x.release()
		return fasthttp.StatusContinue
	}
	defer s.finish(x)
	x.cut = true
	if limited := s.limiter.charge(x, s.limiter.of(x)); limited != nil && x.route != nil {
		err = limited
	}
	x.refuse(err)
	return ctx.Response.StatusCode()
}

// foresee finds the refusal of a head. A request that it refuses is counted by its caller; one that
// it lets pass is counted when its body is there.
func (s *Server) foresee(x *exchange) error {
	if s.draining.Load() {
		return fault.New(fault.ShuttingDown, "The server is stopping.")
	}
	if err := x.open(); err != nil {
		return err
	}
	length := x.ctx.Request.Header.ContentLength()
	method := string(x.ctx.Method())
	switch {
	case method == fasthttp.MethodOptions:
		if length > unroutedBody {
			return x.tooLarge(unroutedBody)
		}
		return nil
	case x.path == mcpPath:
		return s.foreseeMCP(x)
	case s.raw[x.path] != nil:
		if length > s.cfg.BodyMax {
			return x.tooLarge(s.cfg.BodyMax)
		}
		return nil
	}
	found := s.routes.search(method, x)
	if found == nil {
		return s.routeFault(x)
	}
	x.route = found
	if x.headers.authorizations > 0 {
		if err := s.authenticate(x); err != nil {
			return err
		}
	} else if found.operation.Auth == api.Bearer {
		return needsBearer()
	}
	return x.judgeHead()
}

// judgeHead refuses what the head of a request says already: a body that is too large by itself, or
// all faults of the form. Errors: those of judgeSize, parseQuery, judgeKey and judgeType.
func (x *exchange) judgeHead() error {
	if err := x.judgeSize(); err != nil {
		return err
	}
	query, key := x.parseQuery(), x.judgeKey()
	if x.route.operation.Method == fasthttp.MethodGet {
		return fault.Together(query, key)
	}
	return fault.Together(query, key, x.judgeType())
}
