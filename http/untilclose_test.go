package http

import (
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asNginx is a request as nginx forwards it by default.
func asNginx(target string, lines ...string) string {
	return "GET " + target + " HTTP/1.0\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\n" +
		"User-Agent: curl/8\r\nAccept: */*\r\n" + join(lines) + "\r\n"
}

// TestHTTP10Streams requests a stream in HTTP/1.0, which has no chunks. The stream ends with the
// connection.
func TestHTTP10Streams(t *testing.T) {
	f, running := streamed(t, Config{})
	want := `{"text":"` + strings.Repeat("p", 1_000_000) + `"}`
	for _, lines := range [][]string{nil, {"Accept-Encoding: gzip"}, {"Accept-Encoding: zstd"}} {
		w := f.dial(t)
		w.send(asNginx("/v1/whole", lines...))
		a := w.receive("GET")
		if a.status != 200 || len(a.header["Transfer-Encoding"]) > 0 ||
			a.header.Get("Content-Length") != "" || !a.close ||
			a.header.Get("X-Request-Id") == "" || !w.closed() {
			t.Errorf("%d %v", a.status, a.header)
		}
		a.body = unpack(t, a.body, a.header.Get("Content-Encoding"))
		if got := string(a.envelope(t).Data); got != want {
			t.Errorf("%v: %d bytes of data", lines, len(got))
		}
	}
	// The answer to a client with keep-alive says that the connection closes.
	w := f.dial(t)
	w.send("GET /v1/whole HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
	if a := w.receive("GET"); !a.close || len(a.body) < 1_000_000 {
		t.Errorf("%v", a.header)
	}
	w = f.dial(t)
	w.send(strings.Replace(asNginx("/v1/whole"), "GET", "HEAD", 1))
	if a := w.receive("HEAD"); a.status != 200 || !w.closed() {
		t.Errorf("HEAD: %d", a.status)
	}
	waitFor(t, func() bool { return running.Load() == 0 && f.memory.used() == 0 })
}

// TestHTTP10FailedStreamIsReset has streams that fail. The connection is reset, because a closed
// one would make an incomplete answer look complete.
func TestHTTP10FailedStreamIsReset(t *testing.T) {
	f, _ := streamed(t, Config{})
	for _, target := range []string{"/v1/fails", "/v1/panics"} {
		w := f.dial(t)
		w.send(asNginx(target))
		resp, err := nethttp.ReadResponse(w.reader, nil)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: the answer ends with %v", target, err)
		}
	}
	waitFor(t, func() bool { return f.memory.used() == 0 })
	if log := f.log.take(); strings.Count(log, "aborted") != 2 {
		t.Errorf("the log says %q", log)
	}
}

// TestHTTP10StalledReadersAreDropped needs a deadline on a connection that the transport has
// released.
func TestHTTP10StalledReadersAreDropped(t *testing.T) {
	f, running := streamed(t, Config{
		WriteTimeout: time.Second, ReadTimeout: 10 * time.Second,
		IdleTimeout: 10 * time.Second,
	})
	for range 3 {
		w := f.dial(t)
		w.send(asNginx("/v1/endless"))
		if _, err := io.ReadFull(w.reader, make([]byte, 300_000)); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, func() bool { return running.Load() == 0 && f.memory.used() == 0 })
}

// TestDeadlineAfterAnotherAnswer has two requests in one packet. The deadline of the first answer
// is cleared when the second one begins, and a stalled reader is dropped all the same. The timeout
// is so long that the second deadline is within the slack of the first.
func TestDeadlineAfterAnotherAnswer(t *testing.T) {
	f, running := streamed(t, Config{
		WriteTimeout: 2 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute,
	})
	for range 3 {
		w := f.dial(t)
		w.send("GET /v1/whole HTTP/1.1\r\nHost: h\r\n\r\n" + asNginx("/v1/endless"))
		if a := w.receive("GET"); a.status != 200 || a.close {
			t.Fatalf("%d %v", a.status, a.header)
		}
		if _, err := io.ReadFull(w.reader, make([]byte, 300_000)); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, func() bool { return running.Load() == 0 && f.memory.used() == 0 })
}

// TestHTTP10EventStream requests a stream of events after another request on one connection.
func TestHTTP10EventStream(t *testing.T) {
	f, b := startCounter(t, Config{})
	w := f.dial(t)
	w.send("GET /v1/stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
	if a := w.receive("GET"); a.status != 200 || a.header.Get("Connection") != "keep-alive" {
		t.Errorf("%d %v", a.status, a.header)
	}
	// Both requests are in one packet. The answer to the first must not be lost.
	w.send("GET /v1/stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" +
		"GET /v1/stream HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n")
	if a := w.receive("GET"); a.status != 200 || !strings.Contains(a.body, "plain") {
		t.Errorf("%d %s", a.status, a.body)
	}
	resp, err := nethttp.ReadResponse(w.reader, nil)
	if err != nil || resp.Header.Get("Content-Type") != "text/event-stream" ||
		resp.Header.Get("X-Accel-Buffering") != "no" || len(resp.TransferEncoding) > 0 {
		t.Fatalf("%v %v", resp, err)
	}
	b.publish(2)
	text := make([]byte, len(liveStart+record(1)+record(2)))
	if _, err := io.ReadFull(resp.Body, text); err != nil || string(text) !=
		liveStart+record(1)+record(2) {
		t.Errorf("%q %v", text, err)
	}
	_ = w.Close()
	b.publish(1)
	waitFor(t, func() bool { return b.running() == 0 && f.slotsInUse() == 0 })
}

// TestShutdownWaitsForHTTP10Streams ends streams of events and waits for other answers.
func TestShutdownWaitsForHTTP10Streams(t *testing.T) {
	f, b := startCounter(t, Config{})
	w := f.dial(t)
	w.send("GET /v1/stream HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n")
	resp, err := nethttp.ReadResponse(w.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return b.running() == 1 })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := f.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if b.running() != 0 || f.slotsInUse() != 0 {
		t.Error("the stream did not end")
	}
	if text, err := io.ReadAll(resp.Body); err != nil ||
		!strings.HasSuffix(string(text), ": SHUTTING_DOWN\n\n") {
		t.Errorf("%q %v", text, err)
	}
	g, running := streamed(t, Config{})
	w = g.dial(t)
	w.send(asNginx("/v1/endless"))
	if _, err := io.ReadFull(w.reader, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	short, end := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer end()
	if err := g.Shutdown(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown with a stream running: %v", err)
	}
	waitFor(t, func() bool { return running.Load() == 0 && g.memory.used() == 0 })
}
