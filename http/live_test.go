package http

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pws/api"
	"pws/internal/fault"
)

// counter is a growing number that the operations of these tests wait for.
type counter struct {
	mu struct {
		sync.Mutex
		number  int
		ended   error
		waiting map[chan struct{}]struct{}
	}
	// looks counts calls of Look and Check, begun and stopped the waiting requests.
	looks, begun, stopped atomic.Int64
	// holding counts the endless streams that have called Ready, and neither Look nor Check since.
	holding atomic.Int64
}

// publish raises the number and wakes all waiting requests.
func (b *counter) publish(by int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.number += by
	b.wake()
}

// end makes all streams end with an error.
func (b *counter) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.ended = err
	b.wake()
}

func (b *counter) wake() {
	for one := range b.mu.waiting {
		select {
		case one <- struct{}{}:
		default:
		}
	}
}

func (b *counter) state() (int, error) {
	b.looks.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.number, b.mu.ended
}

func (b *counter) wait() (ready chan struct{}, stop func()) {
	ready = make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.waiting == nil {
		b.mu.waiting = map[chan struct{}]struct{}{}
	}
	b.mu.waiting[ready] = struct{}{}
	b.begun.Add(1)
	return ready, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.mu.waiting, ready)
		b.stopped.Add(1)
	}
}

// running is the number of waiting requests.
func (b *counter) running() int { return int(b.begun.Load() - b.stopped.Load()) }

// record is the event of a number.
func record(n int) string {
	return fmt.Sprintf("id: %d\nevent: number\ndata: {\"n\":%d}\n\n", n, n)
}

// startCounter starts a server with a counter, a request that waits until it is even, a stream of
// it from a number on, and an endless stream.
func startCounter(t *testing.T, cfg Config) (f *fixture, b *counter) {
	b = &counter{}
	poll := op(read, "poll", "/v1/poll/{wait}", api.Optional)
	stream := op(read, "stream", "/v1/stream", api.Optional)
	stream.Streams = true
	flood := op(read, "flood", "/v1/flood", api.Optional)
	flood.Streams = true
	cfg.Table = []*api.Operation{
		api.Declare[api.None, api.Raw](poll, func(c *api.Call, _ *api.None) (api.Reply, error) {
			patience, err := time.ParseDuration(c.Params[0])
			if err != nil {
				return api.Reply{}, err
			}
			ready, stop := b.wait()
			return api.Reply{Data: api.Deferred{
				Ready: func() <-chan struct{} { return ready }, Wait: patience, Stop: stop,
				Look: func(last bool) (api.Reply, bool, error) {
					n, err := b.state()
					return api.Reply{Data: api.Raw(itoa(n))}, last || n > 0 && n%2 == 0, err
				},
			}}, nil
		}),
		api.Declare[api.None, api.Raw](stream, func(c *api.Call, _ *api.None) (api.Reply, error) {
			if !c.Streams {
				return api.Reply{Data: api.Raw(`"plain"`)}, nil
			}
			if c.LastEventID == "bad" {
				return api.Reply{}, fault.New(fault.PaginationCursorInvalid, "No.")
			}
			seen := 0
			_, _ = fmt.Sscan(c.LastEventID, &seen)
			ready, stop := b.wait()
			return api.Reply{Data: api.EventStream{
				Ready: func() <-chan struct{} { return ready }, Stop: stop,
				Look: func(to []byte) ([]byte, error) {
					n, err := b.state()
					for ; seen < n; seen++ {
						to = append(to, record(seen+1)...)
					}
					return to, err
				},
				Beat: func(to []byte) ([]byte, error) {
					_, err := b.state()
					return append(to, ":\n\n"...), err
				},
			}}, nil
		}),
		api.Declare[api.None, api.Raw](flood, func(*api.Call, *api.None) (api.Reply, error) {
			_, stop := b.wait()
			ready, piece := make(chan struct{}), strings.Repeat(record(1), 500)
			close(ready)
			var holds atomic.Bool
			hold := func(now bool) {
				if holds.Swap(now) != now {
					b.holding.Add(map[bool]int64{true: 1, false: -1}[now])
				}
			}
			return api.Reply{Data: api.EventStream{
				Ready: func() <-chan struct{} { hold(true); return ready }, Stop: stop,
				Beat: func(to []byte) ([]byte, error) { hold(false); return to, nil },
				Look: func(to []byte) ([]byte, error) {
					hold(false)
					b.looks.Add(1)
					return append(to, piece...), nil
				},
			}}, nil
		}),
	}
	return start(t, cfg, nil), b
}

