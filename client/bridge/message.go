package bridge

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// version is the protocol's version whose requests have headers. Requests of earlier versions have
// none.
const version = "2026-07-28"

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"

	methodCall     = "tools/call"
	methodDiscover = "server/discover"
)

// message is what the bridge reads of a line; the server checks the rest.
type message struct {
	line []byte
	kind kind
	// came is when the line was handled. moved is called when bytes of its request went on; nil does
	// nothing.
	came  time.Time
	moved func()
	// id is the raw id of a request.
	id     jsontext.Value
	method string
	// modern says that the request is one of the present version of the protocol.
	modern bool
	// protocol is the version that _meta names, if it is a text.
	protocol string
	// initial is the version that initialize asks for.
	initial string
	// tool is the name of the tool that is called, and named that there is one.
	tool  string
	named bool
	// key is the Idempotency-Key among the arguments, if there is one that a header can have.
	key string
	// ownKey says that the arguments have the member of the key, whatever its value is.
	ownKey bool
	// waits says that the server may wait before it answers.
	waits bool
	// same is equal for calls of the same tool with the same arguments.
	same [sha256.Size]byte
	// target is equal for calls whose arguments name the same thing to be changed.
	target [sha256.Size]byte
	// progress is the raw token of a request that wants notes of its progress.
	progress jsontext.Value
	// cancels is the raw id of the request that a notification cancels.
	cancels jsontext.Value
}

// kind is what a line is.
type kind uint8

const (
	// notJSON has no syntax of JSON, notRequest is JSON but no message of a client.
	notJSON kind = iota
	notRequest
	// tooDeep is a request that is nested deeper than it can be parsed.
	tooDeep
	request
	notification
	// response answers a request of the server, which sends none.
	response
)

// lenient leaves it to the server to refuse what only it checks.
var lenient = json.JoinOptions(
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// parse reads a line.
func parse(line []byte) *message {
	m := &message{line: line}
	value := jsontext.Value(line)
	// A text of JSON is UTF-8. An id that is not would be answered as it is.
	if !utf8.Valid(line) {
		return m
	}
	if !value.IsValid(lenient) {
		var seen scan
		seen.read(line)
		if id := seen.request(); id != nil && seen.deepest > depthMax {
			m.kind, m.id = tooDeep, id
		}
		return m
	}
	m.kind = notRequest
	var wire struct {
		Version jsontext.Value `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Method  jsontext.Value `json:"method"`
		Params  jsontext.Value `json:"params"`
		Result  jsontext.Value `json:"result"`
		Error   jsontext.Value `json:"error"`
	}
	if value.Kind() != '{' || json.Unmarshal(line, &wire, lenient) != nil {
		return m
	}
	var methodIsText bool
	m.method, methodIsText = textOf(wire.Method)
	answers := len(wire.Result) > 0 || len(wire.Error) > 0
	switch rpc, _ := textOf(wire.Version); {
	case rpc != "2.0":
		return m
	case answers && len(wire.Method) == 0:
		m.kind = response
		return m
	case answers, !methodIsText:
		return m
	case len(wire.ID) == 0:
		m.kind = notification
	case isID(wire.ID):
		m.kind, m.id = request, wire.ID
	default:
		return m
	}
	m.readParams(wire.Params)
	return m
}

// readParams reads the parameters of a request or notification.
func (m *message) readParams(raw jsontext.Value) {
	m.modern = m.method == methodDiscover
	var params struct {
		Meta      jsontext.Value `json:"_meta"`
		Name      jsontext.Value `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
		RequestID jsontext.Value `json:"requestId"`
		Protocol  jsontext.Value `json:"protocolVersion"`
	}
	if raw.Kind() != '{' || json.Unmarshal(raw, &params, lenient) != nil {
		return
	}
	m.cancels = params.RequestID
	m.initial, _ = textOf(params.Protocol)
	var meta map[string]jsontext.Value
	if params.Meta.Kind() == '{' && json.Unmarshal(params.Meta, &meta, lenient) == nil {
		protocol, hasVersion := meta[metaVersion]
		_, hasCapabilities := meta[metaCapabilities]
		m.modern = m.modern || hasVersion || hasCapabilities
		m.protocol, _ = textOf(protocol)
		if token := meta["progressToken"]; isID(token) {
			m.progress = token
		}
	}
	if m.method != methodCall {
		return
	}
	m.tool, m.named = textOf(params.Name)
	m.same = sha256.Sum256(bytes.Join([][]byte{[]byte(m.tool), params.Arguments}, []byte{0}))
	var arguments map[string]jsontext.Value
	if params.Arguments.Kind() == '{' && json.Unmarshal(params.Arguments, &arguments, lenient) == nil {
		m.waits = len(arguments["wait"]) > 0
		key := arguments["idempotency_key"]
		m.ownKey = len(key) > 0 && key.Kind() != 'n'
		if text, _ := textOf(key); isVisible(text) {
			m.key = text
		}
	}
	m.target = targetOf(arguments)
}

// targetNames are the arguments that name what a tool changes: the parameters of paths.
var targetNames = []string{
	"project", "task", "path", "workspace", "session", "discussion", "comment", "contribution",
	"revision", "review", "handoff", "artifact", "verification", "relation", "agent", "key", "item",
}

func targetOf(arguments map[string]jsontext.Value) [sha256.Size]byte {
	var parts [][]byte
	for _, name := range targetNames {
		parts = append(parts, arguments[name])
	}
	return sha256.Sum256(bytes.Join(parts, []byte{0}))
}

// textOf is the text of a JSON string; it returns false for other values.
func textOf(value jsontext.Value) (string, bool) {
	if len(value) == 0 || value.Kind() != '"' {
		return "", false
	}
	var text string
	err := json.Unmarshal(value, &text, lenient)
	return text, err == nil
}

// isID reports whether a value is a string or an integer.
func isID(value jsontext.Value) bool {
	if len(value) == 0 {
		return false
	}
	kind := value.Kind()
	return kind == '"' || kind == '0' && !bytes.ContainsAny(value, ".eE")
}

// isVisible reports whether a text can be the value of a header as it is.
func isVisible(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// headers are those of the endpoint, which repeat what a request of the present version says.
func (m *message) headers() map[string]string {
	if !m.modern {
		return nil
	}
	protocol := m.protocol
	if protocol == "" {
		// The server then says what _meta lacks.
		protocol = version
	}
	all := map[string]string{
		"Mcp-Protocol-Version": headerValue(protocol), "Mcp-Method": headerValue(m.method),
	}
	if m.method == methodCall && m.named {
		all["Mcp-Name"] = headerValue(m.tool)
	}
	return all
}

// headersMax bounds the headers of the endpoint, in bytes. Servers take 16 KiB of all headers.
const headersMax = 8 << 10

// headersBytes is the size of the headers of the endpoint.
func (m *message) headersBytes() (size int) {
	for name, value := range m.headers() {
		size += len(name) + len(value)
	}
	return size
}

// headerValue is a text as the value of a header, in base64 if it must be.
func headerValue(text string) string {
	if isVisible(text) && !strings.HasPrefix(text, "=?base64?") {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// idText is equal for ids that are equal.
func idText(id jsontext.Value) string {
	if text, ok := textOf(id); ok {
		return `"` + text
	}
	return string(id)
}

// short is a text of the host as a log has it.
func short(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
