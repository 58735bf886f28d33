package http

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pws/api"
)

func TestConnectionsAreBounded(t *testing.T) {
	for reason, cfg := range map[string]Config{
		"CONNECTIONS": {Connections: 2}, "CONNECTIONS_IP": {ConnectionsPerIP: 2},
	} {
		f := start(t, cfg, DefaultLimits())
		first, second := f.dial(t), f.dial(t)
		for _, w := range []*wire{first, second} {
			w.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			w.receive("GET")
		}
		third := f.dial(t)
		a := third.receive("GET")
		details := a.envelope(t).Error.Details
		if a.status != 429 || a.header.Get("Retry-After") != "1" || !a.close ||
			details["reason"] != reason || details["limit"] != 2.0 || details["reset_at"] == nil {
			t.Errorf("%s: %d %s", reason, a.status, a.body)
		}
		_ = first.Close()
		if !f.servesOneOf(t, 1000) {
			t.Errorf("%s: the place of a closed connection is not given away", reason)
		}
	}
}

// fromAddress is a connection whose peer has another address.
type fromAddress struct {
	net.Conn
	address netip.Addr
}

func (c fromAddress) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.address, 1))
}

// TestConnectionsOfNetworks opens connections of customers, of a network and of a proxy.
func TestConnectionsOfNetworks(t *testing.T) {
	s, err := newServer(&api.Service{}, Config{
		Table: []*api.Operation{}, Connections: 40, ConnectionsPerIP: 4,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		address     string
		count, want int
	}{
		{"192.0.2.1", 6, 4}, {"::ffff:192.0.2.1", 1, 0}, {"192.0.2.2", 1, 1},
		{"2001:db8:1:1::1", 6, 4}, {"2001:db8:1:1::2", 1, 0}, {"2001:db8:1:2::1", 6, 4},
		{"2001:db8:1:3::1", 6, 2}, {"2001:db8:2:1::1", 1, 1}, {"10.0.0.1", 50, 24},
		{"192.0.2.3", 1, 0},
	} {
		accepted := 0
		for range c.count {
			raw := fromAddress{&clocked{}, netip.MustParseAddr(c.address)}
			if one, short := s.conns.add(raw); one != nil {
				accepted++
			} else if short == enough {
				t.Fatal("the server is stopping")
			}
		}
		if accepted != c.want {
			t.Errorf("%s has %d connections, not %d", c.address, accepted, c.want)
		}
	}
	for _, one := range s.conns.list(false) {
		s.conns.remove(one)
	}
	s.conns.places.wantEmpty(t)
}

// TestProxiesMayConnectInAdvance has a connection of a client and one of a trusted proxy.
func TestProxiesMayConnectInAdvance(t *testing.T) {
	owner := &conns{firstEarlier: 50 * time.Second}
	for exempt, seconds := range map[bool]int64{false: 1010, true: 1060} {
		inner := &clocked{}
		c := &conn{Conn: inner, owner: owner, peer: party{exempt: exempt}}
		if err := c.SetReadDeadline(time.Unix(1060, 0)); err != nil {
			t.Fatal(err)
		}
		if want := time.Unix(seconds, 0); !inner.read.Equal(want) {
			t.Errorf("exempt %t: read until %v, not %v", exempt, inner.read, want)
		}
	}
}

// TestFirstByteHasLessTime has a connection that begins a request and one that sends nothing. On a
// busy machine the first byte may be read too late, and the server has more time in the next try.
func TestFirstByteHasLessTime(t *testing.T) {
	for limit := 50 * time.Millisecond; ; limit *= 4 {
		a := firstByteWithin(t, limit)
		if a.status == 200 {
			return
		}
		if limit > 10*time.Second || a.status != 408 {
			t.Fatalf("a request that has begun: %d %s", a.status, a.body)
		}
	}
}

// firstByteWithin is the answer to a request that ends AFTER the time for its first byte.
func firstByteWithin(t *testing.T, limit time.Duration) (first answer) {
	t.Helper()
	var longest atomic.Int64
	f := start(t, Config{
		FirstByteTimeout: limit,
		Observe: func(seen Observation) {
			longest.Store(max(longest.Load(), int64(seen.Elapsed.Abs())))
		},
	}, nil)
	begun := f.dial(t)
	begun.send("GET / HTTP/1.1\r\n")
	silent := f.dial(t)
	if a := silent.receive("GET"); a.status != 408 || a.code(t) != "REQUEST_TIMEOUT" ||
		!silent.closed() {
		t.Errorf("%d %s", a.status, a.body)
	}
	begun.send("Host: h\r\n\r\n")
	if first = begun.receive("GET"); first.status != 200 {
		return first
	}
	begun.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	if a := begun.receive("GET"); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if longest := time.Duration(longest.Load()); longest > time.Minute {
		t.Errorf("one of the requests took %v", longest)
	}
	return first
}

// servesOneOf tries connections until one is served. The server frees a place when it notices the
// end of a connection, and only a new connection shows that.
func (f *fixture) servesOneOf(t *testing.T, tries int) bool {
	for range tries {
		w := f.dial(t)
		w.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		line, _ := w.reader.ReadString('\n')
		_ = w.Close()
		if strings.Contains(line, "200") {
			return true
		}
	}
	return false
}

// failing is a listener whose first calls fail.
type failing struct {
	net.Listener
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) == 0 {
		return f.Listener.Accept()
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

func TestAcceptSurvivesLackOfDescriptors(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	l := &listener{
		Listener: &failing{ln, []error{
			&net.OpError{Op: "accept", Err: syscall.EMFILE},
			&net.OpError{Op: "accept", Err: syscall.ECONNABORTED},
		}},
		conns: &conns{}, stopping: make(chan struct{}),
	}
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if err := c.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
	l.Listener = &failing{ln, []error{broken}}
	if _, err := l.Accept(); !errors.Is(err, broken) {
		t.Errorf("Accept: %v", err)
	}
	stopped := make(chan struct{})
	close(stopped)
	l.Listener, l.stopping = &failing{ln, []error{syscall.EMFILE}}, stopped
	if _, err := l.Accept(); !errors.Is(err, io.EOF) {
		t.Errorf("Accept of a stopping server: %v", err)
	}
	_ = ln.Close()
	if _, err := l.Accept(); !errors.Is(err, io.EOF) {
		t.Errorf("Accept of a closed listener: %v", err)
	}
}

// TestLackOfDescriptorsIsLogged has a listener lack descriptors: the log says so once a minute.
func TestLackOfDescriptorsIsLogged(t *testing.T) {
	var out bytes.Buffer
	s := &Server{log: slog.New(slog.NewTextHandler(&out, nil))}
	broken := errors.New("broken")
	l := &listener{
		Listener: &failing{nil, []error{
			syscall.ECONNABORTED, &net.OpError{Op: "accept", Err: syscall.EMFILE}, syscall.EMFILE, broken,
		}},
		conns: &s.conns, lacks: s.noteLack, stopping: make(chan struct{}),
	}
	if _, err := l.Accept(); !errors.Is(err, broken) {
		t.Errorf("Accept: %v", err)
	}
	lines := func() int { return strings.Count(out.String(), syscall.EMFILE.Error()) }
	if lines() != 1 {
		t.Errorf("%d lines, want 1: %s", lines(), out.String())
	}
	first := time.Unix(0, s.lackedAt.Load())
	s.noteLack(first.Add(lackEvery-1), syscall.EMFILE)
	s.noteLack(first.Add(lackEvery), syscall.EMFILE)
	if lines() != 2 {
		t.Errorf("%d lines, want 2: %s", lines(), out.String())
	}
}

// clocked is a connection that records its deadlines.
type clocked struct {
	net.Conn
	read, write time.Time
}

func (c *clocked) SetReadDeadline(t time.Time) error  { c.read = t; return nil }
func (c *clocked) SetWriteDeadline(t time.Time) error { c.write = t; return nil }

func (c *clocked) SetDeadline(t time.Time) error {
	c.read, c.write = t, t
	return nil
}

// TestDeadlinesAreSetAgainAfterReset checks that deadlines are set rarely, and that the next one is
// set after SetDeadline, however close it is to the last.
func TestDeadlinesAreSetAgainAfterReset(t *testing.T) {
	start := time.Unix(1000, 0)
	near, far := start.Add(time.Second), start.Add(time.Minute)
	for name, reset := range map[string]time.Time{"none": {}, "a close one": near} {
		inner := &clocked{}
		c := &conn{Conn: inner, owner: &conns{slack: 10 * time.Second}}
		set := func(until time.Time) {
			if err := errors.Join(c.SetReadDeadline(until), c.SetWriteDeadline(until)); err != nil {
				t.Fatal(err)
			}
		}
		want := func(when string, until time.Time) {
			t.Helper()
			if !inner.read.Equal(until) || !inner.write.Equal(until) {
				t.Errorf("%s, %s: read until %v, write until %v, want %v",
					name, when, inner.read, inner.write, until)
			}
		}
		set(start)
		set(near)
		want("a deadline within the slack", start)
		if err := c.SetDeadline(reset); err != nil {
			t.Fatal(err)
		}
		want("after the reset", reset)
		next := near
		if !reset.IsZero() {
			next = far
		}
		set(next)
		want("the next deadline", next)
	}
}
