package http

import (
	"compress/gzip"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestCredentialsAreCheckedAndNotLogged(t *testing.T) {
	f := start(t, Config{}, nil)
	cases := []struct {
		target string
		lines  []string
		status int
		want   string
	}{
		{"/v1/agents/me", nil, 401, "AUTHENTICATION_REQUIRED"},
		{"/v1/agents/me", []string{"Authorization: Bearer good"}, 200, ""},
		{"/v1/agents/me", []string{"authorization: bEARER   good"}, 200, ""},
		{"/v1/agents/me", []string{"Authorization: Bearer bad"}, 401, "SESSION_INVALID"},
		{"/v1/agents/me", []string{"Authorization: Bearer expired"}, 401, "SESSION_EXPIRED"},
		{"/v1/agents/me", []string{"Authorization: Bearer"}, 401, "SESSION_INVALID"},
		{"/v1/agents/me", []string{"Authorization: Bearer "}, 401, "SESSION_INVALID"},
		{"/v1/agents/me", []string{"Authorization: "}, 401, "SESSION_INVALID"},
		{"/v1/agents/me", []string{"Authorization: Bearer go od"}, 401, "SESSION_INVALID"},
		{"/v1/agents/me", []string{"Authorization: Bearer g\xc3\xa4"}, 401, "SESSION_INVALID"},
		{"/v1/agents/me", []string{"Authorization: Basic good"}, 401, "SESSION_INVALID"},
		{"/v1/agents/me", []string{"Authorization: good"}, 401, "SESSION_INVALID"},
		{"/v1/agents/me", []string{"Authorization: Bearer " + strings.Repeat("g", 600)}, 401,
			"SESSION_INVALID"},
		{"/v1/agents/me", []string{"Authorization: Bearer good", "Authorization: Bearer good"}, 400,
			"VALIDATION_FAILED"},
		{"/v1/agents/a", []string{"Authorization: Bearer good", "AUTHORIZATION: Bearer x"}, 400,
			"VALIDATION_FAILED"},
		{"/v1/agents/a", []string{"Authorization: Bearer bad"}, 401, "SESSION_INVALID"},
		{"/v1/agents/a", []string{"Authorization: Bearer expired"}, 401, "SESSION_EXPIRED"},
		{"/v1/agents/a", []string{"Authorization: nonsense"}, 401, "SESSION_INVALID"},
		{"/v1/agents/a", []string{"Authorization: Bearer good"}, 200, ""},
		{"/docs.md", []string{"Authorization: Bearer bad"}, 401, "SESSION_INVALID"},
		{"/v1/files/a", []string{"Authorization: Bearer bad"}, 401, "SESSION_INVALID"},
		{"/v1/files/a", nil, 200, ""},
	}
	for _, c := range cases {
		a := f.ask(t, "GET", c.target, c.lines...)
		if a.status != c.status || a.status >= 400 && a.code(t) != c.want {
			t.Errorf("%s %.60v: %d %s", c.target, c.lines, a.status, a.body)
		}
		if a.status == 401 && !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer ") {
			t.Errorf("no challenge: %v", a.header)
		}
	}
	a := f.ask(t, "GET", "/v1/files/a", "Authorization: Bearer good")
	if a.echoed(t).Agent != firstAgent.Format("agt_") {
		t.Error(a.body)
	}
	// Request IDs are random and may contain any short word.
	log := requestIDPattern.ReplaceAllString(f.log.String(), "")
	for _, secret := range []string{"good", "bad", "expired", "nonsense"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds the credential %q", secret)
		}
	}
}

var requestIDPattern = regexp.MustCompile(`req_[0-9a-hjkmnp-tv-z]{26}`)

