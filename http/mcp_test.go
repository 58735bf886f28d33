package http

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pws/api"
)

// tableWithTools is the table of the fixture with some operations as tools.
func (f *fixture) tableWithTools() []*api.Operation {
	table := f.table()
	for _, op := range table {
		switch op.Name {
		case "file.read", "file.write", "search", "note.create", "panic", "fail", "held", "replay":
			op.Tool, op.Summary, op.Doc = op.Name, op.Name, op.Name+"."
			op.Core = op.Name == "search"
		}
		for _, name := range []string{"project", "path"} {
			if strings.Contains(op.Path, "{"+name) {
				op.Params = append(op.Params, api.Param{Name: name, Doc: name + "."})
			}
		}
	}
	return table
}

func startMCP(t testing.TB, cfg Config, limits []api.RateLimit) *fixture {
	t.Helper()
	cfg.Table = (&fixture{}).tableWithTools()
	return start(t, cfg, limits)
}

const goodMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

var (
	typeLine    = "Content-Type: application/json"
	versionLine = "MCP-Protocol-Version: 2026-07-28"
)

// rpcText is a request of the protocol.
func rpcText(id, method, params string) string {
	if params != "" {
		params = "," + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method,
		goodMeta, params)
}

type rpcAnswer struct {
	ID     json.RawMessage `json:"id"`
	Result *struct {
		ResultType string          `json:"resultType"`
		Content    []rpcContent    `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		Tools      []rpcTool       `json:"tools"`
		TTL        int             `json:"ttlMs"`
		Scope      string          `json:"cacheScope"`
		Meta       map[string]struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"_meta"`
	} `json:"result"`
	Error *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

type rpcContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type rpcTool struct {
	Name string `json:"name"`
}

func (a answer) rpc(t testing.TB) rpcAnswer {
	t.Helper()
	var out rpcAnswer
	if err := json.Unmarshal([]byte(a.body), &out); err != nil {
		t.Fatalf("%v in %d %q", err, a.status, a.body)
	}
	return out
}

// call calls a tool.
func (f *fixture) call(t testing.TB, name, arguments string, lines ...string) answer {
	t.Helper()
	return f.post(t, "/mcp", rpcText("7", "tools/call",
		fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments)),
		append([]string{typeLine, versionLine, "Mcp-Method: tools/call", "Mcp-Name: " + name},
			lines...)...)
}

// problem is the error of a refused call.
type problem struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
	Next    string         `json:"next_step"`
}

func (a answer) problem(t testing.TB) problem {
	t.Helper()
	said := a.rpc(t)
	text := []byte(nil)
	switch {
	case said.Error != nil:
		text = said.Error.Data
	case said.Result != nil && said.Result.IsError:
		text = said.Result.Structured
		if string(text) != said.Result.Content[0].Text {
			t.Errorf("the text is not the structured content: %s", a.body)
		}
	default:
		t.Fatalf("no refusal: %s", a.body)
	}
	var out problem
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	if out.Next == "" {
		t.Errorf("no next step: %s", a.body)
	}
	return out
}

const (
	versionMember = `"io.modelcontextprotocol/protocolVersion":`
	ableMember    = `"io.modelcontextprotocol/clientCapabilities":`
)

