package http

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

func TestShutdownFinishesRunningRequests(t *testing.T) {
	f := start(t, Config{FirstByteTimeout: time.Minute}, nil)
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
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
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
	if took := time.Since(begun); took > drainRead+20*time.Second {
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

func TestShutdownClosesAtItsDeadline(t *testing.T) {
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

// TestShutdownEndsAServerThatIsStarting has Shutdown run between the check of Serve and the begin
// of the transport.
func TestShutdownEndsAServerThatIsStarting(t *testing.T) {
	var f fixture
	f.log = &logBuffer{}
	f.open(t, Config{}, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	starting := &listener{Listener: ln, conns: &f.conns, stopping: f.stopping}
	if !f.conns.listen(starting) {
		t.Fatal("a new server takes no listener")
	}
	if err := f.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- f.fast.Serve(starting) }()
	select {
	case err := <-served:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-time.After(time.Minute):
		_ = ln.Close()
		t.Errorf("the server goes on after Shutdown: %v", <-served)
	}
}
