package http

import (
	"net/netip"
	"strings"
	"testing"
)

// TestUntrustedProxyIsLogged checks the one line for a proxy on this machine that is not trusted.
func TestUntrustedProxyIsLogged(t *testing.T) {
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		line    string
		logged  int
	}{
		"X-Forwarded-For": {nil, "X-Forwarded-For: 192.0.2.1", 1},
		"Forwarded":       {nil, "Forwarded: for=192.0.2.1", 1},
		"another is trusted": {
			[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "X-Forwarded-For: ::1", 1,
		},
		"it is trusted": {
			[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "X-Forwarded-For: 192.0.2.1", 0,
		},
		"no proxy": {nil, "X-Forwarded-Proto: https", 0},
	} {
		f := start(t, Config{TrustedProxies: c.trusted}, nil)
		for range 3 {
			if a := f.ask(t, "GET", "/v1/files/a", c.line); a.status != 200 {
				t.Fatalf("%s: %d", name, a.status)
			}
		}
		log := f.log.String()
		if got := strings.Count(log, "--trusted-proxies 127.0.0.1/32"); got != c.logged {
			t.Errorf("%s: logged %d times, not %d:\n%s", name, got, c.logged, log)
		}
	}
}

// A client elsewhere cannot write into the log.
func TestForeignForwardedHeadersAreNotLogged(t *testing.T) {
	f := start(t, Config{}, nil)
	x := &exchange{server: f.Server, ip: netip.MustParseAddr("192.0.2.1")}
	x.headers.forwardeds = 1
	f.warnUntrusted(x)
	if log := f.log.String(); strings.Contains(log, "trusted") {
		t.Error(log)
	}
}
