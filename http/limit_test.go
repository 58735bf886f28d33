package http

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"pws/api"
)

const second = int64(1e9)

func TestBucketGivesItsQuotaAndRefills(t *testing.T) {
	b := newBuckets(10, 60, 64)
	now := int64(1_763_600_000) * second
	for i := range 10 {
		if got, ok := b.take(7, now); !ok || got.remaining != int64(9-i) {
			t.Fatalf("request %d: %v %v", i, got, ok)
		}
	}
	refused, ok := b.take(7, now)
	if ok || refused.remaining != 0 || refused.reset != 60*second || refused.retry != 6*second {
		t.Fatalf("%+v %v", refused, ok)
	}
	if _, ok := b.take(7, now+6*second-1); ok {
		t.Error("too early")
	}
	if got, ok := b.take(7, now+6*second); !ok || got.remaining != 0 {
		t.Errorf("%+v %v", got, ok)
	}
	b.giveBack(7, now+6*second)
	if got, ok := b.take(7, now+6*second); !ok || got.remaining != 0 {
		t.Errorf("after giving back: %+v %v", got, ok)
	}
	if got := b.peek(7, now+1000*second); got.remaining != 10 || got.reset != 0 {
		t.Errorf("much later: %+v", got)
	}
	// A clock that goes back locks a caller out for at most one window.
	if _, ok := b.take(7, now-1000*second); ok {
		t.Error("an empty bucket gave")
	}
	if _, ok := b.take(7, now-1000*second+6*second); !ok {
		t.Error("the bucket does not refill after the clock went back")
	}
}

func TestBucketNeverGivesMoreThanItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quota := rapid.IntRange(1, 50).Draw(t, "quota")
		window := rapid.IntRange(1, 100).Draw(t, "window")
		b := newBuckets(quota, window, 8)
		start := int64(1_763_600_000) * second
		now, taken := start, int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now += rapid.Int64Range(0, int64(window)*second/4).Draw(t, "pause")
			want := b.peek(1, now).remaining
			got, ok := b.take(1, now)
			if ok != (want > 0) {
				t.Fatalf("took %v with %d remaining", ok, want)
			}
			if ok {
				taken++
				if got.remaining != want-1 {
					t.Fatalf("%d remained of %d", got.remaining, want)
				}
			} else if got.retry <= 0 {
				t.Fatalf("no time to wait: %+v", got)
			}
			if limit := int64(quota) + (now-start)/b.interval; taken > limit {
				t.Fatalf("%d requests in %d ns", taken, now-start)
			}
		}
	})
}

// A caller that has used up its limit cannot reset it by filling the table with other keys.
func TestManyKeysResetNoLimit(t *testing.T) {
	b := newBuckets(100, 60, 1024)
	now := int64(1_763_600_000) * second
	const heavy = 42
	for range 100 {
		b.take(heavy, now)
	}
	var name [8]byte
	for i := range 100_000 {
		binary.LittleEndian.PutUint64(name[:], uint64(i))
		b.take(b.keyOf(name[:]), now)
	}
	if got, ok := b.take(heavy, now); ok {
		t.Errorf("the limit was reset: %+v", got)
	}
	if len(b.cells) != 1024 {
		t.Errorf("%d cells", len(b.cells))
	}
}

