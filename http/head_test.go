package http

import (
	"context"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pws/api"
)

// TestDeclaredSizesAreCheckedAtOnce declares a body beyond the limit, sends none of it, and keeps
// the connection open.
func TestDeclaredSizesAreCheckedAtOnce(t *testing.T) {
	raw := map[string]RawHandler{"/raw": func(*fasthttp.RequestCtx, []byte) {}}
	f := start(t, Config{BodyMax: 1 << 20, Raw: raw}, nil)
	const good = "Authorization: Bearer good\r\n"
	for _, size := range []string{"1048577", "1099511627776", "9223372036854775807"} {
		for _, c := range []struct {
			name, line, more string
			status           int
			code             string
			limit            float64
		}{
			{"plain", "POST /v1/echo HTTP/1.1", "", 413, "BODY_TOO_LARGE", 1 << 20},
			{"expected", "POST /v1/echo HTTP/1.1", "Expect: 100-continue\r\n", 413, "BODY_TOO_LARGE",
				1 << 20},
			{"HTTP/1.0", "POST /v1/echo HTTP/1.0", "Connection: keep-alive\r\n", 413,
				"BODY_TOO_LARGE", 1 << 20},
			{"small", "POST /v1/small HTTP/1.1", "", 413, "BODY_TOO_LARGE", kibibyte},
			{"a tail", "PUT /v1/files/a/b HTTP/1.1", good, 413, "BODY_TOO_LARGE", 1 << 20},
			{"without its key", "POST /v1/projects HTTP/1.1", good, 413, "BODY_TOO_LARGE", 1 << 20},
			{"of another type", "POST /v1/echo HTTP/1.1", "Content-Type: text/plain\r\n", 413,
				"BODY_TOO_LARGE", 1 << 20},
			{"no body is taken", "POST /v1/replay HTTP/1.1", "", 413, "BODY_TOO_LARGE", 64 << 10},
			{"read", "GET /v1/agents/a HTTP/1.1", "", 413, "BODY_TOO_LARGE", 64 << 10},
			{"head", "HEAD /v1/agents/a HTTP/1.1", "", 413, "", 0},
			{"options", "OPTIONS /v1/echo HTTP/1.1", "", 413, "BODY_TOO_LARGE", unroutedBody},
			{"every path", "OPTIONS * HTTP/1.1", "", 413, "BODY_TOO_LARGE", unroutedBody},
			{"outside of the table", "POST /raw HTTP/1.1", "", 413, "BODY_TOO_LARGE", 1 << 20},
			{"MCP", "POST /mcp HTTP/1.1", good, 413, "BODY_TOO_LARGE", 1 << 20},
			{"an anonymous message", "POST /mcp HTTP/1.1", "", 413, "BODY_TOO_LARGE", anonymousBodyMax},
			{"an invalid credential at MCP", "POST /mcp HTTP/1.1", "Authorization: Bearer bad\r\n", 401,
				"SESSION_INVALID", 0},
			{"anonymous", "POST /v1/projects HTTP/1.1", "", 401, "AUTHENTICATION_REQUIRED", 0},
			{"an invalid credential", "POST /v1/echo HTTP/1.1", "Authorization: Bearer bad\r\n", 401,
				"SESSION_INVALID", 0},
			{"no route", "POST /v1/nothing HTTP/1.1", "", 404, "ROUTE_NOT_FOUND", 0},
			{"no such method", "POST /v1/agents/a HTTP/1.1", "", 405, "METHOD_NOT_ALLOWED", 0},
			{"no target", "POST /v1/agents#a HTTP/1.1", "", 400, "VALIDATION_FAILED", 0},
		} {
			w := f.dial(t)
			w.send(c.line + "\r\nHost: h\r\nContent-Length: " + size + "\r\n" + c.more + "\r\n")
			method, _, _ := strings.Cut(c.line, " ")
			a := w.receive(method)
			if a.status != c.status || !a.close {
				t.Errorf("%s, %s: %d, close %t: %s", c.name, size, a.status, a.close, a.body)
				continue
			}
			if c.code == "" {
				continue
			}
			failure := a.envelope(t).Error
			if limit, _ := failure.Details["limit_bytes"].(float64); failure.Code != c.code ||
				limit != c.limit {
				t.Errorf("%s, %s: %s", c.name, size, a.body)
			}
		}
	}
	if used := f.memory.used(); used != 0 {
		t.Errorf("%d bytes of the budget are lost", used)
	}
}

// TestAnonymousMessagesHaveTheirOwnLimit compares the limit without a session with that of the
// service.
func TestAnonymousMessagesHaveTheirOwnLimit(t *testing.T) {
	f := start(t, Config{BodyMax: 4 << 20}, nil)
	w := f.dial(t)
	w.send("POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 1048577\r\n\r\n")
	if a := w.receive("POST"); a.status != 413 || !a.close {
		t.Errorf("anonymous: %d %s", a.status, a.body)
	}
	// A caller with a session may send the same message.
	body := strings.Repeat(" ", 1<<20) + "{}"
	a := f.post(t, "/mcp", body, "Authorization: Bearer good")
	if a.status != 400 || !strings.Contains(a.body, "JSON-RPC") {
		t.Errorf("a session: %d %s", a.status, a.body)
	}
}