// listen opens a stream and reads its head.
func (f *fixture) listen(t testing.TB, target string, lines ...string) (*wire, *nethttp.Response) {
	t.Helper()
	w := f.dial(t)
	w.send("GET " + target + " HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n" +
		join(lines) + "\r\n")
	resp, err := nethttp.ReadResponse(w.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == 200 {
		readText(t, resp.Body, "retry: 2000\n\n")
	}
	return w, resp
}

// readText reads the next text of a stream.
func readText(t testing.TB, body io.Reader, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(body, got); err != nil || string(got) != text {
		t.Fatalf("the stream sent %q, %v; want %q", got, err, text)
	}
}

func TestLiveStream(t *testing.T) {
	f, b := startCounter(t, Config{
		heartbeat: 20 * time.Millisecond, clientCheck: 10 * time.Millisecond,
	})
	w, resp := f.listen(t, "/v1/stream", "Accept-Encoding: gzip", "Last-Event-ID: 1")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "Content-Encoding": "",
		"X-Accel-Buffering": "no", "Vary": "Accept-Encoding, Accept",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	readText(t, resp.Body, ":\n\n")
	b.publish(3)
	lines := bufio.NewReader(resp.Body)
	readRecord(t, lines, 2)
	readRecord(t, lines, 3)
	b.publish(1)
	readRecord(t, lines, 4)
	b.end(fault.New(fault.SessionExpired, "Over."))
	rest, err := io.ReadAll(lines)
	text := strings.ReplaceAll(string(rest), ":\n\n", "")
	if err != nil || text != ": SESSION_EXPIRED\n\n" {
		t.Errorf("the end: %q, %v", rest, err)
	}
	// The answer is complete, so its connection stays open.
	w.send("GET /v1/stream HTTP/1.1\r\nHost: h\r\n\r\n")
	if a := w.receive("GET"); a.status != 200 || !strings.Contains(a.body, "plain") {
		t.Errorf("%d %s", a.status, a.body)
	}
	w.send("HEAD /v1/stream HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n")
	if a := w.receive("HEAD"); a.status != 200 || a.body != "" ||
		a.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %d %v %q", a.status, a.header, a.body)
	}
	if _, resp = f.listen(t, "/v1/stream", "Last-Event-ID: bad"); resp.StatusCode != 400 {
		t.Errorf("a bad cursor: %d", resp.StatusCode)
	}
	waitFor(t, func() bool { return b.running() == 0 && f.slotsInUse() == 0 })
	if log := f.log.take(); strings.Contains(log, "WARN") || strings.Contains(log, "ERROR") {
		t.Errorf("the log says %s", log)
	}
}

// readRecord reads the next record and skips heartbeats.
func readRecord(t testing.TB, lines *bufio.Reader, n int) {
	t.Helper()
	text := ""
	for !strings.HasSuffix(text, "\n\n") || strings.Trim(text, ":\n") == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("record %d: %v", n, err)
		}
		if text += line; strings.Trim(text, ":\n") == "" {
			text = ""
		}
	}
	if text != record(n) {
		t.Fatalf("the stream sent %q, want record %d", text, n)
	}
}

func (s *Server) slotsInUse() int {
	s.slots.mu.Lock()
	defer s.slots.mu.Unlock()
	return int(s.slots.mu.used) + len(s.slots.mu.ofAgents) + len(s.slots.mu.address)
}

func TestPrefersStream(t *testing.T) {
	for accept, want := range map[string]bool{
		"":                                    false,
		"*/*":                                 false,
		"text/event-stream":                   true,
		"Text/Event-Stream;charset=utf-8":     true,
		"text/event-stream, */*":              true,
		"text/event-stream;q=0.5, */*":        false,
		"text/event-stream, application/json": false,
		"application/json;q=0.9, text/event-stream":   true,
		"application/json;q=0, text/event-stream;q=1": true,
		"text/event-stream;q=0":                       false,
		"text/event-stream;q=2":                       false,
		"text/event-stream;q=nan":                     false,
		"text/html, application/*;q=0.3":              false,
	} {
		if got := prefersStream([]byte(accept)); got != want {
			t.Errorf("%q: %t", accept, got)
		}
	}
}

