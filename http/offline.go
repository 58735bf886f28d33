package http

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/id"
)

// Offline answers messages of MCP as the endpoint of a service does, without the service: the
// description of the server, the tools, and errors of the protocol. It knows no tool to call. It is
// safe for concurrent use.
type Offline struct{ server *Server }

// NewOffline makes the answers of a service whose clients use the address PublicURL.
func NewOffline(config api.Config) (*Offline, error) {
	const keys = ways // Nothing is limited.
	service := &api.Service{Config: config}
	s, err := newServer(service, Config{LimitKeys: keys, SlowRequest: -1}, nil,
		slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	s.now = func() int64 { return time.Now().UnixMilli() }
	s.resolve = func(*api.Call, []byte) (id.ID, error) { return id.ID{}, nil }
	s.mcp.tools = nil
	return &Offline{s}, nil
}

// Answer returns the answer to a message with these headers, empty for a notification. The query is
// that of the endpoint.
func (o *Offline) Answer(query string, header map[string]string, message []byte) []byte {
	// Nothing passes over the connection; large answers set its deadlines.
	near, far := net.Pipe()
	defer func() { _, _ = near.Close(), far.Close() }()
	var ctx fasthttp.RequestCtx
	ctx.Init2(near, transportLog{o.server.log}, false)
	request := &ctx.Request
	request.Header.SetMethod(fasthttp.MethodPost)
	request.SetRequestURI(mcpPath + "?" + query)
	request.Header.SetContentType("application/json")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	request.SetBodyStream(bytes.NewReader(message), len(message))
	o.server.handle(&ctx)
	var answer bytes.Buffer
	if err := ctx.Response.BodyWriteTo(&answer); err != nil && err != io.EOF {
		panic("http: an answer in memory cannot be written: " + err.Error())
	}
	return answer.Bytes()
}
