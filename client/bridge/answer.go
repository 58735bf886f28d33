package bridge

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// Codes of errors of JSON-RPC.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeInternal = -32603
)

// The codes of results that the bridge makes; all others are of the interface.
const (
	codeUnreachable = "SERVER_UNREACHABLE"
	codeSignIn      = "AUTHENTICATION_REQUIRED"
	codeFailed      = "CLIENT"
	codeRunning     = "IDEMPOTENCY_IN_PROGRESS"
)

// unsureCodes are those of refusals AFTER which a call may have been carried out, or will be.
var unsureCodes = []string{codeRunning, "STORAGE_UNAVAILABLE", "SHUTTING_DOWN", "INTERNAL"}

// problem is a failure as agents read it, with the members of a refusal of the server.
type problem struct {
	Code     string         `json:"code"`
	Message  string         `json:"message"`
	Details  map[string]any `json:"details"`
	NextStep string         `json:"next_step"`
}

// errorAnswer is an error of JSON-RPC. Without an id the id is null.
func errorAnswer(id jsontext.Value, code int, message string) []byte {
	return rpcError(id, code, message, nil)
}

func rpcError(id jsontext.Value, code int, message string, data *problem) []byte {
	if len(id) == 0 {
		id = jsontext.Value("null")
	}
	type failure struct {
		Code    int      `json:"code"`
		Message string   `json:"message"`
		Data    *problem `json:"data,omitzero"`
	}
	return marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   failure        `json:"error"`
	}{"2.0", id, failure{code, message, data}})
}

// failed is the answer to a request that the server has not answered: for a call of a tool a result
// with isError, else an error.
func (b *Bridge) failed(m *message, p *problem) []byte {
	if m.method != methodCall {
		return rpcError(m.id, codeInternal, p.Message, p)
	}
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	result := struct {
		Type    string         `json:"resultType,omitzero"`
		Content []text         `json:"content"`
		Data    *problem       `json:"structuredContent"`
		IsError bool           `json:"isError"`
		Meta    map[string]any `json:"_meta,omitzero"`
	}{Content: []text{{"text", string(marshal(p))}}, Data: p, IsError: true}
	if m.modern {
		result.Type = "complete"
		result.Meta = map[string]any{"io.modelcontextprotocol/serverInfo": map[string]any{
			"name": "pws", "version": b.cfg.Version,
		}}
	}
	return marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Result  any            `json:"result"`
	}{"2.0", m.id, result})
}

// marshal makes JSON of types that always have some.
func marshal(value any) []byte {
	text, err := json.Marshal(value, json.Deterministic(true), lenient)
	if err != nil {
		panic("bridge: no JSON: " + err.Error())
	}
	return text
}

// answers reports whether JSON is a response of JSON-RPC to the request.
func (m *message) answers(body []byte) bool {
	if rest, found := bytes.CutPrefix(body, []byte(`{"jsonrpc":"2.0","id":`)); found {
		if rest, found = bytes.CutPrefix(rest, m.id); found && len(rest) > 0 && rest[0] == ',' {
			return true
		}
	}
	var response struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
	}
	return json.Unmarshal(body, &response, lenient) == nil && response.Version == "2.0" &&
		idText(response.ID) == idText(m.id)
}

// beginOfAnswer is how the answers of the endpoint begin.
const beginOfAnswer = `{"jsonrpc":"2.0",`

// response is an answer to the request, nil if a body is none. An error that the server could not
// match with the request gets its id.
func (m *message) response(body []byte) []byte {
	if !jsontext.Value(body).IsValid(lenient) {
		return nil
	}
	if m.answers(body) {
		return body
	}
	if rest, found := bytes.CutPrefix(body, []byte(beginOfAnswer+`"error":`)); found {
		return bytes.Join([][]byte{
			[]byte(beginOfAnswer + `"id":`), m.id, []byte(`,"error":`), rest,
		}, nil)
	}
	return nil
}

