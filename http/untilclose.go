package http

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// streamBody is an answer of unknown length.
type streamBody interface {
	io.ReadCloser
	fasthttp.BodyWriterTo
}

// sendStream sends an answer in chunks. HTTP/1.0 has no chunks, so there it sends until the
// connection closes.
func (x *exchange) sendStream(body streamBody) {
	if x.ctx.Request.Header.IsHTTP11() {
		x.ctx.Response.SetBodyStream(body, -1)
		return
	}
	u := &untilClose{
		server: x.server, ctx: x.ctx, body: body, operation: x.operationName(),
		requestID: x.call.RequestID, bodiless: x.ctx.IsHead(),
	}
	u.server.untilClose.Add(1)
	if peer, tracked := x.ctx.Conn().(*conn); tracked {
		u.peer = peer
		peer.pending.Store(u)
	}
	x.ctx.SetConnectionClose()
	x.ctx.HijackSetNoResponse(true)
	x.ctx.Hijack(u.send)
}

// untilClose is an answer that ends with its connection. It is sent on its own goroutine, AFTER
// the transport has released the connection. The transport keeps the context for it.
type untilClose struct {
	server    *Server
	ctx       *fasthttp.RequestCtx
	peer      *conn
	body      streamBody
	operation string
	requestID string
	bodiless  bool
	// taken is set by the one that ends the answer: send, or abandon if it was never sent.
	taken atomic.Bool
}

// abandon ends an answer whose connection closed BEFORE it began.
func (u *untilClose) abandon() {
	if u.taken.CompareAndSwap(false, true) {
		u.end()
	}
}

func (u *untilClose) end() {
	_ = u.body.Close()
	u.server.untilClose.Done()
}

// send writes head and body. It resets the connection after an incomplete answer, because only
// that distinguishes it from a complete one.
func (u *untilClose) send(c net.Conn) {
	if !u.taken.CompareAndSwap(false, true) {
		return
	}
	defer u.end()
	_, err := c.Write(u.ctx.Response.Header.AppendBytes(nil))
	if err == nil && !u.bodiless {
		err = u.write(c)
	}
	if err != nil && u.peer != nil {
		u.peer.reset()
	}
}

func (u *untilClose) write(c net.Conn) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
			u.server.log.Error("response aborted", slog.String("request_id", u.requestID),
				slog.String("operation", u.operation), slog.Any("error", err))
		}
	}()
	_, err = u.body.WriteTo(c)
	return err
}

// reset makes Close reset the connection, which the peer sees as a failure.
func (c *conn) reset() {
	c.linger.Store(false)
	if raw, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = raw.SetLinger(0)
	}
}
