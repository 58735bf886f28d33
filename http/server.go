package http

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
)

// RawHandler answers requests outside of the table. The body was read, up to BodyMax.
type RawHandler func(ctx *fasthttp.RequestCtx, body []byte)

// connectionsNetworkPart is the part of all connections that one network may have, as a divisor.
const connectionsNetworkPart = 4

// Config are the settings of the transport. Zero values mean the defaults.
type Config struct {
	// Table holds the operations to serve; nil means the published interface.
	Table []*api.Operation
	// Raw are handlers by exact path, for all methods, with neither limits nor authentication.
	Raw map[string]RawHandler
	// WebFailure makes the page of a refusal. It is needed if the table has pages.
	WebFailure func(c *api.Call, failure api.WebFailure) []byte
	// ReadTimeout bounds the reading of one request. Default 60 s. It and the next two may end early,
	// by a 64th of the shortest of them.
	ReadTimeout time.Duration
	// WriteTimeout bounds the writing of one answer. Default 60 s.
	WriteTimeout time.Duration
	// IdleTimeout closes connections without a request. Default 60 s. Requests are cheapest if
	// it equals ReadTimeout, because the deadline of a connection then seldom changes.
	IdleTimeout time.Duration
	// FirstByteTimeout closes a new connection on which no request begins. Default 10 s; it is at most
	// ReadTimeout.
	FirstByteTimeout time.Duration
	// Connections bounds the open connections. Default 16384.
	Connections int
	// ConnectionsPerIP bounds the open connections of one address, for IPv6 of one /64. A /48 may have
	// a quarter of all connections. Trusted proxies may have all. Default 256.
	ConnectionsPerIP int
	// HeaderMax bounds the request line with the headers, in bytes. Default 16 KiB.
	HeaderMax int
	// BodyMax bounds a request body, in bytes. Default 16 MiB.
	BodyMax int
	// BodyMemory bounds the sum of the bodies and answers above 64 KiB in memory, in bytes. Default
	// 256 MiB.
	BodyMemory int64
	// Waiting bounds the requests that wait for events, streams included: in total, for one agent and
	// from one address. Default 4096, 64 and 256.
	Waiting         int
	WaitingPerAgent int
	WaitingPerIP    int
	// Expensive is how many expensive operations run at one time. Default: one for each core, if
	// GOMAXPROCS is twice their number.
	Expensive int
	// Writes is how many writes are carried out at one time. Others wait for up to 5 seconds.
	// Default 256.
	Writes int
	// LimitKeys is how many callers each rate limit can distinguish. Default 65536; one takes 16 B.
	LimitKeys int
	// TrustedProxies are the peers whose X-Forwarded-For gives the address of the client and whose
	// X-Forwarded-Proto gives the scheme of links.
	TrustedProxies []netip.Prefix
	// Origins are the origins of web pages that may use the service. With *, which is the default
	// for nil, pages of all origins may read.
	Origins []string
	// LoopbackOnly says that clients reach the server by a loopback address alone. Requests to
	// another domain name are refused.
	LoopbackOnly bool
	// PagesApart says that pages are served by ServePages alone. PagesLoopbackOnly is LoopbackOnly for
	// the address of the pages.
	PagesApart, PagesLoopbackOnly bool
	// SlowRequest is the duration from which a request is logged as a warning. Default 1 s; a negative
	// one means never.
	SlowRequest time.Duration
	// Group is the servers that are one service with this one; nil for a single server. PassedFrom is
	// the network that the connections of ServePassed come from, and nobody else has.
	Group      Group
	PassedFrom string
	// Observe is called for every request when its answer is made, unless it is nil.
	Observe func(Observation)

	// clientCheck is the interval in which the client of a waiting request is checked. One that has
	// left is not noticed without a check, because nothing is read or written.
	clientCheck time.Duration
	// heartbeat is the time without events AFTER which a stream sends a comment.
	heartbeat time.Duration
	// computingWait is how long a request waits to run an expensive operation; after is time.After.
	computingWait time.Duration
	after         func(time.Duration) <-chan time.Time
	// writeWait is how long a write waits for its turn, leaderWait how long one waits for a leader.
	writeWait, leaderWait time.Duration
	// leastRate and paceGrace are those of pace.
	leastRate int64
	paceGrace time.Duration
}