func withMeta(text string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{` + text + `}}}`
}

func asMethod(method string) string { return "Mcp-Method: " + method }

var toolsList = rpcText("1", "tools/list", "")

// protocolErrors are the refusals of the protocol. Each row also violates what is checked after it,
// so the rows also test the order.
var protocolErrors = []struct {
	name   string
	lines  []string
	body   string
	status int
	code   int
	id     string
}{
	{"origin", []string{"Origin: http://evil.example", "Content-Type: text/plain"}, "{", 403, 0, ""},
	{"origin of a rebound name", []string{"Origin: http://h:80"}, "{", 403, 0, ""},
	{"no origin", []string{"Origin: null"}, "{", 403, 0, ""},
	{"text", []string{"Content-Type: text/plain"}, "{", 415, 0, ""},
	{"no type", nil, "{", 400, rpcParse, ""},
	{"not JSON", []string{typeLine}, "{", 400, rpcParse, ""},
	{"empty", []string{typeLine}, "", 400, rpcParse, ""},
	{"twice", []string{typeLine}, toolsList + toolsList, 400, rpcParse, ""},
	{"a name twice", []string{typeLine}, `{"id":1,"id":1}`, 400, rpcParse, ""},
	{"not UTF-8", []string{typeLine}, "{\"id\":\"\xff\"}", 400, rpcParse, ""},
	{"half a pair in the parameters", []string{typeLine},
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"\ud83d"}}`, 400, rpcParse, "1"},
	{"half a pair as id", []string{typeLine}, `{"jsonrpc":"2.0","id":"\ud83d","method":"tools/call"}`,
		400, rpcParse, ""},
	{"two ids", []string{typeLine}, `{"jsonrpc":"2.0","id":1,"method":"tools/call","id":2}`,
		400, rpcParse, ""},
	{"a batch", []string{typeLine}, "[" + toolsList + "]", 400, rpcInvalid, ""},
	{"a text", []string{typeLine}, `"x"`, 400, rpcInvalid, ""},
	{"another version of JSON-RPC", []string{typeLine}, `{"jsonrpc":"1.0","id":1,"method":"x"}`,
		400, rpcInvalid, "1"},
	{"null id", []string{typeLine}, `{"jsonrpc":"2.0","id":null,"method":"x"}`, 400, rpcInvalid, ""},
	{"half an id", []string{typeLine}, `{"jsonrpc":"2.0","id":1.5,"method":"x"}`,
		400, rpcInvalid, ""},
	{"an object as id", []string{typeLine}, `{"jsonrpc":"2.0","id":{},"method":"x"}`,
		400, rpcInvalid, ""},
	{"a response", []string{typeLine}, `{"jsonrpc":"2.0","id":1,"result":{}}`, 400, rpcInvalid, "1"},
	{"no method", []string{typeLine}, `{"jsonrpc":"2.0","id":1}`, 400, rpcInvalid, "1"},
	{"a number as method", []string{typeLine}, `{"jsonrpc":"2.0","id":1,"method":1}`,
		400, rpcInvalid, "1"},
	{"a notification", []string{typeLine}, `{"jsonrpc":"2.0","method":"x"}`, 202, 0, ""},
	{"no version", []string{typeLine}, withMeta(versionMember + `1,` + ableMember + `{}`),
		400, rpcHeaders, "1"},
	{"discovery without a version", []string{typeLine},
		`{"jsonrpc":"2.0","id":"s","method":"server/discover"}`, 400, rpcHeaders, `"s"`},
	{"no parameters", []string{typeLine, versionLine},
		`{"jsonrpc":"2.0","id":1,"method":"x"}`, 400, rpcParams, "1"},
	{"a list of parameters", []string{typeLine, versionLine},
		`{"jsonrpc":"2.0","id":1,"method":"x","params":[]}`, 400, rpcParams, "1"},
	{"no _meta", []string{typeLine, versionLine},
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{}}`, 400, rpcParams, "1"},
	{"no version in _meta", []string{typeLine, versionLine},
		withMeta(ableMember + `{}`), 400, rpcParams, "1"},
	{"a number as version", []string{typeLine, versionLine},
		withMeta(versionMember + `1,` + ableMember + `{}`),
		400, rpcParams, "1"},
	{"no capabilities", []string{typeLine, versionLine}, withMeta(versionMember + `"2026-07-28"`),
		400, rpcParams, "1"},
	{"capabilities in a list", []string{typeLine, versionLine},
		withMeta(versionMember + `"2026-07-28",` + ableMember + `[]`), 400, rpcParams, "1"},
	{"another version in the header", []string{typeLine, versionLine, asMethod("x")},
		withMeta(versionMember + `"2030-01-01",` + ableMember + `{}`), 400, rpcHeaders, "1"},
	{"no method in the header", []string{typeLine, versionLine}, toolsList, 400, rpcHeaders, "1"},
	{"another method", []string{typeLine, versionLine, asMethod("TOOLS/LIST")}, toolsList,
		400, rpcHeaders, "1"},
	{"the method twice", []string{
		typeLine, versionLine, asMethod("tools/list"), asMethod("tools/list"),
	}, toolsList, 400, rpcHeaders, "1"},
	{"another header twice", []string{
		typeLine, versionLine, asMethod("tools/list"), "Mcp-Param-X: a", "mcp-param-x: a",
	}, toolsList, 400, rpcHeaders, "1"},
	{"no name in the header", []string{typeLine, versionLine, asMethod("tools/call")},
		rpcText("1", "tools/call", `"name":"search"`), 400, rpcHeaders, "1"},
	{"another name", []string{typeLine, versionLine, asMethod("tools/call"), "Mcp-Name: x"},
		rpcText("1", "tools/call", `"name":"search"`), 400, rpcHeaders, "1"},
	{"bad base64", []string{
		typeLine, versionLine, asMethod("tools/call"), "Mcp-Name: =?base64?c2VhcmNo*?=",
	}, rpcText("1", "tools/call", `"name":"search"`), 400, rpcHeaders, "1"},
	{"a version of tomorrow", []string{typeLine, "MCP-Protocol-Version: 2030-01-01", asMethod("x")},
		withMeta(versionMember + `"2030-01-01",` + ableMember + `{}`), 400, rpcVersion, "1"},
	{"an earlier version in the new form",
		[]string{typeLine, "MCP-Protocol-Version: 2025-11-25", asMethod("x")},
		withMeta(versionMember + `"2025-11-25",` + ableMember + `{}`), 400, rpcVersion, "1"},
	{"a version with a space", []string{
		typeLine, "MCP-Protocol-Version: =?base64?eCB5?=", asMethod("x"),
	}, withMeta(versionMember + `"x y",` + ableMember + `{}`), 400, rpcVersion, "1"},
	{"a method without text", []string{typeLine, versionLine, asMethod("=?base64??=")},
		rpcText("1", "", ""), 404, rpcNoMethod, "1"},
	{"another method in base64", []string{typeLine, versionLine, asMethod("=?base64?eCB5?=")},
		rpcText("1", "x", ""), 400, rpcHeaders, "1"},
	{"no such method", []string{typeLine, versionLine, asMethod("ping")}, rpcText("1", "ping", ""),
		404, rpcNoMethod, "1"},
	{"a cursor", []string{typeLine, versionLine, asMethod("tools/list")},
		rpcText("1", "tools/list", `"cursor":"x"`), 200, rpcParams, "1"},
	{"no such tool", []string{typeLine, versionLine, asMethod("tools/call"), "Mcp-Name: x"},
		rpcText("1", "tools/call", `"name":"x"`), 200, rpcParams, "1"},
	{"no tool", []string{typeLine, versionLine, asMethod("tools/call")},
		rpcText("1", "tools/call", ""), 200, rpcParams, "1"},
	{"a list of arguments", []string{
		typeLine, versionLine, asMethod("tools/call"), "Mcp-Name: note.create",
	}, rpcText("1", "tools/call", `"name":"note.create","arguments":[]`), 200, rpcParams, "1"},
}

func TestProtocolErrors(t *testing.T) {
	f := startMCP(t, Config{}, nil)
	for _, test := range protocolErrors {
		t.Run(test.name, func(t *testing.T) {
			got := f.post(t, "/mcp", test.body, test.lines...)
			if got.status != test.status {
				t.Fatalf("status %d, want %d: %s", got.status, test.status, got.body)
			}
			if test.code == 0 {
				return
			}
			said := got.rpc(t)
			if said.Error == nil || said.Error.Code != test.code || said.Error.Message == "" {
				t.Errorf("want %d: %s", test.code, got.body)
			}
			if string(said.ID) != test.id {
				t.Errorf("id %s, want %s", said.ID, test.id)
			}
		})
	}
}

func TestMethodsOfTheEndpoint(t *testing.T) {
	f := startMCP(t, Config{}, nil)
	for _, method := range []string{"GET", "DELETE", "PUT", "PATCH"} {
		got := f.ask(t, method, "/mcp")
		if got.status != 405 || got.header.Get("Allow") != "POST" {
			t.Errorf("%s: %d, Allow %q", method, got.status, got.header.Get("Allow"))
		}
	}
	for _, path := range []string{
		"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
		"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/register",
	} {
		if got := f.ask(t, "GET", path); got.status != 404 || got.header.Get("Www-Authenticate") != "" {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

func TestForeignOriginsAreRefused(t *testing.T) {
	f := startMCP(t, Config{Origins: []string{"https://app.example"}}, nil)
	tests := map[string]int{
		"https://app.example": 400, "https://app.example.evil": 403, "http://localhost:6274": 400,
		"http://127.0.0.1": 400, "http://[::1]:80": 400, "http://localhost.evil": 403,
		"ftp://localhost": 403, "https://127.0.0.1.evil": 403, "localhost": 403,
	}
	for origin, status := range tests {
		if got := f.post(t, "/mcp", "{", typeLine, "Origin: "+origin); got.status != status {
			t.Errorf("%s: %d, want %d", origin, got.status, status)
		}
	}
	if got := f.ask(t, "GET", "/mcp"); got.header.Get("Allow") != "OPTIONS, POST" {
		t.Errorf("Allow %q", got.header.Get("Allow"))
	}
	got := f.ask(t, "OPTIONS", "/mcp", "Origin: https://app.example",
		"Access-Control-Request-Method: POST")
	if got.status != 204 || !strings.Contains(got.header.Get("Access-Control-Allow-Headers"),
		"Mcp-Name") || !strings.Contains(got.header.Get("Access-Control-Allow-Methods"), "POST") {
		t.Errorf("preflight: %d %v", got.status, got.header)
	}
}

func TestDiscoverAndList(t *testing.T) {
	f := startMCP(t, Config{}, nil)
	got := f.post(t, "/mcp", rpcText(`"x\u0041"`, "server/discover", ""), typeLine, versionLine,
		"mcp-method:   server/discover  ")
	said := got.rpc(t)
	if got.status != 200 || string(said.ID) != `"x\u0041"` || said.Result.ResultType != "complete" ||
		said.Result.Meta["io.modelcontextprotocol/serverInfo"].Name == "" || said.Result.TTL == 0 ||
		said.Result.Scope != "public" ||
		!strings.Contains(got.body, `"supportedVersions":["2026-07-28"]`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	tests := map[string][]string{
		"/mcp":                                []string{"file.read", "note.create", "search"},
		"/mcp?profile=core":                   []string{"search"},
		"/mcp?names=underscore":               []string{"file_read", "note_create", "search"},
		"/mcp?names=underscore&profile=core":  []string{"search"},
		"/mcp?profile=core&names=dots&else=1": []string{"search"},
	}
	for target, want := range tests {
		said := f.post(t, target, rpcText("1", "tools/list", ""), typeLine, versionLine,
			"Mcp-Method: tools/list").rpc(t)
		var names []string
		for _, one := range said.Result.Tools {
			names = append(names, one.Name)
		}
		for _, name := range want {
			if !slices.Contains(names, name) {
				t.Errorf("%s lists %v", target, names)
			}
		}
		if core := strings.Contains(target, "=core"); core != (len(names) == 1) {
			t.Errorf("%s lists %v", target, names)
		}
	}
}

func TestToolCallsBecomeRequests(t *testing.T) {
	f := startMCP(t, Config{}, nil)
	const session = "Authorization: Bearer good"
	key := "Idempotency-Key: k1"
	write := `{"project":"p/1","text":"x","count":3,"verbose":true}`
	tests := []struct {
		name, tool, arguments string
		lines                 []string
		want                  string
	}{
		{"a path", "file.read", `{"path":"a b/c+d/é.md"}`, nil, `"params":["a%20b/c%2Bd/%C3%A9.md"]`},
		{"one segment", "note.create", write, []string{session, key}, `"params":["p%2F1"]`},
		{"an agent", "note.create", write, []string{session, key}, `"text":"x"`},
		{"a query", "search", `{"q":"a&b","depth":2,"limit":7}`, nil,
			`"query":{"depth":"2","limit":"7","q":"a&b"}`},
		{"a page", "search", `{"q":"x","depth":null}`, nil, `"query":{"limit":"20","q":"x"}`},
		{"a whole number", "search", `{"q":"x","limit":2e1}`, nil, `"limit":"20"`},
		{"the name in base64", "search", `{"q":"x"}`, nil, `"q":"x"`},
		{"an alias", "note_create", write, []string{session, key}, `"text":"x"`},
	}
	for _, test := range tests {
		got := f.call(t, test.tool, test.arguments, test.lines...)
		said := got.rpc(t)
		if got.status != 200 || said.Result == nil || said.Result.IsError {
			t.Errorf("%s: %d %s", test.name, got.status, got.body)
			continue
		}
		if string(said.Result.Structured) != said.Result.Content[0].Text ||
			!strings.Contains(said.Result.Content[0].Text, test.want) {
			t.Errorf("%s: %s", test.name, got.body)
		}
		if got.header.Get("Etag") != "" {
			t.Errorf("%s: an ETag", test.name)
		}
	}
	got := f.post(t, "/mcp", rpcText("7", "tools/call", `"name":"search","arguments":{"q":"x"}`),
		typeLine, versionLine, "Mcp-Method: tools/call", "Mcp-Name: =?base64?c2VhcmNo?=")
	if got.rpc(t).Result == nil {
		t.Errorf("the name in base64: %s", got.body)
	}
}

func TestRefusedCalls(t *testing.T) {
	f := startMCP(t, Config{}, nil)
	const session, key = "Authorization: Bearer good", "Idempotency-Key: k1"
	tests := []struct {
		name, tool, arguments string
		lines                 []string
		status                int
		code, says            string
	}{
		{"anonymous", "note.create", `{"no":1}`, nil, 200, "AUTHENTICATION_REQUIRED", "register/start"},
		{"an invalid credential", "note.create", `{"no":1}`, []string{"Authorization: Bearer bad"},
			401, "SESSION_INVALID", ""},
		{"an expired credential", "search", `{"no":1}`, []string{"Authorization: Bearer expired"},
			401, "SESSION_EXPIRED", ""},
		{"another scheme", "search", `{"no":1}`, []string{"Authorization: Basic x"},
			401, "SESSION_INVALID", ""},
		{"unknown", "search", `{"q":"x","no":1}`, nil, 200, "VALIDATION_FAILED", `"no"`},
		{"unknown in a body", "note.create", `{"project":"p","text":"x","no":1}`,
			[]string{session, key}, 200, "VALIDATION_FAILED", `"no"`},
		{"missing", "search", `{"depth":"x"}`, nil, 200, "VALIDATION_FAILED", `"q"`},
		{"of another type", "search", `{"q":1}`, nil, 200, "VALIDATION_FAILED", `"q"`},
		{"no path", "file.read", `{}`, nil, 200, "VALIDATION_FAILED", `"path"`},
		{"an empty path", "file.read", `{"path":""}`, nil, 200, "VALIDATION_FAILED", `"path"`},
		{"a page too large", "search", `{"q":"x","limit":201}`, nil,
			200, "PAGINATION_LIMIT_INVALID", "200"},
		{"no key", "note.create", `{"project":"p","text":"x"}`, []string{session},
			200, "IDEMPOTENCY_KEY_REQUIRED", "idempotency_key"},
		{"two keys", "note.create", `{"project":"p","text":"x","idempotency_key":"k2"}`,
			[]string{session, key}, 200, "VALIDATION_FAILED", "idempotency_key"},
		{"a bad key", "note.create", `{"project":"p","text":"x","idempotency_key":"é"}`,
			[]string{session}, 200, "IDEMPOTENCY_KEY_INVALID", ""},
		{"a value", "note.create", `{"project":"p","text":"x","count":10,"idempotency_key":"k"}`,
			[]string{session}, 200, "VALIDATION_FAILED", `"count"`},
		{"storage", "held", `{}`, nil, 200, "STORAGE_UNAVAILABLE", ""},
		{"a crash", "panic", `{}`, nil, 500, "INTERNAL", ""},
		{"a failure", "fail", `{}`, nil, 500, "INTERNAL", ""},
	}
	for _, test := range tests {
		got := f.call(t, test.tool, test.arguments, test.lines...)
		said := got.problem(t)
		if got.status != test.status || said.Code != test.code ||
			!strings.Contains(got.body, strings.ReplaceAll(test.says, `"`, `\"`)) {
			t.Errorf("%s: %d %s", test.name, got.status, got.body)
		}
		if string(got.rpc(t).ID) != "7" {
			t.Errorf("%s: id %s", test.name, got.body)
		}
		challenge := got.header.Get("Www-Authenticate")
		if (test.status == 401) != (challenge == `Bearer error="invalid_token"`) {
			t.Errorf("%s: WWW-Authenticate %q", test.name, challenge)
		}
		if strings.Contains(got.body, "secret reason") {
			t.Errorf("%s shows the reason: %s", test.name, got.body)
		}
		if test.status == 500 && !strings.Contains(got.body, `"code":-32603`) {
			t.Errorf("%s: %s", test.name, got.body)
		}
	}
}