func TestQueriesAreDecoded(t *testing.T) {
	f := start(t, Config{}, nil)
	cases := []struct{ query, want string }{
		{"q=a", "map[q:a]"},
		{"q=a+b%20c%26", "map[q:a b c&]"},
		{"q=%C3%A4&limit=200&cursor=", "map[cursor: limit:200 q:ä]"},
		{"&q=a&", "map[q:a]"},
		{"", "VALIDATION_FAILED q"},
		{"q=", "VALIDATION_FAILED q"},
		{"q=a&q=b", "VALIDATION_FAILED q"},
		{"q=a&x=1&y=%zz", "VALIDATION_FAILED x y"},
		{"q=%", "VALIDATION_FAILED q"},
		{"q=%C3", "VALIDATION_FAILED q"},
		{"q=%00", "VALIDATION_FAILED q"},
		{"q=a%0Ab", "VALIDATION_FAILED q"},
		{"q=" + strings.Repeat("a", 21), "VALIDATION_FAILED q"},
		{"Q=a", "VALIDATION_FAILED Q q"},
		{"q=a&limit=0", "PAGINATION_LIMIT_INVALID"},
		{"q=a&limit=201", "PAGINATION_LIMIT_INVALID"},
		{"q=a&limit=1.0", "PAGINATION_LIMIT_INVALID"},
		{"q=a&limit=", "PAGINATION_LIMIT_INVALID"},
		{"q=a&limit=+5", "PAGINATION_LIMIT_INVALID"},
		{"q=a&limit=99999999999999999999", "PAGINATION_LIMIT_INVALID"},
		{"q=a&depth=0", "VALIDATION_FAILED depth"},
		{"q=a&limit=0&z=1", "VALIDATION_FAILED z limit"},
	}
	for _, c := range cases {
		a := f.ask(t, "GET", "/v1/search?"+c.query)
		var got string
		if a.status == 200 {
			got = fmt.Sprint(a.echoed(t).Query)
		} else {
			failure := a.envelope(t).Error
			got = failure.Code
			fields, _ := failure.Details["fields"].([]any)
			for _, one := range fields {
				field, _ := one.(map[string]any)
				got += fmt.Sprint(" ", field["field"])
			}
			if failure.Code == "PAGINATION_LIMIT_INVALID" && failure.Details["maximum"] != 200.0 {
				t.Errorf("%s: %v", c.query, failure.Details)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
	if a := f.ask(t, "GET", "/v1/agents/a?x=1"); a.status != 400 {
		t.Error(a.body)
	}
}

func TestConditionalReads(t *testing.T) {
	f := start(t, Config{}, nil)
	for header, status := range map[string]int{
		`"tag"`: 304, `*`: 304, `W/"tag"`: 304, `"a", "tag"`: 304, `"a","b"`: 200, `tag`: 200,
		`"tag`: 200, `"a,tag"`: 200, `garbage, "tag"`: 304, ``: 200, `"TAG"`: 200,
	} {
		a := f.ask(t, "GET", "/v1/files/a", "If-None-Match: "+header)
		if a.status != status || a.header.Get("ETag") != `"tag"` || status == 304 && a.body != "" {
			t.Errorf("%q: %d %.100s", header, a.status, a.body)
		}
		// A 304 has the same Vary as a 200.
		if got := a.header.Get("Vary"); got != "Accept-Encoding" {
			t.Errorf("%q: %d with Vary %q", header, a.status, got)
		}
	}
	a := f.ask(t, "GET", "/v1/files/a", `If-None-Match: "x"`, `If-None-Match: "tag"`)
	if a.status != 304 {
		t.Errorf("two lines: %d", a.status)
	}
	a = f.body(t, "PUT", "/v1/files/a", `{"text":"a"}`, "Authorization: Bearer good",
		`If-Match: "m"`, `If-None-Match: *`)
	if got := a.echoed(t).Match; got != `"m"|*` {
		t.Errorf("the handler saw %q", got)
	}
	a = f.body(t, "PUT", "/v1/files/a", `{"text":"a"}`, "Authorization: Bearer good", "If-Match:")
	if got := a.echoed(t).Match; got != ",|" {
		t.Errorf("without tags, the handler saw %q", got)
	}
}

func TestCompressionFollowsAcceptEncoding(t *testing.T) {
	f := start(t, Config{}, nil)
	whole := f.ask(t, "GET", "/docs.md")
	if whole.header.Get("Vary") != "Accept-Encoding" ||
		whole.header.Get("Content-Type") != "text/markdown; charset=utf-8" || len(whole.body) != 65536 {
		t.Errorf("%d bytes, %v", len(whole.body), whole.header)
	}
	for accept, want := range map[string]string{
		"gzip": "gzip", "zstd": "zstd", "gzip, zstd": "zstd", "gzip;q=1, zstd;q=0.5": "gzip",
		"br": "", "*": "zstd", "*;q=0": "", "zstd;q=0, *": "gzip", "gzip;q=0": "",
		"identity, gzip;q=0.5": "", "identity;q=0.5, gzip;q=0.5": "gzip", "GZIP": "gzip",
		"gzip;q=2": "", "gzip;level=1": "", "": "", "gzip ; q = 0.3": "gzip", "zstd;q=0.000": "",
	} {
		a := f.ask(t, "GET", "/docs.md", "Accept-Encoding: "+accept)
		if got := a.header.Get("Content-Encoding"); got != want {
			t.Errorf("%q: %q, want %q", accept, got, want)
			continue
		}
		if unpack(t, a.body, want) != whole.body {
			t.Errorf("%q: another body", accept)
		}
	}
	for _, coding := range []string{"gzip", "zstd"} {
		a := f.ask(t, "GET", "/v1/noise", "Accept-Encoding: "+coding)
		if a.header.Get("Content-Encoding") != "" || a.body != noise {
			t.Errorf("%s: what does not get smaller is sent with %q", coding,
				a.header.Get("Content-Encoding"))
		}
	}
	small := f.ask(t, "GET", "/v1/agents/a", "Accept-Encoding: gzip")
	if small.header.Get("Content-Encoding") != "" {
		t.Error("a small answer is compressed")
	}
	head := f.ask(t, "HEAD", "/docs.md", "Accept-Encoding: gzip")
	if head.header.Get("Content-Encoding") != "gzip" {
		t.Error("HEAD differs from GET")
	}
}

func unpack(t *testing.T, body, coding string) string {
	t.Helper()
	var reader io.Reader = strings.NewReader(body)
	switch coding {
	case "gzip":
		unzipped, err := gzip.NewReader(reader)
		if err != nil {
			t.Fatal(err)
		}
		reader = unzipped
	case "zstd":
		decoder, err := zstd.NewReader(reader)
		if err != nil {
			t.Fatal(err)
		}
		defer decoder.Close()
		reader = decoder
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

func TestCrossOriginPages(t *testing.T) {
	anywhere := start(t, Config{}, nil)
	named := start(t, Config{Origins: []string{"https://app.example"}}, nil)
	const ask = "Access-Control-Request-Method: POST"
	a := anywhere.ask(t, "OPTIONS", "/v1/files/a", "Origin: https://x", ask)
	if a.status != 204 || a.header.Get("Access-Control-Allow-Origin") != "*" ||
		a.header.Get("Access-Control-Allow-Methods") != "GET, HEAD" ||
		strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("%d %v", a.status, a.header)
	}
	a = anywhere.ask(t, "GET", "/v1/files/a", "Origin: https://x")
	if a.header.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "RateLimit-Reset") ||
		a.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%v", a.header)
	}
	a = named.ask(t, "OPTIONS", "/v1/files/a", "Origin: https://app.example", ask)
	if a.header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		!strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "Authorization") ||
		a.header.Get("Access-Control-Allow-Methods") != "GET, HEAD, OPTIONS, PUT" {
		t.Errorf("%v", a.header)
	}
	a = named.ask(t, "GET", "/v1/files/a", "Origin: https://evil.example")
	if a.header.Get("Access-Control-Allow-Origin") != "" ||
		!strings.Contains(a.header.Get("Vary"), "Origin") {
		t.Errorf("%v", a.header)
	}
	if a = named.ask(t, "OPTIONS", "/v1/none"); a.status != 404 || a.code(t) != "ROUTE_NOT_FOUND" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a = named.ask(t, "OPTIONS", "*"); a.status != 204 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Pages of origins that are not the service's may read what describes it, and write nothing.
func TestPagesOfOtherHosts(t *testing.T) {
	f := start(t, Config{Origins: []string{}}, nil)
	for _, c := range []struct {
		method, target, origin string
		status                 int
		allowed                string
	}{
		{"GET", "/v1/files/a", "https://evil.example", 200, ""},
		{"OPTIONS", "/v1/files/a", "https://evil.example", 204, ""},
		{"PUT", "/v1/files/a", "https://evil.example", 403, ""},
		{"PUT", "/v1/files/a", "null", 403, ""},
		{"PUT", "/v1/files/a", "http://h", 401, ""},
		{"PUT", "/v1/files/a", "https://h", 401, ""},
		{"PUT", "/v1/files/a", "http://h.example", 403, ""},
		{"PUT", "/v1/files/a", "http://localhost:3000", 401, ""},
		{"PUT", "/v1/files/a", "http://127.0.0.1:3000", 401, ""},
	} {
		a := f.ask(t, c.method, c.target, "Origin: "+c.origin)
		if a.status != c.status || a.header.Get("Access-Control-Allow-Origin") != c.allowed {
			t.Errorf("%s by %s: %d %v", c.method, c.origin, a.status, a.header)
		}
		if a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s by %s: no nosniff", c.method, c.origin)
		}
	}
}

// A server on a loopback address serves no domain name, which could be one of a page.
func TestHostsOfLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost:8080": true, "localhost.:80": true, "a.localhost": true,
		"127.0.0.1:8080": true, "[::1]:8080": true, "[::1]": true, "10.0.0.7:80": true,
		"evil.example": false, "evil.example:8080": false, "127.0.0.1.evil.example": false,
		"localhost.evil.example": false,
	} {
		if isAddressOrLocalhost(host) != want {
			t.Errorf("%s: %v", host, !want)
		}
	}
}

