package http

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	nethttp "net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
)

func TestMain(m *testing.M) {
	// The transport's date updater never ends, and its cleaners notice the end at their next tick.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

type echoRequest struct {
	Text  string `json:"text" check:"required,chars=1..100000000"`
	Count int    `json:"count" check:"min=0,max=9"`
}

type echoed struct {
	Text   string            `json:"text"`
	Params []string          `json:"params"`
	Query  map[string]string `json:"query"`
	Agent  string            `json:"agent"`
	Key    []int             `json:"key"`
	Match  string            `json:"match"`
}

func echo(c *api.Call, text string) (api.Reply, error) {
	out := echoed{Text: text, Params: append([]string{}, c.Params...), Query: map[string]string{}}
	for name, value := range c.Query {
		out.Query[name] = value
	}
	if !c.Agent.IsZero() {
		out.Agent = c.Agent.Format(id.Agent)
	}
	if c.Idempotency != nil {
		for _, b := range append(c.Idempotency.Hash[:], c.Idempotency.Fingerprint[:]...) {
			out.Key = append(out.Key, int(b))
		}
	}
	out.Match = c.IfMatch + "|" + c.IfNoneMatch
	return api.Reply{Data: out}, nil
}

func plain(c *api.Call, _ *api.None) (api.Reply, error) { return echo(c, "") }

func withText(c *api.Call, body *echoRequest) (api.Reply, error) { return echo(c, body.Text) }

// fixture is a running server with operations of its own.
type fixture struct {
	*Server
	address string
	entered chan struct{}
	leave   chan struct{}
	clock   atomic.Int64
	log     *logBuffer
}

type logBuffer struct {
	mu struct {
		sync.Mutex
		text bytes.Buffer
	}
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.text.Write(p)
}

// take empties the log.
func (l *logBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.mu.text.Reset()
	return l.mu.text.String()
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.text.String()
}

const kibibyte = 1 << 10

var (
	read  = api.Operation{Method: "GET", Category: api.CategoryRead, Statuses: []int{200}}
	write = api.Operation{Method: "POST", Category: api.CategoryWrite, Statuses: []int{201, 200}}
)

func op(base api.Operation, name, path string, auth api.Auth) api.Operation {
	base.Name, base.Path, base.Auth = name, path, auth
	return base
}

func (f *fixture) table() []*api.Operation {
	search := op(read, "search", "/v1/search", api.Optional)
	search.Category = api.CategorySearch
	search.Query = []api.Param{
		{Name: "q", Check: "required,chars=1..20,line"},
		{Name: "limit", Integer: true, Check: "min=1,max=200"},
		{Name: "depth", Integer: true, Check: "min=1"},
		{Name: "cursor"},
	}
	noted := op(write, "note.create", "/v1/projects/{project}/notes", api.Bearer)
	noted.Idempotency = api.KeyRequired
	created := op(write, "project.create", "/v1/projects", api.Bearer)
	created.Idempotency, created.Category = api.KeyRequired, api.CategoryCreation
	forked := op(write, "project.fork", "/v1/projects/{project}/fork", api.Bearer)
	forked.Idempotency, forked.Category = api.KeyOptional, api.CategoryCreation
	small := op(write, "small", "/v1/small", api.Anonymous)
	small.BodyMax = kibibyte
	put := op(write, "file.write", "/v1/files/{path*}", api.Bearer)
	put.Conditional = true
	put.Method = "PUT"
	return append(f.specialTable(), []*api.Operation{
		api.Declare[api.None, echoed](op(read, "file.read", "/v1/files/{path*}", api.Optional),
			func(c *api.Call, _ *api.None) (api.Reply, error) {
				reply, err := echo(c, strings.Repeat("x", kibibyte))
				reply.ETag = `"tag"`
				return reply, err
			}),
		api.Declare[echoRequest, echoed](put, withText),
		api.Declare[api.None, echoed](
			op(write, "file.rename", "/v1/files/{path*}/rename", api.Anonymous), plain),
		api.Declare[api.None, echoed](op(read, "root", "/", api.Anonymous), plain),
		api.Declare[api.None, echoed](op(read, "agent.me", "/v1/agents/me", api.Bearer), plain),
		api.Declare[api.None, echoed](op(read, "agent.read", "/v1/agents/{agent}", api.Anonymous),
			plain),
		api.Declare[api.None, echoed](op(read, "agent.keys", "/v1/agents/me/keys", api.Bearer),
			plain),
		api.Declare[api.None, echoed](search, plain),
		api.Declare[echoRequest, echoed](op(write, "echo", "/v1/echo", api.Anonymous), withText),
		api.Declare[echoRequest, echoed](small, withText),
		api.Declare[echoRequest, echoed](noted, withText),
		api.Declare[echoRequest, echoed](created, withText),
		api.Declare[echoRequest, echoed](forked, withText),
	}...)
}

// noise is incompressible.
var noise = func() string {
	out := make([]byte, 8<<10)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(out)
	return string(out)
}()

// specialTable has operations that fail, wait or answer without an envelope.
func (f *fixture) specialTable() []*api.Operation {
	big := strings.Repeat("0123456789abcdef", 4096)
	return []*api.Operation{
		api.Declare[api.None, echoed](op(read, "panic", "/v1/panic", api.Anonymous),
			func(*api.Call, *api.None) (api.Reply, error) { panic("the secret reason") }),
		api.Declare[api.None, echoed](op(read, "fail", "/v1/fail", api.Anonymous),
			func(*api.Call, *api.None) (api.Reply, error) {
				return api.Reply{}, errors.New("the secret reason")
			}),
		api.Declare[api.None, echoed](op(read, "held", "/v1/held", api.Anonymous),
			func(*api.Call, *api.None) (api.Reply, error) {
				return api.Reply{}, fault.New(fault.StorageUnavailable, "No room.")
			}),
		api.Declare[api.None, api.Document](op(read, "docs", "/docs.md", api.Anonymous),
			func(*api.Call, *api.None) (api.Reply, error) {
				return api.Reply{ETag: `"d"`, Data: api.Document{
					ContentType: "text/markdown; charset=utf-8", Body: []byte(big),
				}}, nil
			}),
		api.Declare[api.None, api.Document](op(read, "noise", "/v1/noise", api.Anonymous),
			func(*api.Call, *api.None) (api.Reply, error) {
				return api.Reply{Data: api.Document{
					ContentType: "application/octet-stream", Body: []byte(noise),
				}}, nil
			}),
		api.Declare[api.None, api.Raw](op(write, "replay", "/v1/replay", api.Anonymous),
			func(*api.Call, *api.None) (api.Reply, error) {
				return api.Reply{Status: 200, Data: api.Raw(`{"a":1}`), Replayed: true}, nil
			}),
		api.Declare[api.None, echoed](op(read, "wait", "/v1/wait", api.Anonymous),
			func(c *api.Call, _ *api.None) (api.Reply, error) {
				f.entered <- struct{}{}
				<-f.leave
				return echo(c, "waited")
			}),
	}
}

var (
	firstAgent = id.New(1, [10]byte{1})
	otherAgent = id.New(1, [10]byte{2})
)

func resolveForTest(c *api.Call, credential []byte) (session id.ID, err error) {
	switch string(credential) {
	case "good":
		c.Agent, session = firstAgent, id.New(2, [10]byte{1})
	case "good-too":
		c.Agent, session = firstAgent, id.New(2, [10]byte{3})
	case "other":
		c.Agent, session = otherAgent, id.New(2, [10]byte{2})
	case "expired":
		return session, fault.New(fault.SessionExpired, "The session has run out.")
	default:
		return session, fault.New(fault.SessionInvalid, "There is no such session.")
	}
	return session, nil
}

// start runs a server on a loopback listener until the test ends.
func start(t testing.TB, cfg Config, limits []api.RateLimit) *fixture {
	t.Helper()
	f := &fixture{
		entered: make(chan struct{}, 100), leave: make(chan struct{}), log: &logBuffer{},
	}
	f.clock.Store(1_763_600_000_000)
	f.serve(t, cfg, limits)
	return f
}

func (f *fixture) serve(t testing.TB, cfg Config, limits []api.RateLimit) {
	t.Helper()
	f.open(t, cfg, limits)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- f.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = f.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

func (f *fixture) open(t testing.TB, cfg Config, limits []api.RateLimit) {
	t.Helper()
	if cfg.Table == nil {
		cfg.Table = f.table()
	}
	level := &slog.HandlerOptions{Level: slog.LevelDebug}
	log := slog.New(slog.NewTextHandler(f.log, level))
	server, err := newServer(&api.Service{}, cfg, limits, log)
	if err != nil {
		t.Fatal(err)
	}
	server.now = f.clock.Load
	server.resolve = resolveForTest
	f.Server = server
}

// answer is a received response.
type answer struct {
	status int
	header nethttp.Header
	body   string
	close  bool
}

type envelope struct {
	OK    bool            `json:"ok"`
	Data  json.RawMessage `json:"data"`
	Error struct {
		Code      string         `json:"code"`
		Message   string         `json:"message"`
		Details   map[string]any `json:"details"`
		Retryable bool           `json:"retryable"`
	} `json:"error"`
	Meta struct {
		RequestID string `json:"request_id"`
	} `json:"meta"`
}

func (a answer) envelope(t testing.TB) envelope {
	t.Helper()
	var out envelope
	if err := json.Unmarshal([]byte(a.body), &out); err != nil {
		t.Fatalf("%v in %q", err, a.body)
	}
	if out.Meta.RequestID != a.header.Get("X-Request-Id") || len(out.Meta.RequestID) != 30 {
		t.Fatalf("request id %q, header %q", out.Meta.RequestID, a.header.Get("X-Request-Id"))
	}
	return out
}

func (a answer) code(t testing.TB) string { return a.envelope(t).Error.Code }

func (a answer) echoed(t testing.TB) echoed {
	t.Helper()
	var out echoed
	if err := json.Unmarshal(a.envelope(t).Data, &out); err != nil {
		t.Fatalf("%v in %q", err, a.body)
	}
	return out
}

// wireTime is how long a wire waits for each read and write. By default a server closes an idle
// connection a little later.
const wireTime = 50 * time.Second

// wire is a raw connection.
type wire struct {
	net.Conn
	t      testing.TB
	reader *bufio.Reader
	// limit bounds each read and write.
	limit time.Duration
}

func (f *fixture) dial(t testing.TB) *wire {
	t.Helper()
	c, err := net.Dial("tcp", f.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	w := &wire{Conn: c, t: t, limit: wireTime}
	w.reader = bufio.NewReader(w)
	return w
}

func (w *wire) Read(p []byte) (int, error) {
	_ = w.SetReadDeadline(time.Now().Add(w.limit))
	return w.Conn.Read(p)
}

func (w *wire) Write(p []byte) (int, error) {
	_ = w.SetWriteDeadline(time.Now().Add(w.limit))
	return w.Conn.Write(p)
}

func (w *wire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		w.t.Logf("send: %v", err)
	}
}

// receive reads one response to a request of that method.
func (w *wire) receive(method string) answer {
	w.t.Helper()
	resp, err := nethttp.ReadResponse(w.reader, &nethttp.Request{Method: method})
	if err != nil {
		w.t.Fatalf("no response: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("body: %v", err)
	}
	return answer{resp.StatusCode, resp.Header, string(body), resp.Close}
}

// closed reports whether the server has closed the connection and sent nothing more.
func (w *wire) closed() bool {
	rest, err := io.ReadAll(w.reader)
	return len(rest) == 0 && !errors.Is(err, os.ErrDeadlineExceeded)
}

// ask sends one request on a connection of its own.
func (f *fixture) ask(t testing.TB, method, target string, lines ...string) answer {
	t.Helper()
	return f.raw2(t, method, method+" "+target+" HTTP/1.1\r\nHost: h\r\n"+
		join(lines)+"\r\n")
}

func join(lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		out.WriteString(line + "\r\n")
	}
	return out.String()
}

func (f *fixture) raw2(t testing.TB, method, text string) answer {
	t.Helper()
	w := f.dial(t)
	w.send(text)
	a := w.receive(method)
	_ = w.Close()
	return a
}

// post sends a body.
func (f *fixture) post(t testing.TB, target, body string, lines ...string) answer {
	t.Helper()
	return f.body(t, "POST", target, body, lines...)
}

func (f *fixture) body(t testing.TB, method, target, body string, lines ...string) answer {
	t.Helper()
	return f.raw2(t, method, method+" "+target+" HTTP/1.1\r\nHost: h\r\nContent-Length: "+
		itoa(len(body))+"\r\n"+join(lines)+"\r\n"+body)
}