// Observation describes one request for metrics.
type Observation struct {
	// Operation is nil for a request that reached none.
	Operation *api.Operation
	Status    int
	// Code is the error code. Reason is the limit or queue that refused the request. Both are empty
	// without an error.
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
	setDefault(&c.FirstByteTimeout, 10*time.Second)
	setDefault(&c.Connections, 16384)
	setDefault(&c.ConnectionsPerIP, 256)
	setDefault(&c.HeaderMax, 16<<10)
	setDefault(&c.BodyMax, 16<<20)
	setDefault(&c.BodyMemory, 256<<20)
	setDefault(&c.Waiting, 4096)
	setDefault(&c.WaitingPerAgent, 64)
	setDefault(&c.WaitingPerIP, 256)
	setDefault(&c.Expensive, max(1, runtime.GOMAXPROCS(0)/2))
	setDefault(&c.computingWait, computingWait)
	setDefault(&c.Writes, writesRunning)
	setDefault(&c.writeWait, writeWait)
	setDefault(&c.leaderWait, leaderWait)
	setDefault(&c.LimitKeys, 1<<16)
	setDefault(&c.SlowRequest, time.Second)
	setDefault(&c.clientCheck, time.Second)
	setDefault(&c.heartbeat, 15*time.Second)
	setDefault(&c.leastRate, leastRate)
	setDefault(&c.paceGrace, paceGrace)
	if c.after == nil {
		c.after = time.After
	}
	if c.Table == nil {
		c.Table = api.Table
	}
	if c.Origins == nil {
		c.Origins = []string{anyOrigin}
	}
	c.trustPassed()
}

func setDefault[T comparable](value *T, def T) {
	var zero T
	if *value == zero {
		*value = def
	}
}

// Server is the transport. It is safe for concurrent use.
type Server struct {
	cfg     Config
	log     *slog.Logger
	service *api.Service
	// routes are all; routesMain and routesPages are those of Serve and of ServePages.
	routes, routesMain, routesPages *routes

	raw     map[string]RawHandler
	limiter *limiter
	// refusals count those that are made at once, by agent or network.
	refusals *buckets
	origins  origins
	memory   shares
	slots    waitSlots
	// computing has the slots of expensive operations.
	computing computing
	// rendering is the queue of texts that become HTML.
	rendering computing
	// writes has the permits of writes.
	writes admission
	mcp    *mcpServer
	// lines are connections to other members.
	lines lines
	fast  *fasthttp.Server
	conns conns
	// now is the service's clock. resolve finds the session of a credential and enters it in a call,
	// and lives checks that this session has not ended since.
	now     func() int64
	resolve func(call *api.Call, credential []byte) (session id.ID, err error)
	lives   func(call *api.Call) error

	// untrustedSeen says that warnUntrusted has logged.
	untrustedSeen atomic.Bool
	// lackedAt is when noteLack has logged, in Unix nanoseconds.
	lackedAt atomic.Int64

	// untilClose counts the answers over HTTP/1.0 that end with their connection.
	untilClose sync.WaitGroup
	draining   atomic.Bool
	stopping   chan struct{}
	stopOnce   sync.Once
}

// New returns a server for a service, with the rate limits of the service's Config. Without any,
// nothing is limited. It fails if a setting is invalid.
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
	s.lives = func(call *api.Call) error {
		if call.Session == nil {
			return nil
		}
		_, err := service.Engine.Identity().Authenticate(call.Session.Hash, call.Now)
		return err
	}
	return s, nil
}