func TestIdempotencyKeys(t *testing.T) {
	f := start(t, Config{}, nil)
	const good = "Authorization: Bearer good"
	const note, body = "/v1/projects/p1/notes", `{"text":"a","count":1}`
	for _, c := range []struct {
		lines []string
		code  string
	}{
		{nil, "IDEMPOTENCY_KEY_REQUIRED"},
		{[]string{"Idempotency-Key: "}, "IDEMPOTENCY_KEY_INVALID"},
		{[]string{"Idempotency-Key: a b"}, "IDEMPOTENCY_KEY_INVALID"},
		{[]string{"Idempotency-Key: ä"}, "IDEMPOTENCY_KEY_INVALID"},
		{[]string{"Idempotency-Key: " + strings.Repeat("k", 256)}, "IDEMPOTENCY_KEY_INVALID"},
		{[]string{"Idempotency-Key: a", "Idempotency-Key: a"}, "IDEMPOTENCY_KEY_INVALID"},
	} {
		a := f.post(t, note, body, append(c.lines, good)...)
		if a.status != 400 || a.code(t) != c.code {
			t.Errorf("%.50v: %s", c.lines, a.body)
		}
	}
	hashes := func(target, body, who, key string) (hash, print string) {
		a := f.post(t, target, body, "Authorization: Bearer "+who, "Idempotency-Key: "+key)
		list := a.echoed(t).Key
		if len(list) != 32 {
			t.Fatalf("%s: %s", target, a.body)
		}
		return fmt.Sprint(list[:16]), fmt.Sprint(list[16:])
	}
	hash, print := hashes(note, body, "good", strings.Repeat("k", 255))
	same := func(wantHash, wantPrint bool, target, body, who string) {
		t.Helper()
		h, p := hashes(target, body, who, strings.Repeat("k", 255))
		if (h == hash) != wantHash || (p == print) != wantPrint {
			t.Errorf("%s %s %s: hash %v, fingerprint %v", target, body, who, h == hash, p == print)
		}
	}
	same(true, true, note, body, "good")
	same(true, true, note, ` { "count": 1, "text":"\u0061"} `, "good-too")
	same(true, false, note, `{"text":"b","count":1}`, "good")
	same(false, true, note, body, "other")
	same(false, false, "/v1/projects/p2/notes", body, "good")
	hash, print = hashes("/v1/projects", body, "good", strings.Repeat("k", 255))
	same(true, false, "/v1/projects/p1/fork", body, "good")
	same(true, false, "/v1/projects/p2/fork", body, "good")
	if a := f.post(t, "/v1/replay", "", "Idempotency-Key: \x01"); a.status != 400 {
		t.Errorf("a control character in a header: %d", a.status)
	}
	if a := f.post(t, "/v1/replay", "", "Idempotency-Key: a b"); a.status != 200 ||
		a.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%d %v", a.status, a.header)
	}
}

