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
	path, _, err := splitTarget(string(h.RequestURI()))
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
	var sent headers
	for key, value := range h.All() {
		sent.add(key, value)
	}
	call := api.Call{Service: s.service, Now: s.now()}
	_, err := s.sessionOf(&sent, &call)
	return err != nil || call.Agent.IsZero()
}

// expect answers the heads of requests that wait for 100 Continue. What the head refuses already is
// refused without the body; the rest passes all checks again when the body is there.
func (s *Server) expect(ctx *fasthttp.RequestCtx) int {
	x := s.begin(ctx)
	x.begun = time.Now()
	err := s.checkHead(x)
	if err == nil {
		x.release()
		return fasthttp.StatusContinue
	}
	defer s.finish(x)
	x.cut = true
	if limited := s.count(x); limited != nil && x.route != nil {
		err = limited
	}
	x.refuse(err)
	return ctx.Response.StatusCode()
}

// checkHead finds the refusal of a head. A request that it refuses is counted by its caller; one
// that it lets pass is counted when its body is there.
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
	case at.path == mcpPath:
		return s.checkHeadMCP(x)
	case s.raw[at.path] != nil:
		return x.checkSize(s.cfg.BodyMax)
	}
	found, params := s.routes.search(method, at.path, x.call.Params)
	if found == nil {
		return s.routeFault(x.ctx, at.path)
	}
	x.route, x.call.Params = found, params
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
	return fault.Together(in.queryFault, in.keyFault, x.checkType())
}
