package http

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// anyOrigin permits pages of all origins to read, without credentials.
const anyOrigin = "*"

const (
	exposedHeaders = "ETag, X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, " +
		"RateLimit-Policy, Retry-After, Idempotency-Replayed, Allow"
	readingHeaders = "Accept, Content-Type, If-None-Match, Last-Event-ID"
	writingHeaders = readingHeaders + ", Authorization, Idempotency-Key, If-Match, " +
		"MCP-Protocol-Version, Mcp-Method, Mcp-Name"
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
	case s.origins.any:
		h.Set(fasthttp.HeaderAccessControlAllowOrigin, anyOrigin)
	default:
		return
	}
	h.Set(fasthttp.HeaderAccessControlExposeHeaders, exposedHeaders)
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
	allowed := s.routes.allowed(at.path)
	toMCP := at.path == mcpPath
	if toMCP {
		allowed = []string{fasthttp.MethodOptions, fasthttp.MethodPost}
	}
	if len(allowed) == 0 && s.raw[at.path] == nil {
		return s.routeFault(x.ctx, at.path)
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
	} else if s.origins.any {
		reading := slices.DeleteFunc(allowed, func(method string) bool {
			return method != fasthttp.MethodGet && method != fasthttp.MethodHead
		})
		h.Set(fasthttp.HeaderAccessControlAllowMethods, strings.Join(reading, ", "))
		h.Set(fasthttp.HeaderAccessControlAllowHeaders, readingHeaders)
		h.Set(fasthttp.HeaderAccessControlMaxAge, preflightAge)
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
