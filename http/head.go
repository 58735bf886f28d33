package http

import (
	"time"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
)

// unroutedBody is the largest body of a request that reaches no operation.
const unroutedBody = 64 << 10

// headReceived reads the head of a request BEFORE any of its body is read. The transport reads the
// beginning of a body before it calls the handler, so a client that declares too large a body and
// waits would get no answer. Such a request is turned into one that waits for 100 Continue, which
// expect refuses by the same limit.
func (s *Server) headReceived(h *fasthttp.RequestHeader) (defaults fasthttp.RequestConfig) {
	if length := h.ContentLength(); length <= s.routes.bodyLeast || length <= s.declaredMax(h) {
		return defaults
	}
	if string(h.Protocol()) == "HTTP/1.0" {
		// HTTP/1.0 has no 100 Continue. Its clients can read the answer of HTTP/1.1.
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
	path, _, err := splitTarget(string(h.RequestURI()))
	switch {
	case err != nil:
		return 0
	case path == mcpPath:
		return s.messageMax(s.isAnonymous(h), h.Peek("Mcp-Name"))
	case s.raw[path] != nil:
		return s.cfg.BodyMax
	}
	if found := s.routes.best(string(h.Method()), path); found != nil {
		return found.bodyMax
	}
	return 0
}

// isAnonymous reports whether a request has no valid credential.
func (s *Server) isAnonymous(h *fasthttp.RequestHeader) bool {
	var sent headers
	for key, value := range h.All() {
		sent.add(key, value)
	}
	call := api.Call{Service: s.service, Now: s.now()}
	_, err := s.sessionOf(&sent, &call)
	return err != nil || call.Agent.IsZero()
}

// expect answers the heads of requests that wait for 100 Continue. It refuses what the head alone
// shows to be wrong. Other requests pass all stages when their body arrives.
func (s *Server) expect(ctx *fasthttp.RequestCtx) int {
	x := s.begin(ctx)
	x.begun = time.Now()
	err := s.checkHead(x)
	if err == nil {
		x.release()
		return fasthttp.StatusContinue
	}
	defer s.finish(x)
	x.unreadable = true
	if limited := s.count(x); limited != nil && x.route != nil {
		err = limited
	}
	s.slowDown(x)
	x.refuse(err)
	return ctx.Response.StatusCode()
}

// checkHead passes a head through the stages before the body, without counting the request. Errors:
// those of these stages.
func (s *Server) checkHead(x *exchange) error {
	if s.draining.Load() {
		return errStopping
	}
	at, err := x.accept()
	if err != nil {
		return err
	}
	method := string(x.ctx.Method())
	switch {
	case method == fasthttp.MethodOptions:
		return x.checkSize(unroutedBody)
	case x.atMCP(at.path):
		return s.checkHeadMCP(x)
	case s.raw[at.path] != nil:
		return x.checkSize(s.cfg.BodyMax)
	}
	found, params := x.routes().search(method, at.path, x.call.Params)
	if found == nil {
		return x.routeFault(at.path)
	}
	x.route, x.call.Params = found, params
	if err := s.checkPage(x); err != nil {
		return err
	}
	if err := x.checkCaller(s.authenticate(x)); err != nil {
		return err
	}
	if err := x.checkSize(found.bodyMax); err != nil {
		return err
	}
	in := x.readParameters(found, at)
	if found.operation.Method == fasthttp.MethodGet {
		return fault.Together(in.queryFault, in.keyFault)
	}
	return fault.Together(in.queryFault, in.keyFault, x.checkType(found.operation))
}