// isCut reports whether a body that is no response is the beginning of one. A connection whose end
// is that of the body can lose the rest unseen.
func isCut(body []byte) bool {
	size := min(len(body), len(beginOfAnswer))
	return string(body[:size]) == beginOfAnswer[:size] && !jsontext.Value(body).IsValid(lenient)
}

// refusalCode is the code of a result with isError, empty for other answers.
func refusalCode(body []byte) string {
	if refused := refusalIn(body); refused != nil {
		return refused.Code
	}
	return ""
}

// refusalIn is what a result with isError says, nil for other answers.
func refusalIn(body []byte) *client.Failure {
	// Refusals are small; the largest results are not read again.
	const refusalMax = 256 << 10
	if len(body) > refusalMax || !bytes.Contains(body, []byte(`"isError":true`)) {
		return nil
	}
	var response struct {
		Result struct {
			IsError bool            `json:"isError"`
			Data    *client.Failure `json:"structuredContent"`
		} `json:"result"`
	}
	if json.Unmarshal(body, &response, lenient) != nil || !response.Result.IsError {
		return nil
	}
	return response.Result.Data
}

// withText returns an answer whose result has one text more. Answers without texts stay as they
// are.
func withText(body []byte, text string) []byte {
	end := contentEnd(body)
	if end < 0 {
		return body
	}
	out := append(make([]byte, 0, len(body)+len(text)+64), body[:end]...)
	out = append(out, `,{"type":"text","text":`...)
	out = append(append(out, quoted(text)...), '}')
	return append(out, body[end:]...)
}

// withoutReplay returns the answer that was lost before its replay. The mark and its text concern a
// key that only the bridge knows. Answers that are no replay stay as they are.
func withoutReplay(body []byte) []byte {
	tail := bytes.LastIndex(body, []byte(`,"isError":`))
	if tail < 0 {
		return body
	}
	mark := bytes.Index(body[tail:], []byte(`"pws/replay":{`))
	if mark < 0 {
		return body
	}
	mark += tail
	d := valueAt(body, "result", "content")
	if d == nil || d.PeekKind() != '[' {
		return body
	}
	if _, err := d.ReadToken(); err != nil || d.SkipValue() != nil {
		return body
	}
	first := d.InputOffset()
	if d.SkipValue() != nil {
		return body
	}
	out := append(make([]byte, 0, len(body)), body[:first]...)
	out = append(out, body[d.InputOffset():mark]...)
	if whole, found := bytes.CutSuffix(out, []byte(`,"_meta":{`)); found {
		return append(whole, `}}`...)
	}
	return append(bytes.TrimSuffix(out, []byte(`,`)), `}}}`...)
}

// contentEnd is the offset of the end of the list of texts, which is not empty; negative if there
// is none.
func contentEnd(body []byte) int64 {
	d := valueAt(body, "result", "content")
	if d == nil || d.PeekKind() != '[' {
		return -1
	}
	if _, err := d.ReadToken(); err != nil || d.PeekKind() == ']' {
		return -1
	}
	for d.PeekKind() != ']' {
		if d.SkipValue() != nil {
			return -1
		}
	}
	return d.InputOffset()
}

// valueAt returns a decoder in front of the value at a path of names, nil if there is none.
func valueAt(body []byte, path ...string) *jsontext.Decoder {
	d := jsontext.NewDecoder(bytes.NewReader(body), lenient)
	for _, name := range path {
		if d.PeekKind() != '{' {
			return nil
		}
		if _, err := d.ReadToken(); err != nil {
			return nil
		}
		for {
			token, err := d.ReadToken()
			if err != nil || token.Kind() == '}' {
				return nil
			}
			if token.String() == name {
				break
			}
			if d.SkipValue() != nil {
				return nil
			}
		}
	}
	return d
}

// quoted is a text as a JSON string.
func quoted(text string) []byte {
	return marshal(text)
}
