package http

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// coded is a body with a coding.
func coded(t testing.TB, as, text string, options ...zstd.EOption) string {
	t.Helper()
	if as == "gzip" {
		return string(compress(nil, []byte(text), gzipCoding))
	}
	w, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}

var codings = []string{"gzip", "zstd"}

// TestCodedBodies checks that a coded body is answered like a plain one.
func TestCodedBodies(t *testing.T) {
	f := start(t, Config{BodyMax: 1 << 20, BodyMemory: 64 << 20}, nil)
	for _, plain := range []string{
		`{"text":"a"}`, `{"text":`, `{"txt":1}`, ``, `{"text":"` + strings.Repeat("x", 300<<10) + `"}`,
		`{"text":"` + strings.Repeat("y", 1<<20-11) + `"}`, strings.Repeat(" ", 1<<20+1),
	} {
		want := f.post(t, "/v1/echo", plain)
		for _, as := range codings {
			got := f.post(t, "/v1/echo", coded(t, as, plain), "Content-Encoding: "+as)
			if got.status != want.status || got.status >= 400 && got.code(t) != want.code(t) ||
				got.status < 400 && string(got.envelope(t).Data) != string(want.envelope(t).Data) {
				t.Errorf("%s of %.20s: %d %.200s", as, plain, got.status, got.body)
			}
		}
	}
	body := coded(t, "gzip", `{"text":`) + coded(t, "gzip", `"ab"}`)
	if a := f.post(t, "/v1/echo", body, "Content-Encoding: X-GZIP"); a.echoed(t).Text != "ab" {
		t.Errorf("members: %d %s", a.status, a.body)
	}
	w := f.dial(t)
	w.send("POST /v1/echo HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\n" +
		"Transfer-Encoding: chunked\r\n\r\n" + "1\r\n" + body[:1] + "\r\n")
	w.send(strconv.FormatInt(int64(len(body)-1), 16) + "\r\n" + body[1:] + "\r\n0\r\n\r\n" +
		"GET /v1/agents/next HTTP/1.1\r\nHost: h\r\n\r\n")
	if a := w.receive("POST"); a.status != 201 || a.echoed(t).Text != "ab" {
		t.Errorf("chunked: %d %s", a.status, a.body)
	}
	if a := w.receive("GET"); a.echoed(t).Params[0] != "next" {
		t.Errorf("the next request: %d %s", a.status, a.body)
	}
	f.memory.wantEmpty(t)
}

// TestCodedBodiesThatWait sends coded bodies after 100 Continue. One with another coding is refused
// by its head alone.
func TestCodedBodiesThatWait(t *testing.T) {
	f := start(t, Config{}, nil)
	head := func(as string, length int) string {
		return "POST /v1/echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Encoding: " + as +
			"\r\nContent-Length: " + itoa(length) + "\r\n\r\n"
	}
	for _, as := range codings {
		body := coded(t, as, `{"text":"a"}`)
		w := f.dial(t)
		w.send(head(as, len(body)))
		if line, _ := w.reader.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
			t.Fatalf("%s: %q", as, line)
		}
		_, _ = w.reader.ReadString('\n')
		w.send(body)
		if a := w.receive("POST"); a.status != 201 || a.echoed(t).Text != "a" {
			t.Errorf("%s: %d %s", as, a.status, a.body)
		}
	}
	w := f.dial(t)
	w.send(head("br", 12))
	if a := w.receive("POST"); a.status != 415 || a.code(t) != "UNSUPPORTED_CONTENT_TYPE" ||
		a.header.Get("Accept-Encoding") != "gzip, zstd" || !w.closed() {
		t.Errorf("br: %d %s", a.status, a.body)
	}
}

