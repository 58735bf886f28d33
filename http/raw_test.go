package http

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Concurrent requests do not see each other's parameters, bodies or callers, although they share
// pools.
func TestConcurrentRequestsAreIsolated(t *testing.T) {
	limits := DefaultLimits()
	for i := range limits {
		limits[i].Quota = 1 << 20
	}
	f := start(t, Config{}, limits)
	var wait sync.WaitGroup
	for worker := range 12 {
		wait.Go(func() {
			w := f.dial(t)
			for i := range 60 {
				name := fmt.Sprintf("w%d-%d", worker, i)
				text := strings.Repeat(name, 1+i*worker)
				body := `{"text":"` + text + `"}`
				w.send("PUT /v1/files/" + name + " HTTP/1.1\r\nHost: h\r\nContent-Length: " +
					itoa(len(body)) + "\r\nAuthorization: Bearer other\r\n\r\n" + body +
					"GET /v1/search?q=" + name + " HTTP/1.1\r\nHost: h\r\n\r\n")
				put, get := w.receive("PUT"), w.receive("GET")
				if put.status != 201 || put.echoed(t).Text != text ||
					put.echoed(t).Params[0] != name ||
					put.echoed(t).Agent != otherAgent.Format("agt_") {
					t.Errorf("%s: %d %.200s", name, put.status, put.body)
				}
				if got := get.echoed(t); got.Query["q"] != name || got.Agent != "" ||
					len(got.Params) != 0 {
					t.Errorf("%s: %d %.200s", name, get.status, get.body)
				}
			}
		})
	}
	wait.Wait()
}

// tape is a connection that supplies bytes and records the answers.
type tape struct {
	net.Conn
	in  *bytes.Reader
	out bytes.Buffer
}

func (t *tape) Read(p []byte) (int, error)       { return t.in.Read(p) }
func (t *tape) Write(p []byte) (int, error)      { return t.out.Write(p) }
func (t *tape) Close() error                     { return nil }
func (t *tape) SetDeadline(time.Time) error      { return nil }
func (t *tape) SetReadDeadline(time.Time) error  { return nil }
func (t *tape) SetWriteDeadline(time.Time) error { return nil }
func (t *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (t *tape) LocalAddr() net.Addr              { return t.RemoteAddr() }

// Answers to any input are well-formed and have a request ID, and no handler panics.
func FuzzConnection(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST /v1/echo HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\n{\"text\":\"a\"}" +
			"GET /v1/search?q=a&limit=3 HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip;q=0.3\r\n\r\n",
		"POST /v1/echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"c\r\n{\"text\":\"a\"}\r\n0\r\n\r\n",
		"PUT /v1/files/a%2F HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer good\r\n" +
			"Idempotency-Key: k\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
		"OPTIONS * HTTP/1.1\r\nHost: h\r\nOrigin: https://x\r\n" +
			"Access-Control-Request-Method: GET\r\n\r\n",
		"GET /v1/files/a HTTP/1.0\r\nIf-None-Match: W/\"tag\", *\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	fix := &fixture{entered: make(chan struct{}, 1), leave: make(chan struct{}), log: &logBuffer{}}
	fix.open(f, Config{BodyMax: 1 << 16}, DefaultLimits())
	close(fix.leave)
	f.Fuzz(func(t *testing.T, sent []byte) {
		if bytes.Contains(sent, []byte("panic")) || bytes.Contains(sent, []byte("wait")) {
			return
		}
		connection := &tape{in: bytes.NewReader(sent)}
		_ = fix.fast.ServeConn(connection)
		answers := bufio.NewReader(&connection.out)
		for {
			// Without its request, an answer to HEAD looks like one without its body.
			if bytes.Contains(sent, []byte("HEAD")) {
				break
			}
			resp, err := nethttp.ReadResponse(answers, nil)
			if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%q: %v", sent, err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatalf("%q: %v", sent, err)
			}
			if resp.StatusCode != 100 && resp.Header.Get("X-Request-Id") == "" {
				t.Fatalf("%q: no request id in %v", sent, resp.Header)
			}
		}
		if log := fix.log.take(); strings.Contains(log, "handler panicked") {
			t.Fatalf("%q: %s", sent, log)
		}
		if used := fix.memory.used(); used != 0 {
			t.Fatalf("%q: %d bytes of the budget are lost", sent, used)
		}
	})
}
