package http

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRoutesAndTargets(t *testing.T) {
	f := start(t, Config{}, nil)
	long := strings.Repeat("a", 20000)
	cases := []struct {
		method, target string
		status         int
		want           string // code, or operation parameters
	}{
		{"GET", "/", 200, ""},
		{"GET", "/v1/agents/me2", 200, "me2"},
		{"GET", "/v1/agents/me", 401, "AUTHENTICATION_REQUIRED"},
		{"GET", "/v1/agents/me/", 404, "ROUTE_NOT_FOUND"},
		{"GET", "/v1/agents/", 404, "ROUTE_NOT_FOUND"},
		{"GET", "/v1/agents", 404, "ROUTE_NOT_FOUND"},
		{"GET", "/v1/agents/a/b", 404, "ROUTE_NOT_FOUND"},
		{"GET", "/V1/agents/a", 404, "ROUTE_NOT_FOUND"},
		{"GET", "//v1/agents/a", 404, "ROUTE_NOT_FOUND"},
		{"GET", "//host/v1/agents/a", 404, "ROUTE_NOT_FOUND"},
		{"GET", "/v1//agents/a", 404, "ROUTE_NOT_FOUND"},
		{"GET", "/v1/x/../agents/a", 404, "ROUTE_NOT_FOUND"},
		{"GET", "/v1/agents/%2e%2e", 200, "%2e%2e"},
		{"GET", "/v1/files/a/b%2Fc/../d//e%zz", 200, "a/b%2Fc/../d//e%zz"},
		{"GET", "/v1/files/a/", 200, "a/"},
		{"GET", "/v1/files/", 404, "ROUTE_NOT_FOUND"},
		{"GET", "/v1/files", 404, "ROUTE_NOT_FOUND"},
		{"GET", "/v1/files/a/rename", 200, "a/rename"},
		{"POST", "/v1/files/a/b/rename", 201, "a/b"},
		{"POST", "/v1/files/rename", 405, "METHOD_NOT_ALLOWED"},
		{"POST", "/v1/files/rename/rename", 201, "rename"},
		{"POST", "/v1/files/a", 405, "METHOD_NOT_ALLOWED"},
		{"DELETE", "/v1/files/a", 405, "METHOD_NOT_ALLOWED"},
		{"BREW", "/v1/files/a", 405, "METHOD_NOT_ALLOWED"},
		{"get", "/v1/files/a", 405, "METHOD_NOT_ALLOWED"},
		{"CONNECT", "/v1/files/a", 405, "METHOD_NOT_ALLOWED"},
		{"GET", "http://elsewhere/v1/agents/a", 200, "a"},
		{"GET", "HTTPS://elsewhere:1/v1/agents/a", 200, "a"},
		{"GET", "http://elsewhere", 200, ""},
		{"GET", "http://elsewhere?", 200, ""},
		{"GET", "http:///v1/agents/a", 400, "VALIDATION_FAILED"},
		{"GET", "ftp://h/v1/agents/a", 400, "VALIDATION_FAILED"},
		{"CONNECT", "h:443", 400, "VALIDATION_FAILED"},
		{"GET", "*", 400, "VALIDATION_FAILED"},
		{"GET", "v1/agents/a", 400, "VALIDATION_FAILED"},
		{"GET", "/v1/agents/a#b", 400, "VALIDATION_FAILED"},
		{"GET", "/v1/agents/ä", 400, "VALIDATION_FAILED"},
		{"GET", "/v1/agents/a\x01", 400, "VALIDATION_FAILED"},
		{"GET", "/v1/agents/a\x7f", 400, "VALIDATION_FAILED"},
		{"GET", "/v1/agents/a b", 400, "VALIDATION_FAILED"},
		{"GET", "/v1/agents/" + long, 431, "HEADERS_TOO_LARGE"},
	}
	for _, c := range cases {
		a := f.ask(t, c.method, c.target)
		if a.status != c.status {
			t.Errorf("%s %.50q: %d, want %d: %s", c.method, c.target, a.status, c.status, a.body)
			continue
		}
		if a.status >= 400 {
			if got := a.code(t); got != c.want {
				t.Errorf("%s %.50q: %s, want %s", c.method, c.target, got, c.want)
			}
		} else if got := strings.Join(a.echoed(t).Params, "|"); got != c.want {
			t.Errorf("%s %.50q: parameters %q, want %q", c.method, c.target, got, c.want)
		}
	}
	if got := f.ask(t, "POST", "/v1/files/a").header.Get("Allow"); got != "GET, HEAD, OPTIONS, PUT" {
		t.Errorf("Allow: %s", got)
	}
}

