package http

import (
	"slices"
	"strings"

	"github.com/fasthttp/router/radix"
	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/shape"
	"pws/internal/fault"
)

// routes finds the operation of a request. The router's tree answers the usual case in time that
// does not depend on the size of the table; what it does not find, or finds for a path with empty
// parameters, is decided by the templates themselves, which also know the allowed methods. The
// tree is asked without a context, for it would copy every parameter into it.
type routes struct {
	trees map[string]*radix.Tree
	all   []*route
	// bodyLeast is the smallest limit that a body has anywhere.
	bodyLeast int
}

func newRoutes(table []*api.Operation, bodyMax int) *routes {
	r := &routes{trees: map[string]*radix.Tree{}, bodyLeast: min(unroutedBody, bodyMax)}
	patterns := map[string][]*route{}
	var order []string
	for _, op := range table {
		methods := []string{op.Method}
		if op.Method == fasthttp.MethodGet {
			methods = append(methods, fasthttp.MethodHead)
		}
		for _, method := range methods {
			one := newRoute(op, method, bodyMax)
			r.all = append(r.all, one)
			r.bodyLeast = min(r.bodyLeast, one.bodyMax)
			key := method + " " + one.template.pattern()
			if patterns[key] == nil {
				order = append(order, key)
			}
			patterns[key] = append(patterns[key], one)
		}
	}
	for _, key := range order {
		method, pattern, _ := strings.Cut(key, " ")
		leaf := patterns[key]
		slices.SortStableFunc(leaf, func(a, b *route) int {
			return b.template.literals - a.template.literals
		})
		if r.trees[method] == nil {
			r.trees[method] = radix.New()
		}
		r.trees[method].Add(pattern, func(ctx *fasthttp.RequestCtx) { exchangeOf(ctx).leaf = leaf })
	}
	return r
}

// find is the route of an exchange, nil where there is none. It cuts the parameters from the
// request's own copy of its path.
func (r *routes) find(x *exchange) *route {
	if tree := r.trees[string(x.ctx.Method())]; tree != nil {
		if note, _ := tree.Get(x.path, nil); note != nil {
			note(x.ctx)
		}
	}
	for _, one := range x.leaf {
		if params, ok := one.template.match(x.path, x.call.Params[:0]); ok {
			x.call.Params = params
			return one
		}
	}
	return r.search(string(x.ctx.Method()), x)
}

func newRoute(op *api.Operation, method string, bodyMax int) *route {
	one := &route{
		operation: op, method: method, template: parseTemplate(op.Path),
		project: projectParam(op.Path), bodyMax: op.BodyLimit(bodyMax),
	}
	for _, param := range op.Query {
		one.query = append(one.query, queryParam{
			name: param.Name, integer: param.Integer, raw: param.Raw,
			check: shape.CompileCheck(param.Check),
		})
	}
	if op.Request != nil {
		shape.Compile(op.Request)
	}
	return one
}

// search is find without the tree.
func (r *routes) search(method string, x *exchange) *route {
	best := r.best(method, x.path)
	if best != nil {
		x.call.Params, _ = best.template.match(x.path, x.call.Params[:0])
	}
	return best
}

// best is the route with the most literal template that fits, nil where there is none.
func (r *routes) best(method, path string) *route {
	var best *route
	var params [8]string
	for _, one := range r.all {
		if one.method != method || best != nil && one.template.literals <= best.template.literals {
			continue
		}
		if _, ok := one.template.match(path, params[:0]); ok {
			best = one
		}
	}
	return best
}

// allowed are the methods of a path, sorted; it is empty for a path that nothing is at.
func (r *routes) allowed(path string) []string {
	var methods []string
	for _, one := range r.all {
		if _, ok := one.template.match(path, nil); ok && !slices.Contains(methods, one.method) {
			methods = append(methods, one.method)
		}
	}
	if len(methods) > 0 {
		methods = append(methods, fasthttp.MethodOptions)
	}
	slices.Sort(methods)
	return methods
}

// judgeTarget splits a request target into path and query and refuses what could be read in two
// ways: fragments, bytes outside of visible ASCII, and forms other than /path and
// http://host/path. Errors: VALIDATION_FAILED.
func judgeTarget(target string) (path, query string, err error) {
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c >= 0x7f || c == '#' {
			return "", "", badTarget("must be visible ASCII without #; encode other bytes as %XX")
		}
	}
	if target != "" && target[0] != '/' {
		scheme, rest, absolute := strings.Cut(target, "://")
		if !absolute || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
			return "", "", badTarget("must be a path that starts with /")
		}
		at := strings.IndexAny(rest, "/?")
		switch {
		case at == 0 || rest == "":
			return "", "", badTarget("must name a host between http:// and the path")
		case at < 0:
			target = "/"
		case rest[at] == '?':
			target = "/" + rest[at:]
		default:
			target = rest[at:]
		}
	}
	path, query, _ = strings.Cut(target, "?")
	if path == "" {
		return "", "", badTarget("must not be empty")
	}
	return path, query, nil
}

func badTarget(problem string) error {
	return fault.New(fault.ValidationFailed, "The request target is not valid.").
		With("fields", []fault.Field{{Field: "target", Problem: problem}})
}

// routeFault is the refusal of a path and method without an operation. Errors: ROUTE_NOT_FOUND,
// METHOD_NOT_ALLOWED.
func (s *Server) routeFault(x *exchange) error {
	allowed := s.routes.allowed(x.path)
	if len(allowed) == 0 {
		return fault.New(fault.RouteNotFound, "There is no operation at this path.")
	}
	x.ctx.Response.Header.Set(fasthttp.HeaderAllow, strings.Join(allowed, ", "))
	return fault.New(fault.MethodNotAllowed, "The path does not take this method.").
		With("allowed", allowed)
}
