package client

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// TestTimeOfRepeatingBeginsWithTheCaller has callers that have waited before their requests are
// sent.
func TestTimeOfRepeatingBeginsWithTheCaller(t *testing.T) {
	for waited, most := range map[time.Duration]time.Duration{
		RetryUsually: 0, RetryUsually / 2: RetryUsually / 2,
	} {
		client, waits := clocked(t, nil, dead(t))
		_, err := client.Do(t.Context(), &Request{
			Method: "GET", Path: "/", Begun: client.now().Add(-waited),
		})
		var lost *UnreachableError
		var total time.Duration
		for _, wait := range *waits {
			total += wait
		}
		if !errors.As(err, &lost) || total > most || total < most-2*longestPause {
			t.Errorf("after %s: error %v after %s", waited, err, total)
		}
	}
}

// TestBytesAreNoticed has a body and an answer of many reads.
func TestBytesAreNoticed(t *testing.T) {
	const size = 1 << 20
	var before atomic.Int32
	moved := new(atomic.Int32)
	server, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		before.Store(moved.Load())
		_, _ = w.Write(make([]byte, size))
	})
	client, _ := unwaiting(t, server.URL, nil)
	_, err := client.Do(t.Context(), &Request{
		Method: "POST", Path: "/", Body: make([]byte, size), Moved: func() { moved.Add(1) },
	})
	if sent := before.Load(); err != nil || sent < 2 || moved.Load()-sent < 2 {
		t.Errorf("error %v, %d times before the answer, %d in all", err, sent, moved.Load())
	}
}
