package http

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

// nextRequest is the complete request that the details of a refusal name.
type nextRequest struct {
	Operation string         `json:"operation"`
	Method    string         `json:"method"`
	Path      string         `json:"path"`
	Headers   *nextHeaders   `json:"headers,omitzero"`
	Body      jsontext.Value `json:"body,omitzero"`
	// Anonymous requests are sent without a credential.
	Anonymous bool `json:"anonymous,omitzero"`
}

// nextHeaders are the headers of such a request, beside the credential.
type nextHeaders struct {
	Key string `json:"Idempotency-Key"`
}

// nextRequest returns the request that the caller of a refused one should send next, nil if there
// is none.
func (x *exchange) nextRequest(refusal *fault.Error) *nextRequest {
	if x.route == nil {
		return x.nextRoute(refusal)
	}
	// Refusals by a limit come in floods and have none.
	if !api.HasNextCall(refusal.Code) {
		return nil
	}
	next := x.call.NextCall(refusal, api.Client{}, x.sent())
	if next == nil {
		return nil
	}
	out := &nextRequest{
		Operation: next.Operation.Name, Method: next.Operation.Method, Path: next.Target(),
		Body: next.BodyText(), Anonymous: next.Anonymous,
	}
	if next.Key != "" {
		out.Headers = &nextHeaders{Key: next.Key}
	}
	return out
}

// appendNextTool writes the call of a tool that the caller of a refused one should make next, if
// there is one.
func (x *exchange) appendNextTool(out []byte, refusal *fault.Error) []byte {
	if x.form != formTool {
		return out
	}
	client := api.Client{MCP: true, Core: x.message.core, Base: x.base()}
	next := x.call.NextCall(refusal, client, x.sent())
	if next == nil {
		return out
	}
	name := x.server.mcp.renameTools(next.Operation.Tool, x.message.plain)
	out = append(out, `,"`+api.NextCallKey+`":{"tool":`...)
	out = append(jsonschema.AppendString(out, name), `,"arguments":`...)
	return append(append(out, next.Arguments()...), '}')
}

// sent is what the caller of a refused request has sent.
func (x *exchange) sent() *api.Sent {
	out := &api.Sent{Query: map[string]string{}, Body: x.input.body}
	if x.input.keys == 1 && api.ValidIdempotencyKey(x.input.key) {
		out.Key = string(x.input.key)
	}
	if x.form == formEnvelope {
		for pair := range strings.SplitSeq(x.input.query, "&") {
			name, value, _ := strings.Cut(pair, "=")
			name, nameOK := unescape(name)
			value, valueOK := unescape(value)
			if _, again := out.Query[name]; again {
				out.Loose = true
			}
			if name != "" && nameOK && valueOK {
				out.Query[name] = value
			}
		}
		return out
	}
	for name, value := range x.call.Query {
		out.Query[name] = value
	}
	if x.route.operation.Method != fasthttp.MethodGet {
		return out
	}
	// The arguments of a read stay in the message.
	paths := x.server.mcp.tools[string(x.message.name)]
	for i := range x.message.arguments {
		one := &x.message.arguments[i]
		if declared := paths.byName[string(one.name)]; declared == nil || declared.Place == api.InQuery {
			text := one.value
			if len(text) > 0 && text[0] == '"' {
				text = unquoted(text)
			}
			if !bytes.Equal(one.value, []byte("null")) {
				out.Query[string(one.name)] = string(text)
				asText := declared != nil && !declared.Integer && !declared.Boolean
				out.Loose = out.Loose || declared != nil && asText != (one.value[0] == '"')
			}
		}
	}
	return out
}

// nextRoute returns the read of a path that is served instead of one that is not, or of a path that
// does not take the method; nil if there is none. A write is not guessed: it would lack its body
// and its key, and the caller may have meant another one.
func (x *exchange) nextRoute(refusal *fault.Error) *nextRequest {
	method, target := string(x.ctx.Method()), string(x.ctx.RequestURI())
	path, query, hasQuery := strings.Cut(target, "?")
	switch refusal.Code {
	case fault.MethodNotAllowed:
		allowed, _ := refusal.Details["allowed"].([]string)
		method = fasthttp.MethodGet
		if !slices.Contains(allowed, method) {
			return nil
		}
		query, hasQuery = "", false
	case fault.RouteNotFound:
		if method != fasthttp.MethodGet && method != fasthttp.MethodHead {
			return nil
		}
		if path = x.routes().nearest(method, path); path == "" {
			return nil
		}
	default:
		return nil
	}
	found, _ := x.routes().search(method, path, nil)
	if found == nil {
		return nil
	}
	if hasQuery {
		path += "?" + query
	}
	return &nextRequest{Operation: found.operation.Name, Method: method, Path: path}
}

// nearest returns the path of an operation that is most like a path without one, empty if none is
// like it: other segments of the template may differ by two letters.
func (r *routes) nearest(method, path string) string {
	const segmentsMax = 16
	path = strings.TrimRight(path, "/")
	given := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(path) > 1000 || len(given) > segmentsMax {
		return ""
	}
	best, away := "", 0
	for _, try := range [][]string{given, append([]string{"api", "v1"}, given...)} {
		for _, one := range r.all {
			if one.method != method || one.operation.Page {
				continue
			}
			if found, d := one.template.like(try); found != "" && (best == "" || d < away) {
				best, away = found, d
			}
		}
		if best != "" {
			return best
		}
	}
	return ""
}

// like returns a path with the literal segments of the template instead of similar ones, and by how
// many letters it differs; empty if a segment is not similar.
func (t *template) like(given []string) (path string, away int) {
	if len(given) != len(t.segments) || t.tail {
		return "", 0
	}
	for i, literal := range t.segments {
		segment := given[i]
		if literal != "" && segment != literal {
			d := api.EditDistance(segment, literal)
			if d > 2 || d > len(literal)/2 {
				return "", 0
			}
			away += d
			segment = literal
		} else if segment == "" {
			return "", 0
		}
		path += "/" + segment
	}
	return path, away
}