// TestFaultsOfCodedBodies cuts, extends and damages coded bodies.
func TestFaultsOfCodedBodies(t *testing.T) {
	f := start(t, Config{BodyMax: 1 << 20, BodyMemory: 64 << 20}, nil)
	for _, as := range codings {
		whole := coded(t, as, `{"text":"`+strings.Repeat("abc", 20)+`"}`)
		refuse := func(what, body string) {
			t.Helper()
			a := f.post(t, "/v1/echo", body, "Content-Encoding: "+as)
			if a.status != 400 || a.code(t) != "VALIDATION_FAILED" || !strings.Contains(a.body, as) {
				t.Errorf("%s, %s: %d %s", as, what, a.status, a.body)
			}
		}
		for i := 1; i < len(whole); i++ {
			refuse("cut at "+itoa(i), whole[:i])
			refuse("second one cut at "+itoa(i), whole+whole[:i])
		}
		for n := 1; n < 12; n++ {
			refuse("garbage", whole+strings.Repeat("x", n))
		}
		broken := []byte(whole)
		broken[len(broken)-1] ^= 1
		refuse("checksum", string(broken))
		refuse("plain", `{"text":"a"}`)
	}
	if a := f.post(t, "/v1/echo", coded(t, "gzip", `{"text":"a"}`)+"x",
		"Content-Encoding: gzip"); !strings.Contains(a.body, "bytes behind the end of its gzip data") {
		t.Errorf("a byte behind the end: %s", a.body)
	}
	named := "\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xffna"
	if a := f.post(t, "/v1/echo", coded(t, "gzip", `{"text":"a"}`)+named,
		"Content-Encoding: gzip"); a.status != 400 {
		t.Errorf("a member cut in its name: %d %s", a.status, a.body)
	}
	for _, as := range []string{"br", "gzip, gzip", "deflate", "gzip, identity", "*"} {
		a := f.post(t, "/v1/echo", "{}", "Content-Encoding: "+as)
		if a.status != 415 || a.code(t) != "UNSUPPORTED_CONTENT_TYPE" ||
			a.header.Get("Accept-Encoding") != "gzip, zstd" {
			t.Errorf("%s: %d %v %s", as, a.status, a.header, a.body)
		}
	}
	f.memory.wantEmpty(t)
}

// TestBombsAreBounded sends bodies of at most a mebibyte that inflate to hundreds of times as much
// as gzip, and to 16 GiB as zstd, where nothing stops them.
func TestBombsAreBounded(t *testing.T) {
	f := start(t, Config{BodyMax: 1 << 20, BodyMemory: 64 << 20}, nil)
	zeros := strings.Repeat("\x00", 16<<20)
	for _, as := range codings {
		one := coded(t, as, zeros)
		bomb := strings.Repeat(one, min(1024, 1<<20/len(one)))
		before, begun := memoryInUse(), time.Now()
		a := f.post(t, "/v1/echo", bomb, "Content-Encoding: "+as)
		if a.status != 413 || a.code(t) != "BODY_TOO_LARGE" {
			t.Errorf("%s: %d %.200s", as, a.status, a.body)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s took %v", as, took)
		}
		if grown := memoryInUse() - before; grown > 32<<20 {
			t.Errorf("%s: the process has %d bytes more", as, grown)
		}
		t.Logf("%s: %d bytes, %v", as, len(bomb), time.Since(begun))
	}
	waitFor(t, func() bool { return f.memory.used() == 0 })
	f.memory.wantEmpty(t)
}

// FuzzCodedBodies sends arbitrary coded bodies. What is taken is within the limit.
func FuzzCodedBodies(f *testing.F) {
	for _, as := range codings {
		f.Add(as == "zstd", []byte(coded(f, as, `{"text":"a"}`)))
	}
	fix := start(f, Config{BodyMax: 1 << 16}, nil)
	f.Fuzz(func(t *testing.T, zstds bool, body []byte) {
		as := "gzip"
		if zstds {
			as = "zstd"
		}
		connection := &tape{in: bytes.NewReader([]byte("POST /v1/echo HTTP/1.1\r\nHost: h\r\n" +
			"Content-Encoding: " + as + "\r\nContent-Length: " + itoa(len(body)) + "\r\n\r\n" +
			string(body)))}
		_ = fix.fast.ServeConn(connection)
		if log := fix.log.take(); strings.Contains(log, "handler panicked") ||
			strings.Contains(log, "request failed") {
			t.Fatalf("%q: %s", body, log)
		}
		if used := fix.memory.used(); used != 0 {
			t.Fatalf("%q: %d bytes of the budget are lost", body, used)
		}
	})
}
