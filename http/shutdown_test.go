package http

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"pws/api"
)

func TestShutdownFinishesWhatRuns(t *testing.T) {
	f := start(t, Config{}, nil)
	silent, idle := f.dial(t), f.dial(t)
	idle.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	idle.receive("GET")
	half := f.dial(t)
	half.send("GET / HTTP/1.1\r\nHost")
	running := f.dial(t)
	running.send("GET /v1/wait HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
	<-f.entered
	done := make(chan error, 1)
	begun := time.Now()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		done <- f.Shutdown(ctx)
	}()
	if !silent.closed() || !idle.closed() {
		t.Error("a silent connection stays open")
	}
	select {
	case err := <-done:
		t.Fatalf("Shutdown returned with a request running: %v", err)
	default:
	}
	close(f.leave)
	if a := running.receive("GET"); a.status != 200 || a.echoed(t).Text != "waited" || !a.close {
		t.Errorf("%d %s", a.status, a.body)
	}
	if err := <-done; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if took := time.Since(begun); took > drainRead+2*time.Second {
		t.Errorf("Shutdown took %v", took)
	}
	if c, err := net.Dial("tcp", f.address); err == nil {
		_ = c.Close()
		t.Error("the listener is open")
	}
	if err := f.Shutdown(context.Background()); err != nil {
		t.Errorf("second Shutdown: %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Serve(ln); err != nil {
		t.Errorf("Serve after Shutdown: %v", err)
	}
}

func TestRequestsAfterShutdownAreRefused(t *testing.T) {
	f := start(t, Config{}, nil)
	kept := f.dial(t)
	kept.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	kept.receive("GET")
	f.draining.Store(true)
	kept.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	a := kept.receive("GET")
	if a.status != 503 || a.code(t) != "SHUTTING_DOWN" || a.header.Get("Retry-After") != "1" ||
		!kept.closed() {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestShutdownCutsOffAtItsDeadline(t *testing.T) {
	f := start(t, Config{}, nil)
	w := f.dial(t)
	w.send("GET /v1/wait HTTP/1.1\r\nHost: h\r\n\r\n")
	<-f.entered
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
	if !w.closed() {
		t.Error("the connection is open")
	}
	close(f.leave)
}

// Answers to every target are envelopes, and the router finds what the templates say.
func FuzzTargets(f *testing.F) {
	for _, seed := range []string{
		"/", "/v1/agents/me", "/v1/files/a/rename", "http://h/v1/x?y", "*", "//", "/v1/files//",
	} {
		f.Add("GET", seed)
		f.Add("POST", seed)
	}
	fix := &fixture{entered: make(chan struct{}, 1), leave: make(chan struct{}), log: &logBuffer{}}
	fix.open(f, Config{}, nil)
	f.Fuzz(func(t *testing.T, method, target string) {
		path, _, err := judgeTarget(target)
		if err != nil {
			return
		}
		r := fix.routes
		ctx := contextOf(method, path)
		x := &exchange{ctx: ctx, path: path}
		ctx.SetUserValue(userKey, x)
		found := r.find(x)
		params := strings.Join(x.call.Params, "|")
		want := r.search(string(ctx.Method()), &exchange{path: path})
		if found != want {
			t.Fatalf("%s %q: the router and the templates differ", method, path)
		}
		if want != nil {
			again, _ := want.template.match(path, nil)
			if strings.Join(again, "|") != params {
				t.Fatalf("%q: parameters %q and %q", path, again, params)
			}
		}
	})
}

func TestTemplatesOfOneShapeAreToldApart(t *testing.T) {
	read := api.Operation{Method: "POST", Statuses: []int{200}}
	op := func(name, path string) *api.Operation {
		one := read
		one.Name, one.Path = name, path
		return api.Declare[api.None, api.None](one, nil)
	}
	r := newRoutes([]*api.Operation{
		op("all", "/w/{w}/f/{path*}"), op("rename", "/w/{w}/f/{path*}/rename"),
		op("deep", "/w/{w}/f/{path*}/a/b"), op("batch", "/w/{w}/f/read-batch"), op("w", "/w/{w}"),
		op("static", "/w/list"),
	}, 1)
	for path, want := range map[string]string{
		"/w/1/f/x": "all 1|x", "/w/1/f/x/rename": "rename 1|x", "/w/1/f/rename": "all 1|rename",
		"/w/1/f/x/a/b": "deep 1|x", "/w/1/f/a/b": "all 1|a/b", "/w/1/f/read-batch": "batch 1",
		"/w/1/f/read-batch/x": "all 1|read-batch/x", "/w/list": "static ", "/w/lis": "w lis",
		"/w/list/f/x": "all list|x", "/w/1/f/": "", "/w//f/x": "", "/w/": "", "/w/1/": "",
	} {
		ctx := contextOf("POST", path)
		x := &exchange{ctx: ctx, path: path}
		ctx.SetUserValue(userKey, x)
		found := r.find(x)
		got := ""
		if found != nil {
			got = found.operation.Name + " " + strings.Join(x.call.Params, "|")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
