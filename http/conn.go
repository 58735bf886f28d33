package http

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"pws/internal/id"
)

const (
	// drainRead is how long a client may go on sending its request after Shutdown.
	drainRead = 2 * time.Second
	// lingerQuiet, lingerTime and lingerBytes bound the reading of what a refused client still sends.
	// Closing with unread data resets the connection, and the client can lose the answer. Most clients
	// send all before they read, so a client that keeps sending gets the time for several times the
	// largest body. A client that sends nothing has read the answer.
	lingerQuiet = 2 * time.Second
	lingerTime  = 30 * time.Second
	lingerBytes = 64 << 20
	// lingerChunk is the size of these reads in bytes.
	lingerChunk = 64 << 10
	// unsentBytes is what the kernel takes of a large answer BEFORE it sends it.
	unsentBytes = 128 << 10
)

// conns are the open connections of a server. Shutdown closes those that have sent nothing and
// waits for those that are being served.
type conns struct {
	mu struct {
		sync.Mutex
		open      map[*conn]struct{}
		listeners []*listener
		draining  bool
	}
	// places are what each peer may have of the connections.
	places shares
	// trusts reports whether an address is that of a trusted proxy, whose connections carry the
	// requests of many callers; nil means that none is.
	trusts func(netip.Addr) bool
	// firstEarlier is how much earlier than other requests the first one has to begin.
	firstEarlier time.Duration
	// slack is how much earlier than requested a deadline may be.
	slack time.Duration
	// drainUntil is the read deadline of all connections in Unix nanoseconds, zero before Shutdown.
	drainUntil atomic.Int64
}

// conn is a connection that knows its peer and whether it has sent anything.
type conn struct {
	net.Conn
	owner *conns
	ip    netip.Addr
	// pages says that it came to the address of the pages, and passed that it is that of a member.
	pages, passed bool
	// peer is who holds the connection: an address, whoever sends requests from it.
	peer party
	// active is set with the first byte of the first request.
	active atomic.Bool
	// live says that the connection carries an endless answer. Shutdown bounds its writes.
	live atomic.Bool
	// linger asks Close to drain the input, and lingering says that it is doing so.
	linger, lingering atomic.Bool
	closed            atomic.Bool
	// unsentLimited says that limitUnsent was called. Only the serving goroutine uses it.
	unsentLimited bool
	// ended says that a read met the end of the input. Only the serving goroutine uses it.
	ended bool
	// pending is an answer that may not have begun when the connection is closed.
	pending atomic.Pointer[untilClose]
	// readBy and writeBy are the current deadlines. Only the serving goroutine sets them.
	readBy, writeBy time.Time
	// answer is the body that is being sent, joined what joins it with its headers.
	answer memoryBody
	joined *joint
}

// add registers a connection. The result is nil when the server is stopping, and when a bound is
// reached, which short names.
func (c *conns) add(raw net.Conn) (one *conn, short shortage) {
	one = &conn{Conn: raw, owner: c, ip: peerIP(raw)}
	one.peer = partyOf(one.ip, id.ID{})
	one.peer.exempt = c.trusts != nil && c.trusts(one.ip)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.draining {
		return nil, enough
	}
	if short = c.places.take(one.peer, 1); short != enough {
		return nil, short
	}
	if c.mu.open == nil {
		c.mu.open = map[*conn]struct{}{}
	}
	c.mu.open[one] = struct{}{}
	return one, enough
}

func (c *conns) remove(one *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.open, one)
	c.places.giveBack(one.peer, 1)
}

func peerIP(raw net.Conn) netip.Addr {
	if tcp, ok := raw.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// listen notes a listener, which drain closes. The transport closes only those that it has already
// begun to serve. It reports false when the server is stopping.
func (c *conns) listen(one *listener) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.draining {
		return false
	}
	c.mu.listeners = append(c.mu.listeners, one)
	return true
}

