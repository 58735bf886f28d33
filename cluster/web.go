package cluster

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// webListener gives connections of HTTP, which members have passed on, to a server.
type webListener struct {
	address net.Addr
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// Web is a listener for the requests that other members pass on.
func (n *Network) Web() net.Listener { return n.web }

// DialWeb opens a connection for requests that another member answers.
func (n *Network) DialWeb(ctx context.Context, member uint64) (net.Conn, error) {
	return n.dial(ctx, member, forWeb)
}

// give waits until a connection is served and closed.
func (l *webListener) give(ctx context.Context, conn net.Conn) error {
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	ended := make(chan struct{})
	one := &webConn{Conn: conn, ended: ended}
	select {
	case l.conns <- one:
	case <-l.closed:
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return nil
}

// Accept implements net.Listener.
func (l *webListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *webListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *webListener) Addr() net.Addr { return l.address }

// Passed is where connections of members seem to come from: addresses that are routed nowhere, so
// that nobody else has them.
const Passed = "100::/64"

type webConn struct {
	net.Conn
	ended chan struct{}
	once  sync.Once
}

// RemoteAddr implements net.Conn.
func (c *webConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP("100::1"), Port: 1} }

// Close implements net.Conn.
func (c *webConn) Close() (err error) {
	c.once.Do(func() {
		err = c.Conn.Close()
		close(c.ended)
	})
	return err
}
