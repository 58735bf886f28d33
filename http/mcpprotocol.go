package http

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/jsonschema"
)

// The codes of JSON-RPC and of the protocol, and three of the service: for a credential that is not
// valid, for a rate limit, and for other refusals of a whole request.
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

// rpcError is an error of JSON-RPC with its HTTP status.
type rpcError struct {
	status, code int
	message      string
	// data is JSON, nil if there is none.
	data []byte
}

// Error is the message of the protocol's error.
func (e *rpcError) Error() string { return e.message }

func badRequest(code int, message string) error {
	return &rpcError{status: fasthttp.StatusBadRequest, code: code, message: message}
}

// checkProtocol returns the error for a request whose headers and _meta do not match its body,
// or that has another version. Errors are of JSON-RPC.
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
	case h.protocols > 1 || h.methods > 1 || h.names > 1 || h.others > 1 && x.headerRepeated():
		return badRequest(rpcHeaders, "A header of the protocol was sent twice.")
	case !isText(h.protocol, m.version):
		return badRequest(rpcHeaders, "The header MCP-Protocol-Version is not what _meta says.")
	case !isText(h.method, m.method):
		return badRequest(rpcHeaders, "The header Mcp-Method is not the method of the request.")
	}
	if string(m.method) == "tools/call" {
		named := m.nameKind == '"'
		if named != (h.names > 0) || !isText(h.name, m.name) {
			return badRequest(rpcHeaders, "The header Mcp-Name is not the name of the tool.")
		}
	}
	if string(m.version) != api.MCPVersion {
		data := append([]byte(nil), `{"supported":["`+api.MCPVersion+`"],"requested":`...)
		return &rpcError{
			status: fasthttp.StatusBadRequest, code: rpcVersion,
			message: "The service does not speak this version of the protocol.",
			data:    append(jsonschema.AppendString(data, string(m.version)), '}'),
		}
	}
	return nil
}

// headerRepeated reports whether one of the other headers of the protocol was sent twice.
func (x *exchange) headerRepeated() (twice bool) {
	seen := map[string]bool{}
	for key := range x.ctx.Request.Header.All() {
		if name := string(key); strings.HasPrefix(name, mcpHeaders) {
			twice = twice || seen[name]
			seen[name] = true
		}
	}
	return twice
}

// isText reports whether the value of a header is a text.
func isText(value, text []byte) bool {
	decoded, ok := headerText(value)
	return ok && bytes.Equal(decoded, text)
}

// headerText decodes the value of a header that may be in base64, as values outside of visible
// ASCII are. It reports whether the form is valid.
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