// drain closes the listeners and the connections that never sent anything, and bounds how long
// others may keep sending. It ends the draining of input after a last answer.
func (c *conns) drain() {
	deadline := time.Now().Add(drainRead)
	c.drainUntil.Store(deadline.UnixNano())
	open := c.list(true)
	c.mu.Lock()
	listeners := c.mu.listeners
	c.mu.Unlock()
	for _, one := range listeners {
		// The transport reports the error.
		_ = one.Close()
	}
	for _, one := range open {
		if one.lingering.Load() {
			_ = one.Conn.SetReadDeadline(time.Now())
		} else if one.active.Load() {
			_ = one.Conn.SetReadDeadline(deadline)
			if one.live.Load() {
				_ = one.Conn.SetWriteDeadline(deadline)
			}
		} else {
			_ = one.Close()
		}
	}
}

// closeAll ends every connection.
func (c *conns) closeAll() {
	for _, one := range c.list(true) {
		one.linger.Store(false)
		if errors.Is(one.Close(), net.ErrClosed) {
			_ = one.Conn.Close()
		}
	}
}

func (c *conns) list(draining bool) []*conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.draining = c.mu.draining || draining
	out := make([]*conn, 0, len(c.mu.open))
	for one := range c.mu.open {
		out = append(out, one)
	}
	return out
}

// SetReadDeadline sets no deadline later than that of a draining server. It keeps the current
// deadline if the new one is only slightly later. The first request has to begin earlier, unless it
// is that of a proxy, which may open connections in advance.
func (c *conn) SetReadDeadline(t time.Time) error {
	if !c.active.Load() && !c.peer.exempt && !t.IsZero() {
		t = t.Add(-c.owner.firstEarlier)
	}
	if nanos := c.owner.drainUntil.Load(); nanos != 0 {
		if until := time.Unix(0, nanos); t.IsZero() || t.After(until) {
			t = until
		}
		return c.Conn.SetReadDeadline(t)
	}
	if c.owner.near(c.readBy, t) {
		return nil
	}
	c.readBy = t
	err := c.Conn.SetReadDeadline(t)
	if c.owner.drainUntil.Load() != 0 {
		// Shutdown may have set its own deadline in between.
		return c.SetReadDeadline(t)
	}
	return err
}

// SetWriteDeadline keeps the current deadline if the new one is only slightly later. An endless
// answer has the deadline of a draining server.
func (c *conn) SetWriteDeadline(t time.Time) error {
	if c.owner.near(c.writeBy, t) {
		return nil
	}
	c.writeBy = t
	err := c.Conn.SetWriteDeadline(t)
	if nanos := c.owner.drainUntil.Load(); nanos != 0 && c.live.Load() {
		return c.Conn.SetWriteDeadline(time.Unix(0, nanos))
	}
	return err
}

// SetDeadline is called when the transport releases the connection, which has no deadline then.
func (c *conn) SetDeadline(t time.Time) error {
	c.readBy, c.writeBy = time.Time{}, time.Time{}
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// setLive says whether an endless answer is being sent. The next deadline is always set.
func (c *conn) setLive(yes bool) {
	c.live.Store(yes)
	c.writeBy = time.Time{}
}

// peerClosed reports whether the peer has closed its side. It consumes no input.
func (c *conn) peerClosed() bool { return socketSays(c.Conn, socketClosed) }

// socketSays asks the socket of a connection. A closed socket says yes, what is not a socket no.
func socketSays(of net.Conn, ask func(fd uintptr) bool) (yes bool) {
	raw, ok := of.(syscall.Conn)
	if !ok {
		return false
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return true
	}
	err = control.Control(func(fd uintptr) { yes = ask(fd) })
	return yes || err != nil
}

// limitUnsent keeps an answer that is not read out of the memory of the kernel.
func (c *conn) limitUnsent() {
	raw, ok := c.Conn.(syscall.Conn)
	if !ok || c.unsentLimited {
		return
	}
	c.unsentLimited = true
	if control, err := raw.SyscallConn(); err == nil {
		_ = control.Control(func(fd uintptr) { limitUnsent(fd, unsentBytes) })
	}
}

// near reports whether the current deadline can serve for a later one. Setting a deadline costs as
// much as routing a request.
func (c *conns) near(current, next time.Time) bool {
	ahead := next.Sub(current)
	return !current.IsZero() && !next.IsZero() && ahead >= 0 && ahead < c.slack
}

// begin notes the first byte of the first request, which has the whole time from here on.
func (c *conn) begin(readTimeout time.Duration) {
	if c.active.Load() {
		return
	}
	c.active.Store(true)
	if c.owner.firstEarlier > 0 {
		// A connection without deadlines fails at its next read.
		_ = c.SetReadDeadline(time.Now().Add(readTimeout))
	}
}

// setLinger says whether the last answer was sent before the request was read.
func (c *conn) setLinger(yes bool) {
	if c.linger.Load() != yes {
		c.linger.Store(yes)
	}
}

// Read notes the end of the input.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF {
		c.ended = true
	}
	return n, err
}

