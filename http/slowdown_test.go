package http

import (
	"net/netip"
	"testing"
	"time"

	"pws/api"
)

// slowFixture counts the delays, which are over at once unless a test holds them.
func slowFixture(t *testing.T, cfg Config, held chan time.Time) (*fixture, chan time.Duration) {
	t.Helper()
	delays := make(chan time.Duration, 1000)
	over := make(chan time.Time)
	close(over)
	cfg.after = func(d time.Duration) <-chan time.Time {
		delays <- d
		if held != nil {
			return held
		}
		return over
	}
	return start(t, cfg, []api.RateLimit{
		{Name: "anonymous", Scope: ScopeIP, Quota: 1, WindowSeconds: 60},
		{Name: "reads", Scope: ScopeAgent, Category: api.CategoryRead, Quota: 1, WindowSeconds: 60},
	}), delays
}

const refusedRead = "GET /v1/files/a HTTP/1.1\r\nHost: h\r\n"

// flood sends requests on one connection until it is closed, and returns the number of answers.
func (f *fixture) flood(t *testing.T, request string, most int) int {
	t.Helper()
	w := f.dial(t)
	for i := range most {
		w.send(request)
		if a := w.receive("GET"); a.close {
			if a.status < 400 || a.status == 429 && a.header.Get("Retry-After") == "" {
				t.Errorf("the last answer: %d %v", a.status, a.header)
			}
			if !w.closed() {
				t.Error("the connection is open")
			}
			return i + 1
		}
	}
	return most
}

// TestFloodOfRefusalsIsSlowedDown checks that further refusals of one caller are delayed and need a
// connection each, and that others notice nothing.
func TestFloodOfRefusalsIsSlowedDown(t *testing.T) {
	for name, request := range map[string]string{
		"an address":    refusedRead + "\r\n",
		"an agent":      refusedRead + "Authorization: Bearer good\r\n\r\n",
		"unknown paths": "GET /v1/nothing HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		f, delays := slowFixture(t, Config{}, nil)
		if got := f.flood(t, request, 1000); got != refusalsFree+2 {
			t.Errorf("%s: the connection was closed after %d answers", name, got)
		}
		if len(delays) != 1 || <-delays != refusalDelay {
			t.Errorf("%s: %d answers were delayed", name, len(delays))
		}
		if got := f.flood(t, request, 1000); got != 1 || len(delays) != 1 {
			t.Errorf("%s: a second connection had %d answers", name, got)
		}
		if a := f.ask(t, "GET", "/v1/files/a", "Authorization: Bearer other"); a.status != 200 {
			t.Errorf("%s: another agent: %d", name, a.status)
		}
		f.clock.Add(refusalsSeconds * 1000)
		f.flood(t, request, 1)
		if len(delays) != 1 {
			t.Errorf("%s: delayed after the time of all refusals", name)
		}
	}
}

// A proxy is many callers, whose requests are neither delayed nor cut off.
func TestProxiesAreNotSlowedDown(t *testing.T) {
	f, delays := slowFixture(t, Config{
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}, nil)
	request := refusedRead + "X-Forwarded-For: 192.0.2.1\r\n\r\n"
	if got := f.flood(t, request, 200); got != 200 || len(delays) != 0 {
		t.Errorf("%d answers, %d of them delayed", got, len(delays))
	}
}

// Shutdown does not wait for delayed refusals, which the cleanup of the test would notice.
func TestShutdownEndsDelays(t *testing.T) {
	f, delays := slowFixture(t, Config{}, make(chan time.Time))
	w := f.dial(t)
	for range refusalsFree + 1 {
		w.send(refusedRead + "\r\n")
		w.receive("GET")
	}
	w.send(refusedRead + "\r\n")
	<-delays
	f.stopOnce.Do(func() { close(f.stopping) })
	if a := w.receive("GET"); a.status != 429 {
		t.Errorf("%d", a.status)
	}
}