// TestOneKeyForBothProtocols compares the hashes of a request over REST and over MCP.
func TestOneKeyForBothProtocols(t *testing.T) {
	f := startMCP(t, Config{}, nil)
	const session, key = "Authorization: Bearer good", "Idempotency-Key: k1"
	overREST := f.post(t, "/v1/projects/prj_1/notes", `{"count": 3, "text": "x"}`, session, key,
		typeLine).echoed(t)
	for _, arguments := range []string{
		`{"project":"prj_1","text":"x","count":3,"verbose":true,"idempotency_key":"k1"}`,
		`{"verbose":true,"text":"x","idempotency_key":"k1","project":"prj_1","count":3}`,
	} {
		var overMCP echoed
		text := f.call(t, "note.create", arguments, session).rpc(t).Result.Structured
		if err := json.Unmarshal(text, &overMCP); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(overREST.Key, overMCP.Key) || len(overMCP.Key) == 0 {
			t.Errorf("%v over REST, %v over MCP", overREST.Key, overMCP.Key)
		}
	}
	if got := f.call(t, "replay", `{}`); got.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%v", got.header)
	}
}

func TestLimitsOfCalls(t *testing.T) {
	limits := []api.RateLimit{
		{Name: "anonymous", Scope: ScopeIP, Quota: 3, WindowSeconds: 60},
		{
			Name: "agent-write", Scope: ScopeAgent, Category: api.CategoryWrite, Quota: 1,
			WindowSeconds: 60,
		},
	}
	f := startMCP(t, Config{}, limits)
	const session, key = "Authorization: Bearer good", "Idempotency-Key: k1"
	note := `{"project":"p","text":"x"}`
	if got := f.call(t, "note.create", note, session, key); got.status != 200 ||
		got.header.Get("RateLimit-Limit") != "1" {
		t.Errorf("%d %v", got.status, got.header)
	}
	limited := f.call(t, "note.create", note, session, key)
	if limited.status != 429 || limited.header.Get("Retry-After") == "" ||
		limited.problem(t).Code != "RATE_LIMITED" || limited.rpc(t).Error.Code != rpcRateLimited {
		t.Errorf("%d %s", limited.status, limited.body)
	}
	// A malformed message counts, too. Beyond the limit, the answer still has the id of the message.
	for range 3 {
		f.post(t, "/mcp", "{", typeLine)
	}
	if got := f.post(t, "/mcp", "{", typeLine); got.status != 429 || len(got.rpc(t).ID) > 0 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := f.call(t, "note.read", `{"project":"p"}`); got.status != 429 ||
		string(got.rpc(t).ID) != "7" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestEarlierProtocol(t *testing.T) {
	f := startMCP(t, Config{}, nil)
	ask := func(text string, lines ...string) answer {
		return f.post(t, "/mcp", text, append(lines, typeLine)...)
	}
	for asked, answered := range map[string]string{
		"2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2024-11-05": "2025-11-25",
	} {
		got := ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` +
			asked + `","capabilities":{}}}`)
		if got.status != 200 || !strings.Contains(got.body, `"protocolVersion":"`+answered+`"`) ||
			!strings.Contains(got.body, `"serverInfo":{"name":`) ||
			got.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	const earlier = "MCP-Protocol-Version: 2025-11-25"
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:       `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"no"}`:         `"code":-32601`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`: `"result":{"tools":[{`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":` +
			`{"q":"x"}}}`: `"result":{"content":[{"type":"text"`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no"}}`: `"code":-32602`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`:            `"code":-32602`,
	} {
		got := ask(text, earlier)
		if got.status != 200 || !strings.Contains(got.body, want) ||
			strings.Contains(got.body, "resultType") || strings.Contains(got.body, "_meta") {
			t.Errorf("%s: %d %s", text, got.status, got.body)
		}
	}
	notified := ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, earlier)
	if got := notified; got.status != 202 || got.body != "" {
		t.Errorf("%d %s", got.status, got.body)
	}
	f.mcp.earlier = false
	if got := ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); got.status != 400 ||
		got.rpc(t).Error.Code != rpcHeaders {
		t.Errorf("switched off: %d %s", got.status, got.body)
	}
}

// TestRequestsWithoutAToolHaveAResource: metrics count them under a name.
func TestRequestsWithoutAToolHaveAResource(t *testing.T) {
	seen := make(chan string, 1)
	f := startMCP(t, Config{
		Observe: func(one Observation) { seen <- one.Operation.Tag },
	}, nil)
	for _, body := range []string{
		"{", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
	} {
		f.post(t, "/mcp", body, typeLine)
		if got := <-seen; got != "mcp" {
			t.Errorf("%s counts for %q", body, got)
		}
	}
}