// Close closes the connection AFTER its peer had the chance to read the last answer.
func (c *conn) Close() error {
	if answer := c.pending.Load(); answer != nil {
		answer.abandon()
	}
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	defer c.owner.remove(c)
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if ok && c.linger.Load() && half.CloseWrite() == nil {
		c.lingering.Store(true)
		c.drainInput()
	}
	return c.Conn.Close()
}

// drainInput reads and drops what the peer still sends, until it closes its side, sends nothing for
// lingerQuiet, or a bound is reached.
func (c *conn) drainInput() {
	buffer, end := make([]byte, lingerChunk), time.Now().Add(lingerTime)
	bulk := throttle{rate: drainRate}
	for left := int64(lingerBytes); left > 0; {
		now := time.Now()
		quiet := now.Add(lingerQuiet)
		if end.Before(quiet) {
			quiet = end
		}
		if !now.Before(end) || c.Conn.SetReadDeadline(quiet) != nil {
			return
		}
		if c.owner.drainUntil.Load() != 0 {
			// Shutdown may have begun BEFORE this deadline was set.
			return
		}
		n, err := c.Conn.Read(buffer)
		if err != nil {
			return
		}
		left -= int64(n)
		if wait := bulk.note(time.Now(), n); wait > 0 {
			time.Sleep(wait)
		}
	}
}

// listener returns tracked connections and retries where descriptors are lacking.
type listener struct {
	net.Listener
	conns *conns
	// pages says that it is the address of the pages, passed that members pass requests on to it.
	pages, passed bool
	// overLimit answers a connection beyond the bounds.
	overLimit func(net.Conn, shortage)
	// lacks is called where descriptors or memory for a connection are lacking; nil does nothing.
	lacks func(now time.Time, err error)
	// stopping is closed when the server stops, which ends a pause.
	stopping <-chan struct{}
	// closing closes it once, and closed is the error of that.
	closing sync.Once
	closed  error
}

// Close implements net.Listener. It may be called again.
func (l *listener) Close() error {
	l.closing.Do(func() { l.closed = l.Listener.Close() })
	return l.closed
}

// Accept waits for a connection. It ends with io.EOF when the listener is closed.
func (l *listener) Accept() (net.Conn, error) {
	pause := 5 * time.Millisecond
	for {
		raw, err := l.Listener.Accept()
		if err == nil {
			one, short := l.conns.add(raw)
			if one != nil {
				one.pages, one.passed = l.pages, l.passed
				return one, nil
			}
			if short != enough {
				l.overLimit(raw, short)
			}
			_ = raw.Close()
			continue
		}
		if !temporary(err) {
			if errors.Is(err, net.ErrClosed) {
				return nil, io.EOF
			}
			return nil, err
		}
		if l.lacks != nil && isOneOf(err, lacking) {
			l.lacks(time.Now(), err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-l.stopping:
			timer.Stop()
			return nil, io.EOF
		}
		pause = min(2*pause, time.Second)
	}
}

// lacking are the errors of a machine or a process without descriptors or memory for a connection.
var lacking = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}

// temporary reports whether accepting may succeed later: the peer has left already, or descriptors
// or memory are used up.
func temporary(err error) bool {
	left := []error{syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EINTR}
	return isOneOf(err, left) || isOneOf(err, lacking)
}

func isOneOf(err error, all []error) bool {
	return slices.ContainsFunc(all, func(one error) bool { return errors.Is(err, one) })
}

// lackEvery is the least time between two lines about connections that are not accepted.
const lackEvery = time.Minute

// noteLack logs that connections are not accepted, and for a while not again.
func (s *Server) noteLack(now time.Time, err error) {
	last := s.lackedAt.Load()
	if last != 0 && now.UnixNano()-last < int64(lackEvery) ||
		!s.lackedAt.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	s.log.Warn("connections wait: the process has no descriptor or memory for them", "error", err)
}