func TestConcurrentTakesAreCounted(t *testing.T) {
	b := newBuckets(1000, 3600, 64)
	now := int64(1_763_600_000) * second
	var taken atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 500 {
				if _, ok := b.take(5, now); ok {
					taken.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if taken.Load() != 1000 {
		t.Errorf("%d of 1000", taken.Load())
	}
}

func TestLimitsOverTheWire(t *testing.T) {
	f := start(t, Config{}, []api.RateLimit{
		{Name: "anonymous", Scope: ScopeIP, Quota: 5, WindowSeconds: 60},
		{Name: "reads", Scope: ScopeAgent, Category: api.CategoryRead, Quota: 4, WindowSeconds: 60},
		{Name: "session", Scope: ScopeSession, Quota: 3, WindowSeconds: 60},
	})
	const good = "Authorization: Bearer good"
	for i := range 3 {
		a := f.ask(t, "GET", "/v1/files/a", good)
		if a.status != 200 || a.header.Get("RateLimit-Limit") != "3" ||
			a.header.Get("RateLimit-Remaining") != itoa(2-i) ||
			a.header.Get("RateLimit-Reset") != itoa(20*(i+1)) ||
			a.header.Get("RateLimit-Policy") != `"reads";q=4;w=60, "session";q=3;w=60` {
			t.Fatalf("%d %v", a.status, a.header)
		}
	}
	a := f.ask(t, "GET", "/v1/files/a", good)
	details := a.envelope(t).Error.Details
	if a.status != 429 || a.header.Get("Retry-After") != "20" ||
		a.header.Get("RateLimit-Remaining") != "0" {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	want := "map[limit:3 reason:SESSION recommended_action:RETRY_AFTER " +
		"recommended_retry_at:2025-11-20T00:53:40.000Z remaining:0 " +
		"reset_at:2025-11-20T00:54:20.000Z retry_after_seconds:20]"
	if got := fmt.Sprint(details); got != want {
		t.Errorf("details %s", got)
	}
	testLimitsOfAddresses(t, f)
}

// testLimitsOfAddresses continues after the session has used up its limit.
func testLimitsOfAddresses(t *testing.T, f *fixture) {
	t.Helper()
	// Another session of the agent has one read left, because the refused one did not count.
	if a := f.ask(t, "GET", "/v1/files/a", "Authorization: Bearer good-too"); a.status != 200 ||
		a.header.Get("RateLimit-Limit") != "4" || a.header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("%d %v", a.status, a.header)
	}
	if a := f.ask(t, "GET", "/v1/files/a", "Authorization: Bearer other"); a.status != 200 {
		t.Errorf("another agent: %d", a.status)
	}
	// Guessed credentials, unknown paths and anonymous reads count for the address.
	for i, line := range []string{"Authorization: Bearer guess", "X: y", "Authorization: Basic x"} {
		a := f.ask(t, "GET", "/v1/files/a", line)
		if a.header.Get("RateLimit-Remaining") != itoa(4-i) {
			t.Errorf("%s: %d %v", line, a.status, a.header)
		}
	}
	for i := range 3 {
		a := f.ask(t, "GET", "/v1/nothing")
		if a.status != 404 || a.header.Get("RateLimit-Remaining") != itoa(max(0, 1-i)) {
			t.Errorf("%d %v", a.status, a.header)
		}
	}
	if a := f.ask(t, "GET", "/v1/agents/me", "Authorization: Bearer guess"); a.status != 429 {
		t.Errorf("a guess beyond the limit: %d", a.status)
	}
	f.clock.Add(24_000)
	if a := f.ask(t, "GET", "/v1/agents/a"); a.status != 200 {
		t.Errorf("after the time of one request: %d", a.status)
	}
	if a := f.ask(t, "GET", "/v1/agents/a\x01"); a.header.Get("RateLimit-Limit") != "5" {
		t.Errorf("a broken request: %v", a.header)
	}
	// Guessed credentials count when they wait for 100 Continue, too.
	for i := range 4 {
		a := f.ask(t, "POST", "/v1/projects", "Authorization: Bearer guess", "Content-Length: 9",
			"Expect: 100-continue")
		if want := []int{401, 429, 429, 429}[i]; a.status != want {
			t.Errorf("guess %d: %d", i, a.status)
		}
	}
	off := start(t, Config{}, nil)
	if a := off.ask(t, "GET", "/"); a.header.Get("RateLimit-Limit") != "" {
		t.Errorf("limits are off: %v", a.header)
	}
}

func TestLimitDefinitions(t *testing.T) {
	l, err := newLimiter(DefaultLimits(), 64)
	if err != nil {
		t.Fatal(err)
	}
	names := func(category api.Category, caller int) string {
		out := ""
		for _, one := range l.byCaller[category][caller].limits {
			out += one.Name + " "
		}
		return out
	}
	for _, c := range []struct {
		category api.Category
		caller   int
		want     string
	}{
		{api.CategoryRead, anonymousCaller, "anonymous "},
		{api.CategoryRead, authenticatedCaller, "agent-read session "},
		{api.CategoryWrite, authenticatedCaller, "agent-write session "},
		{api.CategoryRegistration, anonymousCaller, "anonymous registration "},
		{api.CategoryRegistration, authenticatedCaller, "registration agent-write session "},
		{api.CategoryRegistrationStart, anonymousCaller, "anonymous registration-start "},
		{api.CategoryCreation, authenticatedCaller, "agent-write creation session "},
		{api.CategorySecurity, authenticatedCaller, "session "},
		{api.CategorySearch, anonymousCaller, "anonymous search "},
		{api.CategorySearch, authenticatedCaller, "agent-read session search "},
	} {
		if got := names(c.category, c.caller); got != c.want {
			t.Errorf("%s %d: %s", c.category, c.caller, got)
		}
	}
	for _, bad := range []api.RateLimit{
		{Scope: ScopeIP, Quota: 1, WindowSeconds: 1},
		{Name: "a", Scope: "PLANET", Quota: 1, WindowSeconds: 1},
		{Name: "a", Scope: ScopeIP, WindowSeconds: 1},
		{Name: "a", Scope: ScopeIP, Quota: 1},
		{Name: "a", Scope: ScopeIP, Category: "odd", Quota: 1, WindowSeconds: 1},
	} {
		if _, err := newLimiter([]api.RateLimit{bad}, 64); err == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
}

func TestAddressesOfOneNetworkShareAKey(t *testing.T) {
	key := func(text string) string { return fmt.Sprint(addressKey(netip.MustParseAddr(text))) }
	if key("2001:db8::1") != key("2001:db8::ffff:1") || key("2001:db8::1") == key("2001:db8:0:1::1") {
		t.Error("IPv6 counts by /64")
	}
	if key("10.0.0.1") == key("10.0.0.2") {
		t.Error("IPv4 counts by address")
	}
	s := &Server{cfg: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	for _, c := range []struct{ peer, list, want string }{
		{"192.0.2.1", "203.0.113.9", "192.0.2.1"},
		{"10.0.0.1", "203.0.113.9", "203.0.113.9"},
		{"10.0.0.1", "198.51.100.7, 203.0.113.9, 10.1.1.1", "203.0.113.9"},
		{"10.0.0.1", "spoof, 203.0.113.9", "203.0.113.9"},
		{"10.0.0.1", "203.0.113.9, spoof", "10.0.0.1"},
		{"10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"},
		{"10.0.0.1", "", "10.0.0.1"},
	} {
		client, _ := s.clientIP(netip.MustParseAddr(c.peer), c.list)
		if got := client.String(); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.peer, c.list, got, c.want)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	buckets := newBuckets(1<<40, 60, 1<<16)
	owner := []byte("0123456789abcdef")
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			buckets.take(buckets.keyOf(owner), 1_763_600_000*second)
		}
	})
}
