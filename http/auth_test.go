package http

import (
	"strings"
	"sync/atomic"
	"testing"

	"pws/api"
	"pws/internal/fault"
)

// TestSessionEndsBeforeTheBody ends a session AFTER its request was let in, BEFORE its body came.
func TestSessionEndsBeforeTheBody(t *testing.T) {
	f := start(t, Config{}, nil)
	var ended atomic.Bool
	f.lives = func(*api.Call) error {
		if ended.Load() {
			return fault.New(fault.SessionInvalid, "It has ended.")
		}
		return nil
	}
	for _, ends := range []bool{false, true} {
		ended.Store(false)
		w := f.dial(t)
		w.send("PUT /v1/files/a HTTP/1.1\r\nHost: h\r\n" + goodLine +
			"\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n")
		if line, err := w.reader.ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
			t.Fatalf("%q, %v", line, err)
		}
		if line, err := w.reader.ReadString('\n'); err != nil || line != "\r\n" {
			t.Fatalf("%q, %v", line, err)
		}
		ended.Store(ends)
		w.send(`{"text":"a"}`)
		want := map[bool]int{false: 201, true: 401}[ends]
		if got := w.receive("PUT"); got.status != want {
			t.Errorf("%d, want %d: %s", got.status, want, got.body)
		}
		_ = w.Close()
	}
}
