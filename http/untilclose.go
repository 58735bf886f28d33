package http

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// pieced is an answer that is written in pieces.
type pieced interface {
	io.ReadCloser
	fasthttp.BodyWriterTo
}

// sendPieces sends an answer in pieces: in chunks, or, to a client of HTTP/1.0, which knows none,
// until the connection closes.
func (x *exchange) sendPieces(body pieced) {
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
		peer.unbegun.Store(u)
	}
	x.ctx.SetConnectionClose()
	x.ctx.HijackSetNoResponse(true)
	x.ctx.Hijack(u.send)
}

// untilClose is an answer whose end is that of its connection. It is sent on a goroutine of its
// own, AFTER the transport has let the connection go. The transport keeps the context for it.
type untilClose struct {
	server    *Server
	ctx       *fasthttp.RequestCtx
	peer      *conn
	body      pieced
	operation string
	requestID string
	bodiless  bool
	// taken is set by whoever ends the answer: send, or abandon where it was never sent.
	taken atomic.Bool
}

// abandon ends an answer that was not begun, since its connection closed BEFORE.
func (u *untilClose) abandon() {
	if u.taken.CompareAndSwap(false, true) {
		u.end()
	}
}

func (u *untilClose) end() {
	_ = u.body.Close()
	u.server.untilClose.Done()
}

// send writes head and body. A client tells a whole answer from a part by how the connection ends,
// so it is reset behind a part.
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
			u.server.log.Error("an answer was broken off", slog.String("request_id", u.requestID),
				slog.String("operation", u.operation), slog.Any("error", err))
		}
	}()
	_, err = u.body.WriteTo(c)
	return err
}

// reset lets Close end the connection in a way that the peer takes for a failure.
func (c *conn) reset() {
	c.linger.Store(false)
	if raw, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = raw.SetLinger(0)
	}
}
