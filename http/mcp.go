package http

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/shape"
	"pws/internal/fault"
)

// The endpoint of the Model Context Protocol: JSON-RPC over POST, one request for one answer,
// without sessions of the protocol. A call of a tool passes the stages of its operation, so that
// limits, keys, checks and privacy are the same over both protocols.

// mcpPath is where the endpoint is.
const mcpPath = "/mcp"

// mcpHeaders is how the headers of the protocol begin, in the form that names come in.
const mcpHeaders = "Mcp-"

// strangerBody is the largest message of a caller without a session, since a message is read before
// it is known which tool it calls.
const strangerBody = 1 << 20

// The codes of JSON-RPC and of the protocol, and three of ours: for a credential that is not valid,
// for a limit, and for other refusals of a whole request.
const (
	rpcParse       = -32700
	rpcInvalid     = -32600
	rpcNoMethod    = -32601
	rpcParams      = -32602
	rpcInternal    = -32603
	rpcHeaders     = -32020
	rpcVersion     = -32022
	rpcCredential  = -32010
	rpcRateLimited = -32011
	rpcRefused     = -32012
)

// mcpServer is what the endpoint needs to know, made once.
type mcpServer struct {
	tools map[string]*tool
	// lists are the tools as JSON: all and the core, with dotted names and with plain ones.
	lists map[listing][]byte
	// info is serverInfo as JSON.
	info []byte
	// message, discover and list count and name what is no call of a tool.
	message, discover, list *route
	earlier                 bool
	// own is the origin of the service itself.
	own string
	// names makes plain names of dotted ones.
	names *strings.Replacer
}

// listing is a choice of tools and of their names.
type listing struct{ plain, core bool }

func newMCP(
	config *api.Config, table []*api.Operation, r *routes, bodyMax int,
) (*mcpServer, error) {
	pseudo := func(name string) *route {
		return &route{
			operation: &api.Operation{
				Name: name, Method: fasthttp.MethodPost, Category: api.CategoryRead,
			},
			bodyMax: bodyMax, project: -1,
		}
	}
	m := &mcpServer{
		tools: map[string]*tool{}, lists: map[listing][]byte{},
		message: pseudo("mcp.message"), discover: pseudo("mcp.discover"),
		list: pseudo("mcp.list"), earlier: !config.NoEarlierMCP, own: originOf(config.PublicURL),
	}
	all := api.Tools(table)
	m.names = api.PlainNames(all)
	for _, one := range all {
		made := newTool(one, r)
		m.tools[one.Name], m.tools[one.Plain] = made, made
	}
	m.info = append(m.info, `{"name":"pws","title":"Persistent work service","version":`...)
	m.info = append(shape.AppendString(m.info, config.Version), '}')
	for _, plain := range []bool{false, true} {
		for _, core := range []bool{false, true} {
			list, err := api.RenderTools(all, core)
			if err != nil {
				return nil, fmt.Errorf("http: %w", err)
			}
			m.lists[listing{plain, core}] = []byte(m.spell(string(list), plain))
		}
	}
	return m, nil
}

// spell writes the names of tools in a text as a client has them.
func (m *mcpServer) spell(text string, plain bool) string {
	if plain {
		return m.names.Replace(text)
	}
	return text
}

// originOf is the origin of a URL, empty where it has none.
func originOf(base string) string {
	parsed, err := url.Parse(base)
	if err != nil || parsed.Host == "" {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}

// trustsOrigin reports whether pages of an origin may use the endpoint: those that are named, the
// service's own, and those of the machine itself. The name of another host that leads here, as an
// attacker may let one do, is none of these.
func (s *Server) trustsOrigin(origin string) bool {
	if slices.Contains(s.origins.named, origin) || origin == s.mcp.own {
		return true
	}
	parsed, err := url.Parse(origin)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return false
	}
	host := parsed.Hostname()
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

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
	if syntax != nil {
		m.reset()
	}
	m.readOptions(at.query)
	switch {
	case denied != nil:
		if !m.requests() {
			m.id = nil
		}
		return s.limit(x, denied)
	case syntax != nil:
		return badRequest(rpcParse, "The body is not JSON.")
	case !m.requests():
		return badRequest(rpcInvalid, "The body is not one request of JSON-RPC 2.0.")
	case !m.hasID:
		_ = s.count(x)
		x.ctx.SetStatusCode(fasthttp.StatusAccepted)
		return nil
	}
	return s.dispatch(x)
}

// checkEndpoint refuses the origin and the method of a request to the endpoint. Errors: FORBIDDEN,
// METHOD_NOT_ALLOWED.
func (s *Server) checkEndpoint(x *exchange) error {
	if origin := x.headers.origin; len(origin) > 0 && !s.trustsOrigin(string(origin)) {
		return fault.New(fault.Forbidden, "Pages of this origin may not use the endpoint.")
	}
	x.route = s.mcp.message
	switch string(x.ctx.Method()) {
	case fasthttp.MethodPost, fasthttp.MethodOptions:
		return nil
	}
	x.ctx.Response.Header.Set(fasthttp.HeaderAllow, fasthttp.MethodPost)
	return fault.New(fault.MethodNotAllowed, "The endpoint takes POST only.").
		With("allowed", []string{fasthttp.MethodPost})
}

// checkMessageHead refuses what the head of a message says of its body. Errors: BODY_TOO_LARGE,
// UNSUPPORTED_CONTENT_TYPE.
func (x *exchange) checkMessageHead() error {
	if err := x.checkSize(x.messageMax()); err != nil {
		return err
	}
	return x.checkType()
}

