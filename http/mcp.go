package http

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

// The endpoint of the Model Context Protocol: JSON-RPC over POST, one request for one answer,
// without sessions of the protocol. A call of a tool passes the stages of its operation, so that
// limits, keys, checks and privacy are the same over both protocols.

// mcpPath is the path of the endpoint.
const mcpPath = "/mcp"

// mcpHeaders is the prefix of the protocol's headers, in their canonical form.
const mcpHeaders = "Mcp-"

// anonymousBodyMax bounds the message of a caller without a session, in bytes. A message is read
// BEFORE its tool, and so its limit, is known.
const anonymousBodyMax = 1 << 20

// answerMCP takes a request to the endpoint through its stages.
func (s *Server) answerMCP(x *exchange, at target) error {
	if err := s.checkEndpoint(x); err != nil {
		_ = s.countUnrouted(x)
		return err
	}
	if string(x.ctx.Method()) == fasthttp.MethodOptions {
		return s.options(x, at)
	}
	denied := s.authenticate(x)
	if err := x.checkMessageHead(); err != nil {
		_ = s.count(x)
		return cmp.Or(denied, err)
	}
	x.form = formRPC
	body, err := s.readMessage(x)
	if err != nil {
		return err
	}
	err = s.answerMessage(x, at, body, denied)
	if _, protocol := err.(*rpcError); protocol {
		// The message reaches no operation. Its refusal says more than that by a limit.
		_ = s.count(x)
	}
	return err
}

// answerMessage answers the message of a request whose credential may have been denied.
func (s *Server) answerMessage(x *exchange, at target, body []byte, denied error) error {
	m := &x.message
	syntax := m.parse(body)
	if syntax != nil && !m.parseLoose(body) {
		m.reset()
	}
	m.readOptions(at.query)
	if syntax == nil && s.passesMessage(x) {
		return s.pass(x, body)
	}
	switch {
	case denied != nil:
		if !m.isRequest() {
			m.id = nil
		}
		return s.limit(x, denied)
	case syntax != nil && string(m.method) != "tools/call":
		return badRequest(rpcParse, syntaxProblem(syntax))
	case !m.isRequest():
		return badRequest(rpcInvalid, "The body is not one request of JSON-RPC 2.0.")
	case !m.hasID:
		_ = s.count(x)
		x.ctx.SetStatusCode(fasthttp.StatusAccepted)
		return nil
	}
	x.syntax = syntax
	return s.dispatch(x)
}

// syntaxProblem says why a body is not strict JSON.
func syntaxProblem(syntax error) string {
	var refusal *fault.Error
	if errors.As(syntax, &refusal) {
		return refusal.Message
	}
	return "The body is not JSON."
}

// checkEndpoint checks the origin and the method of a request to the endpoint. Errors: FORBIDDEN,
// METHOD_NOT_ALLOWED.
func (s *Server) checkEndpoint(x *exchange) error {
	if origin := x.headers.origin; len(origin) > 0 && !s.trustsOrigin(string(origin)) {
		return fault.New(fault.Forbidden, "Pages of this origin may not use the endpoint.")
	}
	if err := s.checkHost(x); err != nil {
		return err
	}
	x.route = s.mcp.message
	switch string(x.ctx.Method()) {
	case fasthttp.MethodPost, fasthttp.MethodOptions:
		return nil
	}
	allowed := fasthttp.MethodPost
	if len(s.origins.named) > 0 {
		allowed = fasthttp.MethodOptions + ", " + allowed
	}
	x.ctx.Response.Header.Set(fasthttp.HeaderAllow, allowed)
	return fault.New(fault.MethodNotAllowed, "The endpoint takes POST only.").
		With("allowed", []string{fasthttp.MethodPost})
}

// checkMessageHead checks the declared size and the type of a message. Errors: BODY_TOO_LARGE,
// UNSUPPORTED_CONTENT_TYPE.
func (x *exchange) checkMessageHead() error {
	if err := x.checkSize(x.messageMax()); err != nil {
		return err
	}
	return x.checkType(nil)
}

// messageRoom is the room in a message for what is not in the body of an operation: the parameters
// of its path and query, and the metadata of the protocol, in bytes.
const messageRoom = 64 << 10

