package http

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
)

// RawHandler answers requests beside the table. The body has been read, within BodyMax.
type RawHandler func(ctx *fasthttp.RequestCtx, body []byte)

// Config are the settings of the transport. Zero values mean the defaults.
type Config struct {
	// Table is what is served; nil means the published interface.
	Table []*api.Operation
	// Raw are handlers by exact path, for all methods, with neither limits nor authentication.
	Raw map[string]RawHandler
	// ReadTimeout bounds how long one request may take to arrive. Default 60 s. It and the next two
	// may come a 64th of the shortest of them too soon.
	ReadTimeout time.Duration
	// WriteTimeout bounds how long one answer may take to leave. Default 60 s.
	WriteTimeout time.Duration
	// IdleTimeout ends connections without a request. Default 60 s. Requests cost least where it is
	// the same as ReadTimeout, for the deadline of a connection then seldom moves.
	IdleTimeout time.Duration
	// Connections is the most that are served at one time. Default 16384.
	Connections int
	// ConnectionsPerIP is the most that one address may hold. Default no bound.
	ConnectionsPerIP int
	// HeaderMax is the largest request line with headers, in bytes. Default 16 KiB.
	HeaderMax int
	// BodyMax is the largest request body in bytes. Default 16 MiB.
	BodyMax int
	// BodyMemory bounds the bodies above 64 KiB that are in memory at one time, in bytes. Default
	// 256 MiB.
	BodyMemory int64
	// Waiting is the most requests that may wait for others at one time, streams of events included,
	// over all, for one agent and from one address. Default 4096, 64 and 256.
	Waiting         int
	WaitingPerAgent int
	WaitingPerIP    int
	// LimitKeys is how many callers each rate limit can tell apart. Default 65536; a key takes 16 B.
	LimitKeys int
	// TrustedProxies are the peers whose X-Forwarded-For names the client, and whose
	// X-Forwarded-Proto the scheme that links begin with.
	TrustedProxies []netip.Prefix
	// Origins are the origins of web pages that may use the service, or * for reads by any. Default *.
	Origins []string
	// SlowRequest is the time from which a request is logged as a warning. Default 1 s; negative
	// means never.
	SlowRequest time.Duration
	// Observe, where it is set, is called with every request after its answer was made.
	Observe func(Observation)

	// lookAfter is how often it is looked after the client of a request that waits: one that has gone
	// away makes no sound that anybody hears who does not read.
	lookAfter time.Duration
	// heartbeat is the silence AFTER which a stream of events says that it is there.
	heartbeat time.Duration
}

// Observation is what is measured of one request.
type Observation struct {
	// Operation is nil where the request reached none.
	Operation *api.Operation
	Status    int
	// Code is the error code, and Reason which limit or queue refused it; empty without one.
	Code, Reason string
	Elapsed      time.Duration
}

func (x *exchange) observation(elapsed time.Duration) Observation {
	seen := Observation{
		Status: x.ctx.Response.StatusCode(), Code: x.code, Reason: x.reason, Elapsed: elapsed,
	}
	seen.Operation = x.operation()
	return seen
}

func (c *Config) fill() {
	setDefault(&c.ReadTimeout, 60*time.Second)
	setDefault(&c.WriteTimeout, 60*time.Second)
	setDefault(&c.IdleTimeout, 60*time.Second)
	setDefault(&c.Connections, 16384)
	setDefault(&c.HeaderMax, 16<<10)
	setDefault(&c.BodyMax, 16<<20)
	setDefault(&c.BodyMemory, 256<<20)
	setDefault(&c.Waiting, 4096)
	setDefault(&c.WaitingPerAgent, 64)
	setDefault(&c.WaitingPerIP, 256)
	setDefault(&c.LimitKeys, 1<<16)
	setDefault(&c.SlowRequest, time.Second)
	setDefault(&c.lookAfter, time.Second)
	setDefault(&c.heartbeat, 15*time.Second)
	if c.Table == nil {
		c.Table = api.Table
	}
	if c.Origins == nil {
		c.Origins = []string{anyOrigin}
	}
}

func setDefault[T comparable](value *T, def T) {
	var zero T
	if *value == zero {
		*value = def
	}
}

// Server is the transport. Its methods are safe for concurrent use.
type Server struct {
	cfg     Config
	log     *slog.Logger
	service *api.Service
	routes  *routes
	raw     map[string]RawHandler
	limiter *limiter
	origins origins
	budget  budget
	seats   seats
	mcp     *mcpServer
	fast    *fasthttp.Server
	conns   conns
	// now is the service's clock. resolve finds the session of a credential and enters it in a call.
	now     func() int64
	resolve func(call *api.Call, credential []byte) (session id.ID, err error)

	// untilClose counts the answers to clients of HTTP/1.0 that end with their connection.
	untilClose sync.WaitGroup
	draining   atomic.Bool
	stopping   chan struct{}
	stopOnce   sync.Once
}

// New makes a server for a service. The rate limits in force are those of the service's Config;
// none means that nothing is limited. It fails where the settings contradict themselves.
func New(service *api.Service, cfg Config, log *slog.Logger) (*Server, error) {
	s, err := newServer(service, cfg, service.Config.Limits, log)
	if err != nil {
		return nil, err
	}
	s.now = service.Engine.Now
	s.resolve = func(call *api.Call, credential []byte) (id.ID, error) {
		session, err := service.Authenticate(string(credential), call.Now)
		if err != nil {
			return id.ID{}, err
		}
		call.Session, call.Agent = session, session.AgentID
		return session.ID, nil
	}
	return s, nil
}

