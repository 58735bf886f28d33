package http

import (
	"slices"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/jsonschema"
)

// Clients of the earlier protocol begin with initialize and send their version in a header after
// that. The endpoint keeps no state of them; it answers each request by itself.

// isEarlier reports whether a request is one of the earlier protocol: nothing in it is of the
// present one, and its header names no version or one that came before.
func (s *Server) isEarlier(x *exchange) bool {
	m, h := &x.message, &x.headers
	if !s.mcp.earlier || m.versionKind != 0 || m.capabilities != 0 ||
		string(m.method) == "server/discover" {
		return false
	}
	return h.protocols == 0 || isDate(h.protocol) && string(h.protocol) < api.MCPVersion
}

// isDate reports whether a text has the form of a date.
func isDate(text []byte) bool {
	const form = "0000-00-00"
	if len(text) != len(form) {
		return false
	}
	for i, c := range text {
		if digit := c >= '0' && c <= '9'; digit != (form[i] == '0') || !digit && c != '-' {
			return false
		}
	}
	return true
}

// dispatchEarlier answers one request of the earlier protocol.
func (s *Server) dispatchEarlier(x *exchange) error {
	m := &x.message
	switch string(m.method) {
	case "initialize":
		if m.protocolKind != '"' {
			return &rpcError{
				status: fasthttp.StatusOK, code: rpcParams,
				message: "The parameters have no protocolVersion.",
			}
		}
		version := api.EarlierMCPVersions[0]
		if slices.Contains(api.EarlierMCPVersions, string(m.protocol)) {
			version = string(m.protocol)
		}
		return s.answerMethod(x, s.mcp.discover, func(body []byte) []byte {
			body = append(body, `"protocolVersion":"`+version+
				`","capabilities":{"tools":{}},"serverInfo":`...)
			body = append(append(body, s.mcp.info...), `,"instructions":`...)
			return jsonschema.AppendString(body, x.instructions())
		})
	case "ping":
		return s.answerMethod(x, s.mcp.message, func(body []byte) []byte { return body })
	default:
		return s.dispatchTools(x, fasthttp.StatusOK)
	}
}