// messageMax is the largest message that the caller may send, in bytes.
func (x *exchange) messageMax() int {
	return x.server.messageMax(x.call.Agent.IsZero(), x.headers.name)
}

// messageMax is the largest message, in bytes. The header Mcp-Name gives the limit of the tool
// BEFORE the message is read.
func (s *Server) messageMax(anonymous bool, header []byte) int {
	most := s.cfg.BodyMax
	if anonymous {
		most = min(most, anonymousBodyMax)
	}
	if name, ok := headerText(header); ok {
		if called := s.mcp.tools[string(name)]; called != nil {
			most = min(most, called.route.bodyMax+messageRoom)
		}
	}
	return most
}

// checkHeadMCP is checkHead for the endpoint.
func (s *Server) checkHeadMCP(x *exchange) error {
	if err := s.checkEndpoint(x); err != nil {
		return err
	}
	if err := s.authenticate(x); err != nil {
		return err
	}
	return x.checkMessageHead()
}

// readMessage reads the body. If an anonymous caller has used up the limits of its address, it
// reads only a small body, to answer with the id of its message. Errors: RATE_LIMITED, and those of
// readBody.
func (s *Server) readMessage(x *exchange) ([]byte, error) {
	if x.call.Agent.IsZero() {
		if limited := s.exhausted(x); limited != nil {
			body, err := x.readBody(smallBody)
			if err != nil || x.message.parse(body) != nil || !x.message.isRequest() {
				x.message.reset()
			}
			return nil, limited
		}
	}
	return x.readBody(x.messageMax())
}

// dispatch answers one request.
func (s *Server) dispatch(x *exchange) error {
	m := &x.message
	if m.earlier = s.isEarlier(x); m.earlier {
		return s.dispatchEarlier(x)
	}
	if err := x.checkProtocol(); err != nil {
		return err
	}
	switch string(m.method) {
	case "server/discover":
		return s.answerMethod(x, s.mcp.discover, func(body []byte) []byte {
			body = append(body, `"supportedVersions":["`+api.MCPVersion+
				`"],"capabilities":{"tools":{}},"instructions":`...)
			return append(jsonschema.AppendString(body, x.instructions()), cacheable...)
		})
	default:
		return s.dispatchTools(x, fasthttp.StatusNotFound)
	}
}

// dispatchTools answers the methods of all versions. unknown is the status for an unknown method.
func (s *Server) dispatchTools(x *exchange, unknown int) error {
	switch string(x.message.method) {
	case "tools/list":
		return s.listTools(x)
	case "tools/call":
		return s.callTool(x)
	default:
		return &rpcError{status: unknown, code: rpcNoMethod, message: "There is no such method."}
	}
}

// instructions are those of the service, with the tools, their names and the address that the
// client uses.
func (x *exchange) instructions() string {
	m := &x.message
	return x.server.mcp.renameTools(api.Instructions(x.base(), m.core), m.plain)
}

// base is the address of the service that the client uses.
func (x *exchange) base() string {
	x.call.Host = string(x.ctx.Request.Header.Host())
	return x.call.Base()
}

// cacheable says how long clients may cache the tools and the description of the server. They
// change only when another version of the program is started.
const cacheable = `,"ttlMs":3600000,"cacheScope":"public"`

// answerMethod counts and answers a request that calls no tool.
func (s *Server) answerMethod(x *exchange, as *route, result func([]byte) []byte) error {
	x.route = as
	if err := s.limit(x, nil); err != nil {
		return err
	}
	return x.setBody(x.endResult(result(x.beginResult())))
}

// listTools answers tools/list with all tools on one page.
func (s *Server) listTools(x *exchange) error {
	m := &x.message
	if m.cursor != 0 && m.cursor != 'n' {
		return &rpcError{
			status: fasthttp.StatusOK, code: rpcParams,
			message: "There is no such cursor; the tools are on one page.",
		}
	}
	list, err := s.mcp.lists[listing{m.plain, m.core}]()
	if err != nil {
		return fmt.Errorf("http: %w", err)
	}
	return s.answerMethod(x, s.mcp.list, func(body []byte) []byte {
		body = append(body, `"tools":`...)
		body = append(body, list...)
		if m.earlier {
			return body
		}
		return append(body, cacheable...)
	})
}