func TestHeadEqualsGet(t *testing.T) {
	f := start(t, Config{}, nil)
	get, head := f.ask(t, "GET", "/v1/files/a"), f.ask(t, "HEAD", "/v1/files/a")
	if head.status != 200 || head.body != "" ||
		head.header.Get("Content-Length") != itoa(len(get.body)) ||
		head.header.Get("ETag") != `"tag"` {
		t.Errorf("%+v", head)
	}
	if got := f.ask(t, "HEAD", "/v1/none"); got.status != 404 || got.body != "" {
		t.Errorf("%+v", got)
	}
	// The body of a GET is ignored, and the next request on the connection is served.
	w := f.dial(t)
	w.send("GET /v1/agents/a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nGET /" +
		"GET /v1/agents/b HTTP/1.1\r\nHost: h\r\n\r\n")
	if w.receive("GET").echoed(t).Params[0] != "a" || w.receive("GET").echoed(t).Params[0] != "b" {
		t.Error("the body of a GET was taken for a request")
	}
}

func TestSmuggledRequestsAreRefused(t *testing.T) {
	f := start(t, Config{}, nil)
	const second = "GET /v1/agents/smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
	const body = `{"text":"a"}`
	for name, head := range map[string]string{
		"both":           "Content-Length: 12\r\nTransfer-Encoding: chunked\r\n",
		"both, reversed": "Transfer-Encoding: chunked\r\nContent-Length: 12\r\n",
		"both, identity": "Transfer-Encoding: identity\r\ncontent-length: 12\r\n",
		"two lengths":    "Content-Length: 12\r\nContent-Length: 12\r\n",
		"other lengths":  "Content-Length: 12\r\nContent-Length: 13\r\n",
		"list":           "Content-Length: 12, 12\r\n",
		"plus":           "Content-Length: +12\r\n",
		"negative":       "Content-Length: -12\r\n",
		"hex":            "Content-Length: 0xc\r\n",
		"space":          "Content-Length : 12\r\n",
		"two codings":    "Transfer-Encoding: gzip, chunked\r\n",
		"twice":          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"unknown":        "Transfer-Encoding: xchunked\r\n",
		"two hosts":      "Host: other\r\nContent-Length: 12\r\n",
		"bare LF":        "Content-Length: 12\nX: y\r\n",
		"bare CR":        "X: a\rb\r\nContent-Length: 12\r\n",
		"NUL":            "X: a\x00b\r\nContent-Length: 12\r\n",
		"no colon":       "Nonsense\r\nContent-Length: 12\r\n",
	} {
		w := f.dial(t)
		w.send("POST /v1/echo HTTP/1.1\r\nHost: h\r\n" + head + "\r\n" + body + second)
		a := w.receive("POST")
		if a.status != 400 || a.code(t) != "VALIDATION_FAILED" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		if !w.closed() {
			t.Errorf("%s: the connection lives on", name)
		}
	}
	for _, text := range []string{
		"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", "GET /\r\n\r\n",
		"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "\x16\x03\x01 hello\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n Host: h\r\n\r\n",
	} {
		if a := f.raw2(t, "GET", text); a.status != 400 || a.code(t) != "VALIDATION_FAILED" {
			t.Errorf("%q: %d %s", text, a.status, a.body)
		}
	}
}