func newServer(
	service *api.Service, cfg Config, limits []api.RateLimit, log *slog.Logger,
) (*Server, error) {
	cfg.fill()
	if cfg.HeaderMax < 1<<10 || cfg.BodyMax < 0 || cfg.Connections < 0 || cfg.LimitKeys < ways {
		return nil, errors.New("http: a bound is too small to serve anything")
	}
	limiter, err := newLimiter(limits, cfg.LimitKeys)
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	s := &Server{
		cfg: cfg, log: log, service: service, raw: cfg.Raw, limiter: limiter,
		origins: newOrigins(cfg.Origins), stopping: make(chan struct{}),
	}
	s.budget.max = cfg.BodyMemory
	s.seats.open(cfg.Waiting, cfg.WaitingPerAgent, cfg.WaitingPerIP)
	s.conns.max, s.conns.maxPerIP = cfg.Connections, cfg.ConnectionsPerIP
	s.conns.slack = min(cfg.ReadTimeout, cfg.WriteTimeout, cfg.IdleTimeout) / 64
	s.routes = newRoutes(cfg.Table, cfg.BodyMax)
	if s.mcp, err = newMCP(&service.Config, cfg.Table, s.routes, cfg.BodyMax); err != nil {
		return nil, err
	}
	s.fast = &fasthttp.Server{
		Handler:                       s.handle,
		ErrorHandler:                  s.unreadable,
		HeaderReceived:                s.headReceived,
		ExpectHandler:                 s.expect,
		ConnState:                     connState,
		Logger:                        transportLog{log},
		Concurrency:                   cfg.Connections + 1,
		ReadBufferSize:                cfg.HeaderMax,
		ReadTimeout:                   cfg.ReadTimeout,
		WriteTimeout:                  cfg.WriteTimeout,
		IdleTimeout:                   cfg.IdleTimeout,
		MaxRequestBodySize:            cfg.BodyMax,
		StreamRequestBody:             true,
		DisablePreParseMultipartForm:  true,
		SecureErrorLogMessage:         true,
		NoDefaultServerHeader:         true,
		NoDefaultContentType:          true,
		CloseOnShutdown:               true,
		DisableHeaderNamesNormalizing: false,
	}
	return s, nil
}

func connState(c net.Conn, state fasthttp.ConnState) {
	if state == fasthttp.StateActive {
		if one, tracked := c.(*conn); tracked && !one.active.Load() {
			one.active.Store(true)
		}
	}
}

// Serve answers connections of a listener until Shutdown, and returns nil then. It may be called
// for several listeners.
func (s *Server) Serve(ln net.Listener) error {
	if s.draining.Load() {
		return ln.Close()
	}
	return s.fast.Serve(&listener{
		Listener: ln, conns: &s.conns, crowded: s.crowded, stopping: s.stopping,
	})
}

// Shutdown takes no new connections, ends those that are silent, lets requests that run finish and
// refuses later ones with SHUTTING_DOWN. When the context ends first, the rest is cut off and its
// error returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	s.stopOnce.Do(func() { close(s.stopping) })
	s.conns.drain()
	err := s.fast.ShutdownWithContext(ctx)
	if err == nil {
		// Nothing is being served any more, so no further answer of this kind can begin.
		err = s.waitUntilClose(ctx)
	}
	if err != nil {
		s.conns.closeAll()
	}
	return err
}

// waitUntilClose waits for the answers that the transport does not know of.
func (s *Server) waitUntilClose(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		s.untilClose.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// crowded answers a connection for which there is no room, without reading from it.
func (s *Server) crowded(raw net.Conn) {
	var ctx fasthttp.RequestCtx
	ctx.Init2(raw, transportLog{s.log}, false)
	x := s.begin(&ctx)
	x.ip = peerIP(raw)
	x.refuse(fault.New(fault.RateLimited, "Too many connections.").
		With("reason", "CONNECTIONS").With("retry_after_seconds", 1))
	s.finish(x)
	ctx.SetConnectionClose()
	const writeTime = 100 * time.Millisecond
	if raw.SetWriteDeadline(time.Now().Add(writeTime)) == nil {
		out := bufio.NewWriter(raw)
		if ctx.Response.Write(out) == nil {
			_ = out.Flush()
		}
	}
}

// unreadable answers what could not be read as a request.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	x := s.begin(ctx)
	defer s.finish(x)
	x.cut = true
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.As(err, &small):
		x.refuse(fault.New(fault.HeadersTooLarge, "The request headers are too large.").
			With("limit_bytes", s.cfg.HeaderMax))
	case errors.As(err, &network) && network.Timeout():
		x.refuse(fault.New(fault.RequestTimeout, "The request did not arrive in time."))
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		x.refuse(bodyTooLarge(s.cfg.BodyMax))
	default:
		x.refuse(fault.Invalid(fault.Field{
			Field: "request", Problem: "is not a well-formed HTTP/1.1 request",
		}))
	}
}