func newServer(
	service *api.Service, cfg Config, limits []api.RateLimit, log *slog.Logger,
) (*Server, error) {
	cfg.fill()
	if cfg.HeaderMax < 1<<10 || cfg.BodyMax < 0 || cfg.Connections < 0 ||
		cfg.ConnectionsPerIP < 0 || cfg.Expensive < 0 || cfg.Writes < 0 || cfg.LimitKeys < ways {
		return nil, errors.New("http: a bound is too small to serve anything")
	}
	limiter, err := newLimiter(limits, cfg.LimitKeys)
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	s := &Server{
		cfg: cfg, log: log, service: service, raw: cfg.Raw, limiter: limiter,
		origins: newOrigins(cfg.Origins), stopping: make(chan struct{}),
		lives: func(*api.Call) error { return nil },
	}
	s.refusals = newBuckets(refusalsFree, refusalsSeconds, cfg.LimitKeys)
	s.memory.bounds = memoryBounds(cfg.BodyMemory, int64(cfg.BodyMax))
	s.computing.init(cfg.Expensive)
	s.rendering.init(max(1, runtime.GOMAXPROCS(0)/2))
	s.writes.init(cfg.Writes)
	s.slots.init(cfg.Waiting, cfg.WaitingPerAgent, cfg.WaitingPerIP)
	s.conns.places.bounds = bounds{
		total: int64(cfg.Connections), address: int64(cfg.ConnectionsPerIP),
		network: int64(max(cfg.ConnectionsPerIP, cfg.Connections/connectionsNetworkPart)),
	}
	s.conns.trusts = s.trusts
	s.conns.firstEarlier = max(0, cfg.ReadTimeout-cfg.FirstByteTimeout)
	s.conns.slack = min(cfg.ReadTimeout, cfg.WriteTimeout, cfg.IdleTimeout) / 64
	s.setRoutes()
	s.mcp = newMCP(&service.Config, cfg.Table, s.routes, cfg.BodyMax)
	s.fast = &fasthttp.Server{
		Handler:                       s.handle,
		ErrorHandler:                  s.parseError,
		HeaderReceived:                s.headReceived,
		ExpectHandler:                 s.expect,
		ConnState:                     s.connState,
		Logger:                        transportLog{log},
		Concurrency:                   cfg.Connections + 1,
		ReadBufferSize:                cfg.HeaderMax,
		WriteBufferSize:               writeBuffer,
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

func (s *Server) connState(c net.Conn, state fasthttp.ConnState) {
	if state == fasthttp.StateActive {
		if one, tracked := c.(*conn); tracked {
			one.begin(s.cfg.ReadTimeout)
		}
	}
}

// Serve answers the connections of a listener until Shutdown and then returns nil. It may be called
// for several listeners.
func (s *Server) Serve(ln net.Listener) error { return s.serve(&listener{Listener: ln}) }

// ServePages is Serve for an address that has the pages, and what they need, and nothing else. It
// needs PagesApart.
func (s *Server) ServePages(ln net.Listener) error {
	return s.serve(&listener{Listener: ln, pages: true})
}

func (s *Server) serve(own *listener) error {
	own.conns, own.overLimit, own.stopping = &s.conns, s.refuseConnection, s.stopping
	own.lacks = s.noteLack
	if !s.conns.listen(own) {
		return own.Close()
	}
	return s.fast.Serve(own)
}

// Shutdown accepts no new connections, closes idle ones, lets running requests finish and refuses
// later ones with SHUTTING_DOWN. When the context ends first, Shutdown closes all connections and
// returns the error of the context.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	s.stopOnce.Do(func() { close(s.stopping) })
	s.conns.drain()
	defer s.lines.close()
	err := s.fast.ShutdownWithContext(ctx)
	if err == nil {
		// All requests are served, so no further answer of this kind can begin.
		err = s.waitUntilClose(ctx)
	}
	if err != nil {
		s.conns.closeAll()
	}
	return err
}

// waitUntilClose waits for the answers that are sent after the transport released the connection.
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

// refuseConnection answers a connection beyond the bounds without reading from it.
func (s *Server) refuseConnection(raw net.Conn, short shortage) {
	var ctx fasthttp.RequestCtx
	ctx.Init2(raw, transportLog{s.log}, false)
	x := s.begin(&ctx)
	x.begun, x.ip = time.Now(), peerIP(raw)
	if places := &s.conns.places; short == shortTotal {
		x.refuse(noSlot("CONNECTIONS", "Too many connections.", places.total))
	} else {
		x.refuse(noSlot("CONNECTIONS_IP", "Too many connections of this address.",
			places.addressBound(x.party())))
	}
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

// parseError answers input that is not a readable request.
func (s *Server) parseError(ctx *fasthttp.RequestCtx, err error) {
	x := s.begin(ctx)
	defer s.finish(x)
	x.begun, x.unreadable = time.Now(), true
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
