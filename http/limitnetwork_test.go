package http

import (
	"fmt"
	"net/netip"
	"testing"

	"pws/api"
)

// rotate returns the number of requests that are accepted from addresses in turn, and the state of
// the first refusal.
func rotate(t *testing.T, of *limitSet, agent *caller, address func(turn int) string) (
	accepted int, refused rateState,
) {
	t.Helper()
	for turn := range 100_000 {
		who := *agent
		who.ip = netip.MustParseAddr(address(turn))
		state, err := of.take(&who, 1_763_600_000_000)
		if err != nil {
			return turn, state
		}
	}
	t.Fatal("nothing was refused")
	return 0, refused
}

// TestNetworksOfIPv6AreLimited has an attacker send from all addresses that it has.
func TestNetworksOfIPv6AreLimited(t *testing.T) {
	const quota = 10
	sameAddress := func(int) string { return "2001:db8:1::1" }
	fresh := func(turn int) string { return fmt.Sprintf("2001:db8:1::%x", 1+turn) }
	rotate64 := func(turn int) string { return fmt.Sprintf("2001:db8:1:%x::1", turn%256) }
	rotate56 := func(turn int) string { return fmt.Sprintf("2001:db8:1:%x00::1", turn%256) }
	rotateAll := func(turn int) string {
		return fmt.Sprintf("2001:db8:1:%x::%x", turn*40503%65536, turn)
	}
	ipv4 := func(turn int) string { return fmt.Sprintf("10.0.0.%d", turn/quota) }
	for _, c := range []struct {
		name     string
		address  func(int) string
		accepted int
	}{
		{"one address", sameAddress, quota},
		{"a /64", fresh, quota},
		{"the /64s of a /56", rotate64, 4 * quota},
		{"the /56s of a /48", rotate56, 16 * quota},
		{"the /64s of a /48", rotateAll, 16 * quota},
	} {
		for _, scope := range []string{ScopeIP, ScopeCategory} {
			for _, category := range []api.Category{"", api.CategoryRegistration} {
				l, err := newLimiter([]api.RateLimit{{
					Name: "one", Scope: scope, Category: category, Quota: quota, WindowSeconds: 60,
				}}, 1<<16)
				if err != nil {
					t.Fatal(err)
				}
				of := &l.byCaller[api.CategoryRegistration][anonymousCaller]
				accepted, refused := rotate(t, of, &caller{}, c.address)
				if accepted != c.accepted || refused.level.limit != int64(c.accepted) {
					t.Errorf("%s, %s %s: %d were accepted, the limit is %d, not %d",
						c.name, scope, category, accepted, refused.level.limit, c.accepted)
				}
				other := caller{ip: netip.MustParseAddr("2001:db8:2::1")}
				if _, err := of.take(&other, 1_763_600_000_000); err != nil {
					t.Errorf("%s: another customer: %v", c.name, err)
				}
				if got, _ := rotate(t, of, &caller{}, func(turn int) string {
					return ipv4(min(turn, 3*quota-1))
				}); got != 3*quota {
					t.Errorf("%s: three addresses of IPv4 had %d requests", c.name, got)
				}
			}
		}
	}
}

// TestAgentsAreNotLimitedByNetwork has many agents of one customer work.
func TestAgentsAreNotLimitedByNetwork(t *testing.T) {
	l, err := newLimiter([]api.RateLimit{
		{Name: "one", Scope: ScopeCategory, Category: api.CategorySearch, Quota: 5, WindowSeconds: 60},
	}, 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	of := &l.byCaller[api.CategorySearch][authenticatedCaller]
	for i := range byte(100) {
		agent := caller{ip: netip.MustParseAddr("2001:db8::1")}
		agent.agent[0] = 1 + i
		for range 5 {
			if _, err := of.take(&agent, 1_763_600_000_000); err != nil {
				t.Fatalf("agent %d: %v", i, err)
			}
		}
	}
}

// A refused request uses up nothing, neither of the address nor of its networks.
func TestRefusedRequestsTakeNothingOfNetworks(t *testing.T) {
	l, err := newLimiter([]api.RateLimit{
		{Name: "one", Scope: ScopeIP, Quota: 10, WindowSeconds: 60},
	}, 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	of := &l.byCaller[api.CategoryRead][anonymousCaller]
	for range 1000 {
		_, _ = of.take(&caller{ip: netip.MustParseAddr("2001:db8::1")}, 1_763_600_000_000)
	}
	for i, want := range []int64{9, 9, 9, 0} {
		who := caller{ip: netip.MustParseAddr(fmt.Sprintf("2001:db8:0:%x::1", 1+i))}
		state, err := of.take(&who, 1_763_600_000_000)
		if i < 3 && (err != nil || state.level.limit != 10 || state.level.remaining != want) {
			t.Errorf("neighbour %d: %+v, %v", i, state.level, err)
		}
	}
}

// TestTightestNetworkIsShown checks headers, details and quotas.
func TestTightestNetworkIsShown(t *testing.T) {
	f := start(t, Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
		[]api.RateLimit{{Name: "anonymous", Scope: ScopeIP, Quota: 2, WindowSeconds: 60}})
	from := func(ip string) string { return "X-Forwarded-For: " + ip }
	wants := []struct{ ip, limit, remaining string }{
		{"2001:db8::1", "2", "1"}, {"2001:db8::2", "2", "0"},
		{"2001:db8:0:1::1", "2", "1"}, {"2001:db8:0:2::1", "2", "1"},
		{"2001:db8:0:3::1", "2", "1"}, {"2001:db8:0:4::1", "2", "1"},
		{"2001:db8:0:5::1", "2", "1"}, {"2001:db8:0:6::1", "8", "0"},
		{"2001:db8:0:100::1", "2", "1"},
	}
	for i, one := range wants {
		a := f.ask(t, "GET", "/v1/files/a", from(one.ip))
		if a.status != 200 || a.header.Get("RateLimit-Limit") != one.limit ||
			a.header.Get("RateLimit-Remaining") != one.remaining {
			t.Errorf("request %d: %d %v", i, a.status, a.header)
		}
	}
	a := f.ask(t, "GET", "/v1/files/a", from("2001:db8:0:7::1"))
	details := a.envelope(t).Error.Details
	if a.status != 429 || a.header.Get("RateLimit-Limit") != "8" ||
		a.header.Get("RateLimit-Remaining") != "0" || details["limit"] != 8.0 ||
		details["reason"] != "ANONYMOUS" {
		t.Errorf("%d %v %v", a.status, a.header, details)
	}
	x := &exchange{server: f.Server, ip: netip.MustParseAddr("2001:db8:0:7::1")}
	x.call.Now = f.clock.Load()
	if got := x.RateLevels(); got[0].Quota != 8 || got[0].Remaining != 0 {
		t.Errorf("quotas: %+v", got)
	}
}