// messageMax is the largest message that the caller may send, in bytes.
func (x *exchange) messageMax() int {
	if x.call.Agent.IsZero() {
		return min(x.route.bodyMax, strangerBody)
	}
	return x.route.bodyMax
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

// readMessage reads the body. Of an anonymous caller who has used up the limits of its address, it
// reads no more than it takes to find the id of a small message. Errors: RATE_LIMITED, and those of
// readBody.
func (s *Server) readMessage(x *exchange) ([]byte, error) {
	if x.call.Agent.IsZero() {
		if limited := s.exhausted(x); limited != nil {
			body, err := x.readBody(smallBody)
			if err != nil || x.message.parse(body) != nil || !x.message.requests() {
				x.message.reset()
			}
			return nil, limited
		}
	}
	return x.readBody(x.messageMax())
}

// rpcError is an error of JSON-RPC with the status that it is sent with.
type rpcError struct {
	status, code int
	message      string
	// data is JSON, nil where there is none.
	data []byte
}

// Error is the message of the protocol's error.
func (e *rpcError) Error() string { return e.message }

func badRequest(code int, message string) error {
	return &rpcError{status: fasthttp.StatusBadRequest, code: code, message: message}
}

// dispatch answers one request.
func (s *Server) dispatch(x *exchange) error {
	m := &x.message
	if m.earlier = s.speaksEarlier(x); m.earlier {
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
			return append(shape.AppendString(body, x.instructions()), cacheable...)
		})
	default:
		return s.dispatchTools(x, fasthttp.StatusNotFound)
	}
}

// dispatchTools answers the methods of all versions; unknown is the status for what is none.
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

// instructions are those of the service, with the names and the address that the client knows.
func (x *exchange) instructions() string {
	return x.server.mcp.spell(api.Instructions(x.base()), x.message.plain)
}

// base is the address of the service as the client knows it.
func (x *exchange) base() string {
	x.call.Host = string(x.ctx.Request.Header.Host())
	return x.call.Base()
}

// cacheable is how long a list of tools and what is told of the server hold: until another version
// of the program is started.
const cacheable = `,"ttlMs":3600000,"cacheScope":"public"`

// answerMethod counts and answers a request that is no call of a tool.
func (s *Server) answerMethod(x *exchange, as *route, result func([]byte) []byte) error {
	x.route = as
	if err := s.limit(x, nil); err != nil {
		return err
	}
	x.setBody(x.endResult(result(x.beginResult())))
	return nil
}

// listTools answers tools/list: all of them on one page.
func (s *Server) listTools(x *exchange) error {
	m := &x.message
	if m.cursor != 0 && m.cursor != 'n' {
		return &rpcError{
			status: fasthttp.StatusOK, code: rpcParams,
			message: "There is no such cursor; the tools are on one page.",
		}
	}
	return s.answerMethod(x, s.mcp.list, func(body []byte) []byte {
		body = append(body, `"tools":`...)
		body = append(body, s.mcp.lists[listing{m.plain, m.core}]...)
		if m.earlier {
			return body
		}
		return append(body, cacheable...)
	})
}

// checkProtocol refuses a request whose headers and _meta do not agree with its body, or that is of
// another version. Errors are of JSON-RPC.
func (x *exchange) checkProtocol() error {
	m, h := &x.message, &x.headers
	if h.protocols == 0 {
		return badRequest(rpcHeaders, "The header MCP-Protocol-Version is missing.")
	}
	switch {
	case m.params != '{' || m.metaKind != '{':
		return badRequest(rpcParams, "The parameters have no _meta.")
	case m.versionKind != '"':
		return badRequest(rpcParams, "_meta has no text "+metaVersion+".")
	case m.capabilities != '{':
		return badRequest(rpcParams, "_meta has no object "+metaCapabilities+".")
	case h.protocols > 1 || h.methods > 1 || h.names > 1 || h.others > 1 && x.doubled():
		return badRequest(rpcHeaders, "A header of the protocol was sent twice.")
	case !bytes.Equal(h.protocol, m.version):
		return badRequest(rpcHeaders, "The header MCP-Protocol-Version is not what _meta says.")
	case !bytes.Equal(h.method, m.method):
		return badRequest(rpcHeaders, "The header Mcp-Method is not the method of the request.")
	}
	if string(m.method) == "tools/call" {
		name, ok := headerText(h.name)
		named := m.nameKind == '"'
		if !ok || named != (h.names > 0) || named && !bytes.Equal(name, m.name) {
			return badRequest(rpcHeaders, "The header Mcp-Name is not the name of the tool.")
		}
	}
	if string(m.version) != api.MCPVersion {
		data := append([]byte(nil), `{"supported":["`+api.MCPVersion+`"],"requested":`...)
		return &rpcError{
			status: fasthttp.StatusBadRequest, code: rpcVersion,
			message: "The service does not speak this version of the protocol.",
			data:    append(shape.AppendString(data, string(m.version)), '}'),
		}
	}
	return nil
}

// doubled reports whether one of the other headers of the protocol was sent twice.
func (x *exchange) doubled() (twice bool) {
	seen := map[string]bool{}
	for key := range x.ctx.Request.Header.All() {
		if name := string(key); strings.HasPrefix(name, mcpHeaders) {
			twice = twice || seen[name]
			seen[name] = true
		}
	}
	return twice
}

// headerText is the value of a header that may stand in base64, as values outside of visible ASCII
// do.
func headerText(value []byte) ([]byte, bool) {
	inner, coded := bytes.CutPrefix(value, []byte("=?base64?"))
	if !coded {
		return value, true
	}
	inner, coded = bytes.CutSuffix(inner, []byte("?="))
	if !coded {
		return nil, false
	}
	text, err := base64.StdEncoding.Strict().AppendDecode(nil, inner)
	return text, err == nil
}