func TestDeferredReplyIsSentWhenReady(t *testing.T) {
	var own atomic.Int64
	f, b := startCounter(t, Config{
		Observe: func(seen Observation) { own.Store(int64(seen.Elapsed)) },
	})
	w := f.dial(t)
	w.send("GET /v1/poll/30s HTTP/1.1\r\nHost: h\r\n\r\n")
	waitFor(t, func() bool { return b.running() == 1 && f.slotsInUse() == 2 })
	b.publish(1)
	waitFor(t, func() bool { return b.looks.Load() == 1 })
	b.publish(1)
	if a := w.receive("GET"); a.status != 200 || string(a.envelope(t).Data) != "2" {
		t.Errorf("%d %s", a.status, a.body)
	}
	// At the end of its time it answers with the current number. Waiting does not count as its own
	// time, so the difference is at least the wait, however slow the machine is.
	b.publish(1)
	const wait = 100 * time.Millisecond
	for _, method := range []string{"GET", "HEAD"} {
		begun := time.Now()
		if a := f.ask(t, method, "/v1/poll/100ms"); a.status != 200 ||
			method == "GET" && string(a.envelope(t).Data) != "3" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if took, own := time.Since(begun), time.Duration(own.Load()); took-own < wait {
			t.Errorf("of %v, %v count as the request's own", took, own)
		}
	}
	w.send("GET /v1/poll/30s HTTP/1.1\r\nHost: h\r\n\r\n")
	waitFor(t, func() bool { return b.running() == 1 })
	b.end(fault.New(fault.SessionExpired, "Over."))
	if a := w.receive("GET"); a.status != 401 || a.code(t) != "SESSION_EXPIRED" {
		t.Errorf("%d %s", a.status, a.body)
	}
	waitFor(t, func() bool { return b.running() == 0 && f.slotsInUse() == 0 })
}

func TestWaitSlotsAreBounded(t *testing.T) {
	for _, c := range []struct {
		reason, first, refused, taken string
		cfg                           Config
	}{
		{"WAITING", "good", "other", "", Config{Waiting: 1}},
		{"WAITING_IP", "", "other", "", Config{WaitingPerIP: 1}},
		{"WAITING_AGENT", "good", "good-too", "other", Config{WaitingPerAgent: 1}},
	} {
		c.cfg.clientCheck = 10 * time.Millisecond
		f, b := startCounter(t, c.cfg)
		as := func(credential string) string {
			if credential == "" {
				return "X-Nobody: 1"
			}
			return "Authorization: Bearer " + credential
		}
		first, _ := f.listen(t, "/v1/stream", as(c.first))
		for _, target := range []string{"/v1/poll/30s", "/v1/stream"} {
			a := f.ask(t, "GET", target, as(c.refused), "Accept: text/event-stream")
			if a.status != 429 || a.header.Get("Retry-After") == "" || a.code(t) != "RATE_LIMITED" ||
				a.envelope(t).Error.Details["reason"] != c.reason {
				t.Errorf("%s %s: %d %s", c.reason, target, a.status, a.body)
			}
		}
		if c.taken != "" {
			if a := f.ask(t, "GET", "/v1/poll/1ms", as(c.taken)); a.status != 200 {
				t.Errorf("%s: another one: %d %s", c.reason, a.status, a.body)
			}
		}
		_ = first.Close()
		waitFor(t, func() bool { return f.slotsInUse() == 0 && b.running() == 0 })
		if a := f.ask(t, "GET", "/v1/poll/1ms", as(c.refused)); a.status != 200 {
			t.Errorf("%s: afterwards: %d %s", c.reason, a.status, a.body)
		}
	}
}

// TestSilentStreamIsCheckedForPermission revokes a stream without waking it, as the end of a
// session does.
func TestSilentStreamIsCheckedForPermission(t *testing.T) {
	for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
		f, b := startCounter(t, Config{
			clientCheck: 5 * time.Millisecond, heartbeat: 20 * time.Millisecond,
		})
		w := f.dial(t)
		w.send("GET /v1/stream " + version + "\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n")
		resp, err := nethttp.ReadResponse(w.reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return b.running() == 1 })
		b.mu.Lock()
		b.mu.ended = fault.New(fault.SessionExpired, "Over.")
		b.mu.Unlock()
		text, err := io.ReadAll(resp.Body)
		if err != nil || !strings.HasSuffix(string(text), ": SESSION_EXPIRED\n\n") {
			t.Errorf("%s: the stream ends with %q, %v", version, text, err)
		}
		waitFor(t, func() bool { return b.running() == 0 && f.slotsInUse() == 0 })
	}
}

// TestDisconnectedClientsAreNoticed closes clients while no events come.
func TestDisconnectedClientsAreNoticed(t *testing.T) {
	f, b := startCounter(t, Config{clientCheck: 10 * time.Millisecond})
	stream, _ := f.listen(t, "/v1/stream")
	poll := f.dial(t)
	poll.send("GET /v1/poll/30s HTTP/1.1\r\nHost: h\r\n\r\n")
	waitFor(t, func() bool { return b.running() == 2 })
	_ = stream.Close()
	_ = poll.Close()
	waitFor(t, func() bool { return b.running() == 0 && f.slotsInUse() == 0 })
	// A client that closes only its own side is answered.
	half := f.dial(t)
	half.send("GET /v1/poll/30s HTTP/1.1\r\nHost: h\r\n\r\n")
	if tcp, ok := half.Conn.(*net.TCPConn); !ok || tcp.CloseWrite() != nil {
		t.Fatal("no CloseWrite")
	}
	if a := half.receive("GET"); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if log := f.log.take(); strings.Contains(log, "WARN") || strings.Contains(log, "ERROR") {
		t.Errorf("the log says %s", log)
	}
}

