package http

import (
	"bytes"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/localhost"
)

// anyOrigin permits pages of all origins to read, without credentials.
const anyOrigin = "*"

const (
	exposedHeaders = "ETag, X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, " +
		"RateLimit-Policy, Retry-After, Idempotency-Replayed, Allow, Accept-Ranges, Content-Range, " +
		"Content-Disposition, Preference-Applied"
	readingHeaders = "Accept, Content-Type, If-None-Match, Last-Event-ID, Range, If-Range"
	writingHeaders = readingHeaders + ", Authorization, Content-Encoding, Idempotency-Key, " +
		"If-Match, Prefer, MCP-Protocol-Version, Mcp-Method, Mcp-Name"
	preflightAge = "600"
)

// origins are the configured origins of web pages.
type origins struct {
	named []string
	any   bool
}

func newOrigins(list []string) origins {
	o := origins{any: slices.Contains(list, anyOrigin)}
	for _, one := range list {
		if one != anyOrigin {
			o.named = append(o.named, one)
		}
	}
	return o
}

// allowOrigin sets the headers that let a page of another origin read the answer.
func (s *Server) allowOrigin(x *exchange) {
	if len(s.origins.named) > 0 {
		x.vary("Origin")
	}
	if len(x.headers.origin) == 0 {
		return
	}
	h := &x.ctx.Response.Header
	switch {
	case slices.Contains(s.origins.named, string(x.headers.origin)):
		h.SetBytesV(fasthttp.HeaderAccessControlAllowOrigin, x.headers.origin)
	case s.anyMayRead(x.operation()):
		h.Set(fasthttp.HeaderAccessControlAllowOrigin, anyOrigin)
	default:
		return
	}
	h.Set(fasthttp.HeaderAccessControlExposeHeaders, exposedHeaders)
}

// anyMayRead reports whether pages of all origins may read the answers of an operation.
func (s *Server) anyMayRead(op *api.Operation) bool {
	return s.origins.any && (op == nil || !op.Page) || op != nil && op.DescribesService()
}

// checkHost refuses a domain name that is not known to lead to a server on a loopback address. A
// page can have its own name resolved to this machine (DNS rebinding), and is then of the same
// origin as the server for its browser. Names without a dot and addresses cannot be used for that.
// The member that passes a request on has checked it for its address. Errors: FORBIDDEN.
func (s *Server) checkHost(x *exchange) error {
	local := s.cfg.LoopbackOnly
	if x.call.OnPages {
		local = s.cfg.PagesLoopbackOnly
	}
	if !local || x.passed {
		return nil
	}
	name := x.ctx.Request.Header.Host()
	if bytes.IndexByte(name, '.') < 0 || isAddressOrLocalhost(string(name)) {
		return nil
	}
	return fault.New(fault.Forbidden, "The server is for this machine alone and does not have "+
		"this host name. --public-url gives it a name.").With("reason", "HOST")
}

// isAddressOrLocalhost reports whether a host, with or without a port, is an IP address or a
// localhost name. A page cannot have its own name resolved if it is one of these.
func isAddressOrLocalhost(host string) bool {
	name := localhost.WithoutPort(host)
	_, err := netip.ParseAddr(name)
	below := strings.HasSuffix(strings.TrimSuffix(strings.ToLower(name), "."), ".localhost")
	return err == nil || below || localhost.Host(name)
}

// checkPage refuses what pages of other hosts may not do. Errors: FORBIDDEN.
func (s *Server) checkPage(x *exchange) error {
	if x.route.operation.DescribesService() {
		return nil
	}
	if err := s.checkHost(x); err != nil {
		return err
	}
	if x.isPage() {
		return x.checkForm()
	}
	return s.checkOrigin(x)
}

// checkOrigin refuses what is more than reading to pages of origins that are neither configured nor
// that of the service. Browsers send some such requests without a preflight. Errors: FORBIDDEN.
func (s *Server) checkOrigin(x *exchange) error {
	origin := x.headers.origin
	if len(origin) == 0 || x.ctx.IsGet() || x.ctx.IsHead() ||
		s.trustsOrigin(string(origin)) || x.ownPage(string(origin)) {
		return nil
	}
	return fault.New(fault.Forbidden,
		"Pages of this origin may not use the service.").With("reason", "ORIGIN")
}

// ownPage reports whether an origin has the host of the request. The scheme may differ, because a
// proxy may have ended TLS.
func (x *exchange) ownPage(origin string) bool {
	parsed, err := url.Parse(origin)
	return err == nil && parsed.Host != "" &&
		strings.EqualFold(parsed.Host, string(x.ctx.Request.Header.Host()))
}

// options answers OPTIONS with the methods of a path, and whether a page of another origin may use
// them. A named origin may do everything; pages of any origin may only read, without a credential.
// Errors: ROUTE_NOT_FOUND, METHOD_NOT_ALLOWED.
func (s *Server) options(x *exchange, at target) error {
	h := &x.ctx.Response.Header
	x.ctx.SetStatusCode(fasthttp.StatusNoContent)
	if at.whole == "*" {
		return nil
	}
	allowed := x.routes().allowed(at.path)
	toMCP := x.atMCP(at.path)
	if toMCP {
		allowed = []string{fasthttp.MethodOptions, fasthttp.MethodPost}
	}
	if len(allowed) == 0 && s.raw[at.path] == nil {
		return x.routeFault(at.path)
	}
	if len(allowed) > 0 {
		h.Set(fasthttp.HeaderAllow, strings.Join(allowed, ", "))
	}
	if len(x.headers.origin) == 0 || len(x.headers.preflightMethod) == 0 {
		return nil
	}
	x.vary("Access-Control-Request-Method, Access-Control-Request-Headers")
	if toMCP || slices.Contains(s.origins.named, string(x.headers.origin)) {
		h.Set(fasthttp.HeaderAccessControlAllowMethods, strings.Join(allowed, ", "))
		h.Set(fasthttp.HeaderAccessControlAllowHeaders, writingHeaders)
		h.Set(fasthttp.HeaderAccessControlMaxAge, preflightAge)
	} else if s.anyMayRead(x.reading(at.path)) {
		reading := slices.DeleteFunc(allowed, func(method string) bool {
			return method != fasthttp.MethodGet && method != fasthttp.MethodHead
		})
		h.Set(fasthttp.HeaderAccessControlAllowOrigin, anyOrigin)
		h.Set(fasthttp.HeaderAccessControlAllowMethods, strings.Join(reading, ", "))
		h.Set(fasthttp.HeaderAccessControlAllowHeaders, readingHeaders)
		h.Set(fasthttp.HeaderAccessControlMaxAge, preflightAge)
	}
	return nil
}

// reading is the operation that reads a path, nil if there is none.
func (x *exchange) reading(path string) *api.Operation {
	if found := x.routes().best(fasthttp.MethodGet, path); found != nil {
		return found.operation
	}
	return nil
}

// vary adds to the Vary header.
func (x *exchange) vary(names string) {
	h := &x.ctx.Response.Header
	if have := h.Peek(fasthttp.HeaderVary); len(have) > 0 {
		names = string(have) + ", " + names
	}
	h.Set(fasthttp.HeaderVary, names)
}
