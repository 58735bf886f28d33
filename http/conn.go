package http

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// drainRead is how long a request that was being sent may still arrive after Shutdown.
	drainRead = 2 * time.Second
	// lingerQuiet, lingerTime and lingerBytes bound the reading of what a refused client still sends:
	// closing with unread data resets the connection, and the client can lose the answer by that. Most
	// clients read nothing before they have sent all, so a client that goes on sending has the time
	// for several times the largest body; one that is quiet has read the answer.
	lingerQuiet = 2 * time.Second
	lingerTime  = 30 * time.Second
	lingerBytes = 64 << 20
	// lingerChunk is what is read of it at one time.
	lingerChunk = 16 << 10
)

// conns are the open connections of a server, so that Shutdown can tell those that have sent
// nothing from those that are being served.
type conns struct {
	mu struct {
		sync.Mutex
		open     map[*conn]struct{}
		byIP     map[netip.Addr]int
		draining bool
	}
	// max bounds the open connections and maxPerIP those of one address; zero means no bound.
	max, maxPerIP int
	// slack is how much sooner than asked for a deadline may come.
	slack time.Duration
	// drainUntil is the read deadline of all connections in Unix nanoseconds, zero before Shutdown.
	drainUntil atomic.Int64
}

// conn is a connection that knows its peer and whether it has sent anything.
type conn struct {
	net.Conn
	owner *conns
	ip    netip.Addr
	// active is set with the first byte of the first request.
	active atomic.Bool
	// live says that it carries an answer without end; Shutdown bounds its writes.
	live atomic.Bool
	// linger asks Close to read on for a while, and lingering says that it does.
	linger, lingering atomic.Bool
	closed            atomic.Bool
	// ended says that the peer has sent its last byte and that a request needed more; only the
	// serving goroutine uses it.
	ended bool
	// unbegun is an answer that may not have been begun when the connection is closed.
	unbegun atomic.Pointer[untilClose]
	// readBy and writeBy are the deadlines that stand; only the serving goroutine sets them.
	readBy, writeBy time.Time
}

// add registers a connection. It refuses once the server is stopping, and where the bounds are
// reached, which is what crowded says.
func (c *conns) add(raw net.Conn) (one *conn, crowded bool) {
	one = &conn{Conn: raw, owner: c, ip: peerIP(raw)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.draining {
		return nil, false
	}
	if c.max > 0 && len(c.mu.open) >= c.max ||
		c.maxPerIP > 0 && c.mu.byIP[one.ip] >= c.maxPerIP {
		return nil, true
	}
	if c.mu.open == nil {
		c.mu.open, c.mu.byIP = map[*conn]struct{}{}, map[netip.Addr]int{}
	}
	c.mu.open[one] = struct{}{}
	if c.maxPerIP > 0 {
		c.mu.byIP[one.ip]++
	}
	return one, false
}

// remove forgets a connection.
func (c *conns) remove(one *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.open, one)
	if c.maxPerIP == 0 {
		return
	}
	if c.mu.byIP[one.ip]--; c.mu.byIP[one.ip] <= 0 {
		delete(c.mu.byIP, one.ip)
	}
}

func peerIP(raw net.Conn) netip.Addr {
	if tcp, ok := raw.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// drain closes connections that never sent anything and bounds how long others may go on sending.
// Those that have their last answer are not waited for.
func (c *conns) drain() {
	deadline := time.Now().Add(drainRead)
	c.drainUntil.Store(deadline.UnixNano())
	for _, one := range c.list(true) {
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

// SetReadDeadline keeps to the deadline of the draining server, and to the one that stands where
// the new one is hardly later.
func (c *conn) SetReadDeadline(t time.Time) error {
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

// SetWriteDeadline keeps to the deadline that stands where the new one is hardly later. A live
// answer keeps to the one of the draining server.
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

// SetDeadline is called when the transport lets the connection go, and no deadline stands then.
func (c *conn) SetDeadline(t time.Time) error {
	c.readBy, c.writeBy = time.Time{}, time.Time{}
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// setLive says whether an answer without end is being sent. The deadline is set anew for it.
func (c *conn) setLive(yes bool) {
	c.live.Store(yes)
	c.writeBy = time.Time{}
}

// gone reports whether the peer has ended its side. It reads nothing.
func (c *conn) gone() bool {
	raw, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return true
	}
	ended := false
	err = control.Control(func(fd uintptr) { ended = socketEnded(fd) })
	return ended || err != nil
}

// near reports whether a deadline that stands can do for a later one. Setting deadlines for every
// request costs as much as routing it.
func (c *conns) near(stands, next time.Time) bool {
	ahead := next.Sub(stands)
	return !stands.IsZero() && !next.IsZero() && ahead >= 0 && ahead < c.slack
}

// lingers says whether the last answer went out before the request had been read.
func (c *conn) lingers(yes bool) {
	if c.linger.Load() != yes {
		c.linger.Store(yes)
	}
}

// Read notes the end of what the peer sends.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF {
		c.ended = true
	}
	return n, err
}

// Close ends the connection, AFTER its peer had the chance to read the last answer.
func (c *conn) Close() error {
	if answer := c.unbegun.Load(); answer != nil {
		answer.abandon()
	}
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	defer c.owner.remove(c)
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if ok && c.linger.Load() && half.CloseWrite() == nil {
		c.lingering.Store(true)
		c.readOn()
	}
	return c.Conn.Close()
}

// readOn reads and drops what the peer still sends, until it ends its side, is quiet, or the bounds
// are reached.
func (c *conn) readOn() {
	buffer, end := make([]byte, lingerChunk), time.Now().Add(lingerTime)
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
			// Shutdown may have come BEFORE this deadline was set.
			return
		}
		n, err := c.Conn.Read(buffer)
		if err != nil {
			return
		}
		left -= int64(n)
	}
}

// listener hands out tracked connections and survives the lack of descriptors.
type listener struct {
	net.Listener
	conns *conns
	// crowded answers a connection that is not taken.
	crowded func(net.Conn)
	// stopping is closed when the server stops, which ends a pause.
	stopping <-chan struct{}
}

// Accept waits for a connection. It ends with io.EOF when the listener is closed.
func (l *listener) Accept() (net.Conn, error) {
	pause := 5 * time.Millisecond
	for {
		raw, err := l.Listener.Accept()
		if err == nil {
			one, crowded := l.conns.add(raw)
			if one != nil {
				return one, nil
			}
			if crowded {
				l.crowded(raw)
			}
			_ = raw.Close()
			continue
		}
		if !passing(err) {
			if errors.Is(err, net.ErrClosed) {
				return nil, io.EOF
			}
			return nil, err
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

// passing reports whether accepting may succeed later: the peer is gone already, or descriptors or
// memory are used up.
func passing(err error) bool {
	for _, one := range []error{
		syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EMFILE, syscall.ENFILE,
		syscall.ENOBUFS, syscall.ENOMEM, syscall.EINTR,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