// TestStalledReadersAreDropped has readers that stop reading an endless stream. The server buffers
// a bounded amount for each and drops it.
func TestStalledReadersAreDropped(t *testing.T) {
	f, b := startCounter(t, Config{
		WriteTimeout: 300 * time.Millisecond, ReadTimeout: 10 * time.Second,
		IdleTimeout: 10 * time.Second,
	})
	before := memoryInUse()
	const readers = 20
	var wires []*wire
	for range readers {
		w, _ := f.listen(t, "/v1/flood")
		wires = append(wires, w)
	}
	waitFor(t, func() bool {
		looks := b.looks.Load()
		runtime.Gosched()
		// One that is dropped while it holds others up is counted for ever.
		return looks > readers && b.holding.Load() == 0 && looks == b.looks.Load()
	})
	if grown := memoryInUse() - before; grown > readers*200<<10 {
		t.Errorf("%d readers hold %d bytes", readers, grown)
	}
	waitFor(t, func() bool { return b.running() == 0 && f.slotsInUse() == 0 })
	if got := f.Waiting(); got != (WaitingStats{Dropped: readers}) {
		t.Errorf("%+v AFTER all were dropped", got)
	}
	// The client has complete records and a part of one.
	text, _ := io.ReadAll(wires[0].reader)
	if !strings.Contains(string(text), record(1)+record(1)) ||
		strings.HasSuffix(string(text), "0\r\n\r\n") {
		t.Errorf("%d bytes have arrived", len(text))
	}
	if log := f.log.take(); strings.Contains(log, "WARN") || strings.Contains(log, "ERROR") {
		t.Errorf("the log says %s", log)
	}
}

// memoryInUse is the memory of the process for objects and stacks, in bytes.
func memoryInUse() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int(stats.HeapInuse + stats.StackInuse)
}

// TestManyWaitingRequests compares the memory of a waiting request with that of an idle connection,
// and wakes all requests by one write.
func TestManyWaitingRequests(t *testing.T) {
	const count = 1000
	// The client's side of each connection is in this process too.
	const bytesMax = 64 << 10
	for _, c := range []struct{ name, request string }{
		{"idle connections", "GET /v1/poll/1ns HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"pollers", "GET /v1/poll/30s HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"streams", "GET /v1/stream HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n"},
	} {
		f, b := startCounter(t, Config{WaitingPerIP: count, ConnectionsPerIP: count})
		conns := make([]net.Conn, count)
		before := memoryInUse()
		for i := range conns {
			var err error
			if conns[i], err = net.Dial("tcp", f.address); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conns[i], c.request); err != nil {
				t.Fatal(err)
			}
		}
		waitFor(t, func() bool {
			return b.begun.Load() == count && (c.name != "idle connections" || b.running() == 0)
		})
		each := (memoryInUse() - before) / count
		t.Logf("%s: %d bytes each", c.name, each)
		if each > bytesMax {
			t.Errorf("%s: %d bytes each", c.name, each)
		}
		looks := b.looks.Load()
		b.publish(2)
		if c.name == "pollers" {
			waitFor(t, func() bool { return b.running() == 0 })
		}
		if c.name == "streams" {
			waitFor(t, func() bool { return b.looks.Load() >= looks+count })
		}
		for _, one := range conns {
			_ = one.Close()
		}
		waitFor(t, func() bool { return b.running() == 0 && f.slotsInUse() == 0 })
	}
}

// TestShutdownEndsWaiting has waiting requests, streams, and streams with stalled readers.
func TestShutdownEndsWaiting(t *testing.T) {
	f, b := startCounter(t, Config{})
	poll := f.dial(t)
	poll.send("GET /v1/poll/30s HTTP/1.1\r\nHost: h\r\n\r\n")
	_, stream := f.listen(t, "/v1/stream")
	for range 5 {
		f.listen(t, "/v1/flood")
	}
	waitFor(t, func() bool { return b.running() == 7 })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	begun := time.Now()
	if err := f.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if took := time.Since(begun); took > drainRead+20*time.Second {
		t.Errorf("Shutdown took %v", took)
	}
	if a := poll.receive("GET"); a.status != 200 || !a.close {
		t.Errorf("%d %s", a.status, a.body)
	}
	if rest, err := io.ReadAll(stream.Body); err != nil || string(rest) != ": SHUTTING_DOWN\n\n" {
		t.Errorf("the stream ends with %q, %v", rest, err)
	}
	if b.running() != 0 || f.slotsInUse() != 0 {
		t.Errorf("%d requests wait, %d slots are in use", b.running(), f.slotsInUse())
	}
}
