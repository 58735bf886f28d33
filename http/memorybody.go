package http

import (
	"errors"
	"io"
	"net"
	"sync"

	"github.com/valyala/fasthttp"

	"pws/api"
)

const (
	// writeBuffer is the size of the transport's buffer for writes.
	writeBuffer = 4 << 10
	// bodyKept is the memory for a body that a connection keeps for its next answer, in bytes.
	bodyKept = 32 << 10
	// joinedBody is the size from which a body is sent together with its headers. The transport
	// writes what follows its full buffer at once, without a copy.
	joinedBody = 2 * writeBuffer
)

// largeBodies are memory for bodies that no connection keeps. Each has smallBody bytes, so that
// what slow clients hold of it is bounded like that of other bodies that are not counted.
var largeBodies = sync.Pool{New: func() any {
	memory := make([]byte, 0, smallBody)
	return &memory
}}

// bodyFor is a body to append the data of an answer to.
func (x *exchange) bodyFor(data any) []byte {
	sized, known := data.(api.Sized)
	if !known || sized.JSONBytes() <= bodyKept {
		return x.emptyBody()
	}
	if x.large == nil {
		x.large, _ = largeBodies.Get().(*[]byte)
	}
	return *x.large
}

// inLarge reports whether a body is in the large memory of the exchange.
func (x *exchange) inLarge(body []byte) bool {
	return x.large != nil && cap(body) == smallBody && &body[:1][0] == &(*x.large)[:1][0]
}

// giveLarge gives back the large memory, unless an answer has taken it.
func (x *exchange) giveLarge() {
	if x.large != nil {
		largeBodies.Put(x.large)
		x.large = nil
	}
}

// setMemoryBody sets a body that is not compressed any more. The connection keeps its memory, or
// the pool, unless it is larger.
func (x *exchange) setMemoryBody(body []byte) {
	large := x.inLarge(body)
	if large && len(body) <= bodyKept {
		body, large = append(x.emptyBody(), body...), false
	}
	kept := !large && cap(body) <= bodyKept
	if kept {
		x.ctx.Response.SwapBody(body)
	}
	peer, tracked := x.ctx.Conn().(*conn)
	switch {
	case tracked && len(body) >= joinedBody:
		peer.answer = memoryBody{peer: peer, body: body}
		if large {
			peer.answer.memory, x.large = x.large, nil
		}
		x.ctx.Response.SetBodyStream(&peer.answer, len(body))
	case large:
		x.large = nil
		x.ctx.Response.SetBodyRaw(body)
	case !kept:
		x.ctx.Response.SetBodyRaw(body)
	}
}

// memoryBody sends a body that is in memory in one call of the kernel, together with its headers.
type memoryBody struct {
	peer *conn
	body []byte
	// memory goes back to the pool; nil if it is not of the pool.
	memory *[]byte
}

var _ fasthttp.BodyWriterTo = (*memoryBody)(nil)

// SupportsBodyWriteTo makes fasthttp call WriteTo and never Read.
func (m *memoryBody) SupportsBodyWriteTo() bool { return true }

// Read makes it a body; it always fails.
func (m *memoryBody) Read([]byte) (int, error) {
	return 0, errors.New("http: a body in memory is written")
}

// WriteTo writes the body behind the headers, which the transport holds in its buffer.
func (m *memoryBody) WriteTo(w io.Writer) (int64, error) {
	m.peer.joined, _ = joints.Get().(*joint)
	n, err := w.Write(m.body)
	return int64(n), errors.Join(err, m.peer.endJoint())
}

// Close gives back the memory AFTER the body was sent. It is also called for a body that never was.
func (m *memoryBody) Close() error {
	if m.memory != nil {
		largeBodies.Put(m.memory)
	}
	*m = memoryBody{}
	return nil
}

// joint holds the first write of an answer until the next one, which is sent together with it.
type joint struct {
	first [writeBuffer]byte
	// held is the size of the first write while it is held.
	held int
	// open says that nothing was written so far.
	open  bool
	parts [2][]byte
	list  net.Buffers
}

var joints = sync.Pool{New: func() any { return &joint{open: true} }}

// Write sends data, or holds it for the next write of a joint.
func (c *conn) Write(data []byte) (int, error) {
	j := c.joined
	switch {
	case j == nil || j.held == 0 && !j.open:
		return c.Conn.Write(data)
	case j.open && len(data) <= len(j.first):
		j.held, j.open = copy(j.first[:], data), false
		return len(data), nil
	}
	j.parts[0], j.parts[1] = j.first[:j.held], data
	j.list = j.parts[:]
	n, err := j.list.WriteTo(c.Conn)
	n -= int64(j.held)
	j.held, j.open = 0, false
	return int(max(n, 0)), err
}

// endJoint sends what is held still.
func (c *conn) endJoint() (err error) {
	j := c.joined
	c.joined = nil
	if j.held > 0 {
		_, err = c.Conn.Write(j.first[:j.held])
	}
	j.parts, j.list, j.held, j.open = [2][]byte{}, nil, 0, true
	joints.Put(j)
	return err
}
