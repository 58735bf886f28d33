package http

import (
	"bytes"
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"pws/api"
	"pws/internal/heaptest"
)

// streamed is a server with streams: a complete one, one that fails, one that panics, and an
// endless one.
func streamed(t *testing.T, cfg Config) (f *fixture, running *atomic.Int64) {
	running = new(atomic.Int64)
	piece := []byte(strings.Repeat("p", 100_000))
	declare := func(path string, end func(w io.Writer) error) *api.Operation {
		return api.Declare[api.None, api.Raw](op(read, path[4:], path, api.Anonymous),
			func(*api.Call, *api.None) (api.Reply, error) {
				return api.Reply{Data: api.Stream(func(w io.Writer) error {
					running.Add(1)
					defer running.Add(-1)
					if _, err := io.WriteString(w, `{"text":"`); err != nil {
						return err
					}
					for range 10 {
						if _, err := w.Write(piece); err != nil {
							return err
						}
					}
					return end(w)
				})}, nil
			})
	}
	cfg.Table = []*api.Operation{
		declare("/v1/whole", func(w io.Writer) error {
			_, err := io.WriteString(w, `"}`)
			return err
		}),
		declare("/v1/fails", func(io.Writer) error { return errors.New("the reason") }),
		declare("/v1/panics", func(io.Writer) error { panic("the reason") }),
		declare("/v1/endless", func(w io.Writer) error {
			for {
				if _, err := w.Write(piece); err != nil {
					return err
				}
			}
		}),
	}
	return start(t, cfg, nil), running
}

func TestStreamedEnvelope(t *testing.T) {
	f, _ := streamed(t, Config{})
	want := `{"text":"` + strings.Repeat("p", 1_000_000) + `"}`
	for coding, decode := range map[string]func(io.Reader) (io.Reader, error){
		"": func(r io.Reader) (io.Reader, error) { return r, nil },
		"gzip": func(r io.Reader) (io.Reader, error) {
			return gzip.NewReader(r)
		},
		"zstd": func(r io.Reader) (io.Reader, error) {
			d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
			return d, err
		},
	} {
		a := f.ask(t, "GET", "/v1/whole", "Accept-Encoding: "+coding)
		if got := a.header.Get("Content-Encoding"); got != coding {
			t.Errorf("Content-Encoding %q, not %q", got, coding)
		}
		plain, err := decode(strings.NewReader(a.body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(plain)
		if err != nil {
			t.Fatal(err)
		}
		a.body = string(text)
		if e := a.envelope(t); a.status != 200 || !e.OK || string(e.Data) != want {
			t.Errorf("%q: %d, %d bytes of data", coding, a.status, len(e.Data))
		}
	}
	// The connection stays open after it, and HEAD has no body.
	w := f.dial(t)
	for _, method := range []string{"GET", "HEAD", "GET"} {
		w.send(method + " /v1/whole HTTP/1.1\r\nHost: h\r\n\r\n")
		a := w.receive(method)
		if a.status != 200 || a.close || (method == "HEAD") != (len(a.body) == 0) {
			t.Errorf("%s: %d, %d bytes, close %t", method, a.status, len(a.body), a.close)
		}
	}
	// A stream gives its memory back when its reader has everything.
	waitFor(t, func() bool { return f.memory.used() == 0 })
}

func TestFailedStreamIsAborted(t *testing.T) {
	f, _ := streamed(t, Config{})
	for _, target := range []string{"/v1/fails", "/v1/panics"} {
		for _, coding := range []string{"identity", "gzip", "zstd"} {
			w := f.dial(t)
			w.send("GET " + target + " HTTP/1.1\r\nHost: h\r\nAccept-Encoding: " + coding +
				"\r\n\r\n")
			resp, err := nethttp.ReadResponse(w.reader, nil)
			// The coder may not have flushed anything yet; then there is no head either.
			if err == nil {
				_, err = io.ReadAll(resp.Body)
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s %s: the answer ends with %v", target, coding, err)
			}
		}
	}
	if log := f.log.take(); !strings.Contains(log, "aborted") {
		t.Errorf("the log says %q", log)
	}
	// A stream gives its memory back when its reader has everything.
	waitFor(t, func() bool { return f.memory.used() == 0 })
}

func TestRefusedStreamIsAnError(t *testing.T) {
	f, _ := streamed(t, Config{BodyMemory: streamMemory - 1})
	a := f.ask(t, "GET", "/v1/whole")
	if a.status != 429 || a.code(t) != "RATE_LIMITED" {
		t.Errorf("%d %s", a.status, a.body)
	}
	a = f.raw2(t, "GET", "GET /v1/whole HTTP/1.0\r\n\r\n")
	if a.status != 429 || a.code(t) != "RATE_LIMITED" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestStreamEndsWhenItsReaderLeaves has a reader that disconnects and one that stalls.
func TestStreamEndsWhenItsReaderLeaves(t *testing.T) {
	f, running := streamed(t, Config{
		WriteTimeout: time.Second, ReadTimeout: 10 * time.Second,
		IdleTimeout: 10 * time.Second,
	})
	for range 3 {
		leaving, stalled := f.dial(t), f.dial(t)
		for _, w := range []*wire{leaving, stalled} {
			w.send("GET /v1/endless HTTP/1.1\r\nHost: h\r\n\r\n")
			if _, err := io.ReadFull(w.reader, make([]byte, 300_000)); err != nil {
				t.Fatal(err)
			}
		}
		_ = leaving.Close()
	}
	waitFor(t, func() bool { return running.Load() == 0 && f.memory.used() == 0 })
}

func TestStreamMemoryIsBounded(t *testing.T) {
	f, running := streamed(t, Config{})
	w := f.dial(t)
	w.send("GET /v1/endless HTTP/1.1\r\nHost: h\r\n\r\n")
	read := func(size int64) {
		if _, err := io.CopyN(io.Discard, w.reader, size); err != nil {
			t.Fatal(err)
		}
	}
	read(10 << 20)
	before := heaptest.Live()
	read(200 << 20)
	if after := heaptest.Live(); after > before+4<<20 {
		t.Errorf("the heap grew from %d to %d", before, after)
	}
	_ = w.Close()
	waitFor(t, func() bool { return running.Load() == 0 })
}

func TestShutdownAbortsStreams(t *testing.T) {
	f, running := streamed(t, Config{})
	w := f.dial(t)
	w.send("GET /v1/endless HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, err := io.ReadFull(w.reader, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
	rest, _ := io.ReadAll(w.reader)
	if bytes.HasSuffix(rest, []byte("0\r\n\r\n")) {
		t.Error("the answer has an end")
	}
	waitFor(t, func() bool { return running.Load() == 0 })
}

// waitFor polls for what a server does in the background.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	end := time.After(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-end:
			t.Fatal("it did not come to that")
		case <-tick.C:
		}
	}
}