func TestFailuresOfHandlers(t *testing.T) {
	f := start(t, Config{}, nil)
	for _, target := range []string{"/v1/panic", "/v1/fail"} {
		a := f.ask(t, "GET", target)
		failure := a.envelope(t)
		if a.status != 500 || failure.Error.Code != "INTERNAL" || !failure.Error.Retryable ||
			strings.Contains(a.body, "secret") || failure.Error.Details["recommended_action"] != "RETRY" {
			t.Errorf("%s: %d %s", target, a.status, a.body)
		}
		log := f.log.String()
		if !strings.Contains(log, "the secret reason") ||
			!strings.Contains(log, failure.Meta.RequestID) {
			t.Errorf("%s is not in the log", target)
		}
	}
	a := f.ask(t, "GET", "/v1/held")
	if a.status != 503 || a.header.Get("Retry-After") != "1" ||
		a.envelope(t).Error.Details["recommended_action"] != "RETRY_AFTER" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestRawHandlersAndObserver(t *testing.T) {
	var seen []string
	var mu sync.Mutex
	f := start(t, Config{
		Raw: map[string]RawHandler{"/metrics": func(ctx *fasthttp.RequestCtx, body []byte) {
			ctx.SetBodyString("raw " + string(ctx.Method()) + string(body))
		}},
		BodyMax: 4096,
		Observe: func(one Observation) {
			mu.Lock()
			defer mu.Unlock()
			name := ""
			if one.Operation != nil {
				name = one.Operation.Name
			}
			seen = append(seen, strings.TrimSpace(
				name+" "+itoa(one.Status)+" "+one.Code+" "+one.Reason))
		},
	}, nil)
	if a := f.ask(t, "GET", "/metrics"); a.body != "raw GET" || a.header.Get("X-Request-Id") == "" {
		t.Errorf("%+v", a)
	}
	if a := f.post(t, "/metrics?x", "abc"); a.body != "raw POSTabc" {
		t.Errorf("%+v", a)
	}
	if a := f.post(t, "/metrics", strings.Repeat("x", 5000)); a.status != 413 {
		t.Errorf("%+v", a)
	}
	f.ask(t, "GET", "/v1/agents/a")
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(seen, []string{
		"200", "200", "413 BODY_TOO_LARGE", "agent.read 200",
	}) {
		t.Error(seen)
	}
}
