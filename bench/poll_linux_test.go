package bench

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dialOne connects one client to a server, which sends back what it gets. The client has two
// requests.
func dialOne(t *testing.T, serve func(net.Listener)) connections {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	t.Cleanup(func() { listener.Close() })
	group.Go(func() { serve(listener) })
	fleet, err := dialAll(listener.Addr().String(), []exchange{&lineExchange{"ok", 2}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fleet.close)
	return fleet
}

// echoOne sends back what one connection brings.
func echoOne(listener net.Listener) {
	served, err := listener.Accept()
	if err != nil {
		return
	}
	defer served.Close()
	_, _ = io.Copy(served, served)
}

// TestConnectionsAreMadeAgain ends a connection between two runs, as a server does that has waited
// too long for a request.
func TestConnectionsAreMadeAgain(t *testing.T) {
	fleet := dialOne(t, func(listener net.Listener) {
		idle, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(idle, "too late\n")
		idle.Close()
		echoOne(listener)
	})
	ended := []unix.PollFd{{Fd: int32(fleet[0].fd), Events: unix.POLLRDHUP}}
	var err error
	for n := 0; n == 0; {
		if n, err = unix.Poll(ended, -1); err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
		n = max(n, 0)
	}
	sample, err := fleet.drive(t.Context(), load{duration: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if sample.Count != 2 || len(sample.Errors) > 0 {
		t.Errorf("count %d, errors %v", sample.Count, sample.Errors)
	}
}

// TestFirstRequestsAreSent drives a run that is over BEFORE its thread starts.
func TestFirstRequestsAreSent(t *testing.T) {
	fleet := dialOne(t, echoOne)
	for _, perSecond := range []float64{0, 1} {
		run := load{duration: time.Nanosecond, perSecond: perSecond}
		sample, err := fleet.drive(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if sample.Count != 1 || len(sample.Errors) > 0 {
			t.Errorf("%v a second: count %d, errors %v", perSecond, sample.Count, sample.Errors)
		}
	}
}

// TestUnsentRequestsCount drives a run in which a thousand requests are due in less time than one
// answer takes.
func TestUnsentRequestsCount(t *testing.T) {
	address := echo(t, func(line string) string { return line })
	fleet, err := dialAll(address, []exchange{&lineExchange{"ok", 1e6}})
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.close()
	sample, err := fleet.drive(t.Context(), load{duration: time.Microsecond, perSecond: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	if sample.Count+sample.Unsent != 1000 || sample.Unsent == 0 {
		t.Errorf("count %d, unsent %d", sample.Count, sample.Unsent)
	}
	if got := sample.latencies.TotalCount(); got != 1000 {
		t.Errorf("%d latencies", got)
	}
}