func TestChunkedBodies(t *testing.T) {
	f := start(t, Config{BodyMax: 1 << 20}, nil)
	chunked := func(target string, chunks ...string) string {
		var out strings.Builder
		out.WriteString("POST " + target + " HTTP/1.1\r\nHost: h\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n")
		for _, chunk := range chunks {
			fmt.Fprintf(&out, "%x\r\n%s\r\n", len(chunk), chunk)
		}
		return out.String()
	}
	w := f.dial(t)
	w.send(chunked("/v1/echo", `{"te`, `xt":"a"`, `}`) + "0\r\n\r\n" +
		"GET /v1/agents/next HTTP/1.1\r\nHost: h\r\n\r\n")
	if got := w.receive("POST").echoed(t).Text; got != "a" {
		t.Errorf("text %q", got)
	}
	if got := w.receive("GET").echoed(t).Params[0]; got != "next" {
		t.Errorf("then %q", got)
	}
	w.send(chunked("/v1/echo", `{"text":"b"}`) + "0\r\nTrailer-Field: x\r\n\r\n" +
		"GET /v1/agents/last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	if got := w.receive("POST").echoed(t).Text; got != "b" {
		t.Errorf("text before a trailer %q", got)
	}
	if got := w.receive("GET").echoed(t).Params[0]; got != "last" || !w.closed() {
		t.Errorf("after a trailer %q", got)
	}
	megabyte := strings.Repeat("x", 1<<18)
	over := chunked("/v1/echo", `{"text":"`, megabyte, megabyte, megabyte, megabyte, `"}`)
	if a := f.raw2(t, "POST", over+"0\r\n\r\n"); a.status != 413 || a.code(t) != "BODY_TOO_LARGE" {
		t.Errorf("%d %.200s", a.status, a.body)
	}
	over = chunked("/v1/small", strings.Repeat(" ", 1100)) + "0\r\n\r\n"
	if a := f.raw2(t, "POST", over); a.status != 413 {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, broken := range []string{
		chunked("/v1/echo") + "zz\r\n", chunked("/v1/echo") + "5\r\nabcdefgh\r\n0\r\n\r\n",
		chunked("/v1/echo") + "ffffffffffffffffff\r\n", chunked("/v1/echo") + "-1\r\n",
	} {
		w := f.dial(t)
		w.send(broken)
		if a := w.receive("POST"); a.status != 400 || !w.closed() {
			t.Errorf("%q: %d %s", broken, a.status, a.body)
		}
	}
}

func TestBodiesAreCheckedAndBounded(t *testing.T) {
	f := start(t, Config{BodyMax: 1 << 20, BodyMemory: 2 << 20}, nil)
	big := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	fits := `{"text":"` + strings.Repeat("y", 1<<20-11) + `"}`
	cases := []struct {
		name, target, body string
		lines              []string
		status             int
		code               string
	}{
		{"good", "/v1/echo", `{"text":"a"}`, nil, 201, ""},
		{"type", "/v1/echo", `{"text":"a"}`, []string{"Content-Type: application/json"}, 201, ""},
		{"charset", "/v1/echo", `{"text":"a"}`,
			[]string{`Content-Type: Application/JSON ; charset="UTF-8"`}, 201, ""},
		{"other charset", "/v1/echo", `{"text":"a"}`,
			[]string{"Content-Type: application/json; charset=latin1"}, 415,
			"UNSUPPORTED_CONTENT_TYPE"},
		{"form", "/v1/echo", `a=b`, []string{"Content-Type: application/x-www-form-urlencoded"},
			415, "UNSUPPORTED_CONTENT_TYPE"},
		{"multipart", "/v1/echo", "--b\r\n\r\n",
			[]string{"Content-Type: multipart/form-data; boundary=b"}, 415,
			"UNSUPPORTED_CONTENT_TYPE"},
		{"coded", "/v1/echo", `{"text":"a"}`, []string{"Content-Encoding: br"}, 415,
			"UNSUPPORTED_CONTENT_TYPE"},
		{"identity", "/v1/echo", `{"text":"a"}`, []string{"Content-Encoding: identity"}, 201, ""},
		{"empty", "/v1/echo", ``, nil, 400, "INVALID_JSON"},
		{"syntax", "/v1/echo", `{"text":`, nil, 400, "INVALID_JSON"},
		{"faults", "/v1/echo", `{"txt":1}`, nil, 400, "VALIDATION_FAILED"},
		{"whole", "/v1/echo", fits, nil, 201, ""},
		{"large", "/v1/echo", big, nil, 413, "BODY_TOO_LARGE"},
		{"small", "/v1/small", `{"text":"` + strings.Repeat("x", 1100) + `"}`, nil, 413,
			"BODY_TOO_LARGE"},
		{"none", "/v1/replay", ``, nil, 200, ""},
		{"object for none", "/v1/replay", `{}`, nil, 200, ""},
		{"something for none", "/v1/replay", `{"a":1}`, nil, 400, "VALIDATION_FAILED"},
		{"before auth", "/v1/projects", big, nil, 401, "AUTHENTICATION_REQUIRED"},
		{"large, expected", "/v1/echo", big, []string{"Expect: 100-continue"}, 413, "BODY_TOO_LARGE"},
	}
	for _, c := range cases {
		a := f.post(t, c.target, c.body, c.lines...)
		if a.status != c.status || c.code != "" && a.code(t) != c.code {
			t.Errorf("%s: %d %.300s", c.name, a.status, a.body)
		}
	}
	if used := f.memory.used(); used != 0 {
		t.Errorf("%d bytes of the budget are lost", used)
	}
	taken := account{of: &f.memory, who: partyAt("192.0.2.1", firstAgent)}
	taken.forceTo(1 << 20)
	if a := f.post(t, "/v1/echo", fits); a.status != 429 || a.header.Get("Retry-After") != "1" ||
		a.envelope(t).Error.Details["reason"] != "BODY_MEMORY" {
		t.Errorf("%d %s", a.status, a.body)
	}
	taken.close()
}

func TestExpectContinue(t *testing.T) {
	f := start(t, Config{}, nil)
	head := func(target, more string) string {
		return "POST " + target + " HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n" + more + "\r\n"
	}
	w := f.dial(t)
	w.send(head("/v1/echo", "Content-Length: 12\r\n"))
	if line, _ := w.reader.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q", line)
	}
	_, _ = w.reader.ReadString('\n')
	w.send(`{"text":"a"}`)
	if a := w.receive("POST"); a.status != 201 {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, c := range []struct {
		target, more string
		status       int
	}{
		{"/v1/echo", "Content-Length: 99999999\r\n", 413},
		{"/v1/small", "Content-Length: 2000\r\n", 413},
		{"/v1/none", "Content-Length: 2\r\n", 404},
		{"/v1/agents/a", "Content-Length: 2\r\n", 405},
		{"/v1/projects", "Content-Length: 2\r\n", 401},
		{"/v1/projects", "Content-Length: 2\r\nAuthorization: Bearer bad\r\n", 401},
		{"/v1/projects", "Content-Length: 2\r\nAuthorization: Bearer good\r\n", 400},
		{"/v1/echo", "Content-Length: 2\r\nContent-Type: text/plain\r\n", 415},
		{"/v1/echo?x=1", "Content-Length: 2\r\n", 400},
	} {
		w := f.dial(t)
		w.send(head(c.target, c.more))
		if a := w.receive("POST"); a.status != c.status || !w.closed() {
			t.Errorf("%s %s: %d %s", c.target, c.more, a.status, a.body)
		}
	}
}

// slow sends a part of a request and waits for the answer. A client that the machine has stalled
// until the time was over has sent nothing then: it gets no answer, and sends once more.
func (f *fixture) slow(t *testing.T, text string) (w *wire) {
	t.Helper()
	for range 20 {
		w = f.dial(t)
		w.send(text)
		if _, err := w.reader.Peek(1); err == nil {
			break
		}
	}
	return w
}

func TestSlowClients(t *testing.T) {
	f := start(t, Config{ReadTimeout: 200 * time.Millisecond}, nil)
	for name, text := range map[string]string{
		"head": "GET / HTTP/1.1\r\nHost: h\r\nX-",
		"body": "POST /v1/echo HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\n{\"te",
		"large body": "POST /v1/echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" +
			strings.Repeat(" ", 50000),
		"chunk": "POST /v1/echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{",
	} {
		w := f.slow(t, text)
		if a := w.receive("POST"); a.status != 408 || a.code(t) != "REQUEST_TIMEOUT" ||
			!w.closed() {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	// This one is not slow, however long the machine takes for it.
	w := start(t, Config{}, nil).dial(t)
	w.send("POST /v1/echo HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\n{\"te")
	if half, ok := w.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	if a := w.receive("POST"); a.status != 400 {
		t.Errorf("cut body: %d %s", a.status, a.body)
	}
}

// TestWireHelperNoticesOpenConnections has tests of this package notice a connection that lives on.
func TestWireHelperNoticesOpenConnections(t *testing.T) {
	w := start(t, Config{}, nil).dial(t)
	w.limit = 20 * time.Millisecond
	if w.closed() {
		t.Error("an open connection is closed")
	}
	w.limit = wireTime
	w.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	if w.closed() {
		t.Error("the server sent nothing more")
	}
	if !w.closed() {
		t.Error("a closed connection is open")
	}
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	f := start(t, Config{}, nil)
	w := f.dial(t)
	const one = "GET /v1/agents/%d HTTP/1.1\r\nHost: h\r\n\r\n"
	var all strings.Builder
	for i := range 50 {
		fmt.Fprintf(&all, one, i)
	}
	w.send(all.String())
	ids := map[string]bool{}
	for i := range 50 {
		a := w.receive("GET")
		if got := a.echoed(t).Params[0]; got != itoa(i) {
			t.Fatalf("answer %d is that of %s", i, got)
		}
		ids[a.header.Get("X-Request-Id")] = true
	}
	if len(ids) != 50 {
		t.Errorf("%d request ids", len(ids))
	}
	w.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	if a := w.receive("GET"); !a.close || !w.closed() {
		t.Error("Connection: close is not honoured")
	}
	w = f.dial(t)
	w.send("GET / HTTP/1.0\r\n\r\n")
	if a := w.receive("GET"); a.status != 200 || !w.closed() {
		t.Errorf("HTTP/1.0: %d %s", a.status, a.body)
	}
	w = f.dial(t)
	for range 2 {
		w.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
		if a := w.receive("GET"); a.status != 200 || a.header.Get("Connection") != "keep-alive" {
			t.Errorf("HTTP/1.0 keep-alive: %d %v", a.status, a.header)
		}
	}
	huge := "X-Filler: " + strings.Repeat("x", 17000)
	if a := f.ask(t, "GET", "/", huge); a.status != 431 || a.code(t) != "HEADERS_TOO_LARGE" {
		t.Errorf("%d %s", a.status, a.body)
	}
	big := "X-Filler: " + strings.Repeat("x", 15000)
	if a := f.ask(t, "GET", "/", big); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}