// TestRefusedClientsReadTheirAnswer has clients that send all of a large body BEFORE they read, in
// both framings.
func TestRefusedClientsReadTheirAnswer(t *testing.T) {
	f := start(t, Config{BodyMax: 1 << 16}, nil)
	large := strings.Repeat("x", 24<<20)
	for name, head := range map[string]string{
		"length":   "Content-Length: " + itoa(len(large)) + "\r\n\r\n",
		"expected": "Expect: 100-continue\r\nContent-Length: " + itoa(len(large)) + "\r\n\r\n",
		"chunked":  "Transfer-Encoding: chunked\r\n\r\n1800000\r\n",
	} {
		w := f.dial(t)
		w.send("POST /v1/echo HTTP/1.1\r\nHost: h\r\n" + head)
		w.send(large)
		if a := w.receive("POST"); a.status != 413 || !a.close {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		_ = w.Close()
	}
}

// TestShutdownDoesNotWaitForRefusedClients has a client that keeps sending after its answer.
func TestShutdownDoesNotWaitForRefusedClients(t *testing.T) {
	f := start(t, Config{}, nil)
	w := f.dial(t)
	w.send("POST /v1/echo HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n")
	if a := w.receive("POST"); a.status != 413 || !w.closed() {
		t.Errorf("%d %s", a.status, a.body)
	}
	stop := make(chan struct{})
	sending := make(chan struct{})
	go func() {
		defer close(sending)
		// It never stops sending.
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				if _, err := w.Write([]byte("x")); err != nil {
					return
				}
			}
		}
	}()
	begun := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := f.Shutdown(ctx); err != nil || time.Since(begun) > 10*time.Second {
		t.Errorf("Shutdown: %v after %v", err, time.Since(begun))
	}
	close(stop)
	<-sending
}

// TestForwardedSchemes has values of X-Forwarded-Proto.
func TestForwardedSchemes(t *testing.T) {
	for _, c := range []struct {
		peers  string
		lines  []string
		secure bool
	}{
		{"127.0.0.0/8", []string{"X-Forwarded-Proto: https"}, true},
		{"127.0.0.0/8", []string{"X-Forwarded-Proto: HTTPS", "X-Forwarded-For: 203.0.113.9"}, true},
		{"127.0.0.0/8", []string{"X-Forwarded-Proto: http"}, false},
		{"127.0.0.0/8", nil, false},
		{"127.0.0.0/8", []string{"X-Forwarded-Proto: wss"}, false},
		{"10.0.0.0/8", []string{"X-Forwarded-Proto: https"}, false},
		{"", []string{"X-Forwarded-Proto: https"}, false},
		// The client wrote the first scheme.
		{"127.0.0.0/8", []string{"X-Forwarded-Proto: https, http", "X-Forwarded-For: 203.0.113.9"},
			false},
		// Of two trusted proxies, the outer one received https.
		{"127.0.0.0/8", []string{"X-Forwarded-Proto: https, http",
			"X-Forwarded-For: 203.0.113.9, 127.0.0.2"}, true},
		{"127.0.0.0/8", []string{"X-Forwarded-Proto: https",
			"X-Forwarded-For: 203.0.113.9, 127.0.0.2"}, true},
	} {
		secure := api.Declare[api.None, api.Raw](op(read, "secure", "/v1/secure", api.Anonymous),
			func(c *api.Call, _ *api.None) (api.Reply, error) {
				if c.Secure {
					return api.Reply{Data: api.Raw("true")}, nil
				}
				return api.Reply{Data: api.Raw("false")}, nil
			})
		cfg := Config{Table: []*api.Operation{secure}}
		if c.peers != "" {
			cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(c.peers)}
		}
		f := start(t, cfg, nil)
		a := f.ask(t, "GET", "/v1/secure", c.lines...)
		if got := string(a.envelope(t).Data) == "true"; got != c.secure {
			t.Errorf("%s %v: secure %t", c.peers, c.lines, got)
		}
	}
}

// TestRejectedHeadsHaveADuration refuses the first head of a connection and a later one. The
// observed duration is that of the refusal alone.
func TestRejectedHeadsHaveADuration(t *testing.T) {
	var longest atomic.Int64
	f := start(t, Config{
		BodyMax: 1 << 20,
		Observe: func(seen Observation) {
			longest.Store(max(longest.Load(), int64(seen.Elapsed.Abs())))
		},
	}, nil)
	refused := "POST /v1/echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1048577\r\n\r\n"
	for _, before := range []int{0, 1} {
		w := f.dial(t)
		for range before {
			w.send("GET /v1/agents/a HTTP/1.1\r\nHost: h\r\n\r\n")
			if a := w.receive("GET"); a.status != 200 {
				t.Fatalf("%d: %s", a.status, a.body)
			}
		}
		w.send(refused)
		if a := w.receive("POST"); a.status != 413 {
			t.Fatalf("%d: %s", a.status, a.body)
		}
		if !w.closed() {
			t.Error("the connection is open")
		}
	}
	if elapsed := time.Duration(longest.Load()); elapsed <= 0 || elapsed > time.Hour {
		t.Errorf("a request took %v", elapsed)
	}
}
