package http

import (
	"slices"
	"strings"

	"github.com/fasthttp/router/radix"
	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

// routes finds the operation of a request. The router's tree answers the usual case in time that
// does not depend on the size of the table. The templates decide about what the tree does not find
// or finds with empty parameters, and they know the allowed methods. The tree is searched without a
// context, because it would copy every parameter into it.
type routes struct {
	trees map[string]*radix.Tree
	all   []*route
	// bodyLeast is the smallest limit of any body, in bytes.
	bodyLeast int
}

// setRoutes makes the routes of both addresses.
func (s *Server) setRoutes() {
	s.routes = newRoutes(s.cfg.Table, s.cfg.BodyMax)
	s.routesMain, s.routesPages = s.routes, s.routes
	if !s.cfg.PagesApart {
		return
	}
	var main, pages []*api.Operation
	for _, op := range s.cfg.Table {
		if !op.Page {
			main = append(main, op)
		}
		if op.ForPages() {
			pages = append(pages, op)
		}
	}
	s.routesMain = newRoutes(main, s.cfg.BodyMax)
	s.routesPages = newRoutes(pages, s.cfg.BodyMax)
}

// routes are those of the address that the request was sent to. What a member passes on was sent to
// any of them.
func (x *exchange) routes() *routes {
	switch {
	case x.passed:
		return x.server.routes
	case x.call.OnPages:
		return x.server.routesPages
	}
	return x.server.routesMain
}

// atMCP reports whether a path is that of MCP, which the address of the pages does not have.
func (x *exchange) atMCP(path string) bool { return path == mcpPath && !x.call.OnPages }

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
		if patterns[key+"/"] != nil {
			// The tree cannot have both, so the templates find the one without the slash.
			continue
		}
		method, pattern, _ := strings.Cut(key, " ")
		found := leaf(patterns[key])
		slices.SortStableFunc(found, func(a, b *route) int {
			return b.template.literals - a.template.literals
		})
		if r.trees[method] == nil {
			r.trees[method] = radix.New()
		}
		r.trees[method].Add(pattern, func(ctx *fasthttp.RequestCtx) {
			ctx.SetUserValue(leafKey, &found)
		})
	}
	return r
}

// leaf is the routes of one pattern of the router, the most literal first.
type leaf []*route

// leafKey is the key under which the router's handlers store the leaf in a request context. It is
// made once, so that setting it allocates nothing.
var leafKey any = leafKeyType{}

type leafKeyType struct{}

// find returns the route of a request, nil if there is none, and its parameters. They are parts
// of the path, in the memory of the given slice.
func (r *routes) find(
	ctx *fasthttp.RequestCtx, path string, params []string,
) (*route, []string) {
	method := string(ctx.Method())
	if tree := r.trees[method]; tree != nil {
		if note, _ := tree.Get(path, nil); note != nil {
			note(ctx)
			found, ok := ctx.UserValue(leafKey).(*leaf)
			if !ok {
				panic("http: the router left no routes")
			}
			for _, one := range *found {
				if params, ok := one.template.match(path, params[:0]); ok {
					return one, params
				}
			}
		}
	}
	return r.search(method, path, params)
}

func newRoute(op *api.Operation, method string, bodyMax int) *route {
	one := &route{
		operation: op, method: method, template: parseTemplate(op.Path),
		project: projectParam(op.Path), bodyMax: op.BodyLimit(bodyMax),
	}
	for _, param := range op.Query {
		one.query = append(one.query, queryParam{
			name: param.Name, integer: param.Integer, raw: param.Raw,
			check: jsonschema.CompileCheck(param.Check),
		})
	}
	if op.Request != nil {
		jsonschema.Compile(op.Request)
	}
	return one
}

// search is find by the templates alone.
func (r *routes) search(method, path string, params []string) (*route, []string) {
	best := r.best(method, path)
	if best != nil {
		params, _ = best.template.match(path, params[:0])
	}
	return best, params
}

// best returns the route with the most literal template that matches, nil if there is none.
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

// allowed are the methods of a path, sorted. It is empty for a path without operations.
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

// routeFault returns the error for a path and method without an operation. Errors:
// ROUTE_NOT_FOUND, METHOD_NOT_ALLOWED.
func (x *exchange) routeFault(path string) error {
	allowed := x.routes().allowed(path)
	if len(allowed) == 0 {
		return fault.New(fault.RouteNotFound, "There is no operation at this path.")
	}
	x.ctx.Response.Header.Set(fasthttp.HeaderAllow, strings.Join(allowed, ", "))
	return fault.New(fault.MethodNotAllowed, "The path does not take this method.").
		With("allowed", allowed)
}
