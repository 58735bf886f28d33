package http

import (
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pws/api"
	"pws/internal/id"
)

func newComputing(slots int) *computing {
	c := &computing{}
	c.init(slots)
	return c
}

// ended gives back a slot and returns which of the requests got one for it.
func (c *computing) ended(s *slot, waiting []*slot) *slot {
	c.leave(s)
	for _, one := range waiting {
		select {
		case <-one.ready:
			return one
		default:
		}
	}
	return nil
}

func (c *computing) wantNobody(t failer, slots int) {
	t.Helper()
	running, waiting := c.counts(slots)
	c.mu.Lock()
	defer c.mu.Unlock()
	if running != 0 || waiting != 0 || len(c.mu.networks)+len(c.mu.callers) != 0 {
		t.Errorf("%d run, %d wait, %d networks and %d callers are remembered", running, waiting,
			len(c.mu.networks), len(c.mu.callers))
	}
	c.queued.wantEmpty(t)
}

// One caller sends a thousand requests. Another one is served AFTER at most two of them.
func TestManyRequestsDelayNoOtherCaller(t *testing.T) {
	hundred := make([]party, 100)
	for i := range hundred {
		hundred[i] = partyAt("192.0.2.1", id.New(9, [10]byte{byte(i)}))
	}
	for name, flood := range map[string][]party{
		"an agent":              {partyAt("192.0.2.1", firstAgent)},
		"an anonymous caller":   {partyAt("192.0.2.1", id.ID{})},
		"agents of one network": hundred,
	} {
		for _, slots := range []int{1, 2} {
			c := newComputing(slots)
			var running, waiting []*slot
			refused := 0
			for i := range 1000 {
				s, short := c.enter(flood[i%len(flood)], true)
				switch {
				case short != enough:
					refused++
				case s.given:
					running = append(running, s)
				default:
					waiting = append(waiting, s)
				}
			}
			if len(running) != slots || refused < 1000-slots-computingWaitingPerNetwork {
				t.Errorf("%s: %d run, %d were refused", name, len(running), refused)
			}
			other, short := c.enter(partyAt("198.51.100.7", otherAgent), true)
			if short != enough {
				t.Fatalf("%s: the other caller was refused: %d", name, short)
			}
			waiting = append(waiting, other)
			served := 0
			for !other.given {
				next := c.ended(running[0], waiting)
				running = append(running[1:], next)
				if served++; next == nil || served > 2 {
					t.Fatalf("%s, %d slots: not served after %d", name, slots, served)
				}
				waiting = without(waiting, next)
			}
			for _, one := range append(running, waiting...) {
				c.leave(one)
			}
			c.wantNobody(t, slots)
		}
	}
}

func without(slots []*slot, one *slot) []*slot {
	var rest []*slot
	for _, other := range slots {
		if other != one {
			rest = append(rest, other)
		}
	}
	return rest
}

// With requests of all callers waiting, slots go round: nobody runs twice BEFORE all ran once.
func TestCallersTakeTurns(t *testing.T) {
	c := newComputing(1)
	first, _ := c.enter(partyAt("203.0.113.1", id.ID{}), true)
	var waiting []*slot
	for _, address := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.2"} {
		s, _ := c.enter(partyAt(address, id.ID{}), true)
		waiting = append(waiting, s)
	}
	var order []byte
	for running := first; running != nil; {
		running = c.ended(running, waiting)
		for i, one := range waiting {
			if one == running {
				order = append(order, byte('0'+i))
			}
		}
		if running != nil {
			running.ready = make(chan struct{})
		}
	}
	if string(order) != "02314" && string(order) != "02341" {
		t.Errorf("order %s", order)
	}
	c.wantNobody(t, 1)
}

func TestComputingNeverExceedsItsSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		c := newComputing(slots)
		callers := []party{
			partyAt("1.1.1.1", id.ID{}), partyAt("1.1.1.1", firstAgent),
			partyAt("2001:db8::1", otherAgent), partyAt("2001:db8:0:1::1", id.ID{}),
		}
		var held []*slot
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "leaves") {
				at := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				c.leave(held[at])
				held = append(held[:at], held[at+1:]...)
			} else {
				who := rapid.SampledFrom(callers).Draw(t, "who")
				bounded := rapid.Bool().Draw(t, "bounded")
				if s, short := c.enter(who, bounded); short == enough {
					held = append(held, s)
				}
			}
			given := 0
			for _, one := range held {
				if one.given {
					given++
				}
			}
			running, waiting := c.counts(slots)
			if running != given || waiting != len(held)-given || running > slots ||
				waiting > 0 && running < slots {
				t.Fatalf("%d run and %d wait of %d, %d given", running, waiting, len(held), given)
			}
		}
		for _, one := range held {
			c.leave(one)
		}
		c.wantNobody(t, slots)
	})
}

func TestSpentTimeEmptiesABucket(t *testing.T) {
	const now = int64(1_763_600_000) * second
	// 10 seconds of processor time in 60 seconds.
	for name, one := range map[string]struct {
		spent            []int64
		later            int64
		remaining        int64
		resetIn, retryIn int64
	}{
		"nothing":       {nil, 0, 10, 0, 0},
		"a little":      {[]int64{1}, 0, 10, 6, 0},
		"a second":      {[]int64{second}, 0, 9, 6 * second, 0},
		"nearly all":    {[]int64{9 * second, second / 2}, 0, 1, 57 * second, 0},
		"all":           {[]int64{10 * second}, 0, 0, 60 * second, 1},
		"more than all": {[]int64{9 * second, 4 * second}, 0, 0, 78 * second, 18*second + 1},
		"more, later":   {[]int64{9 * second, 4 * second}, 18*second + 1, 1, 60*second - 1, 0},
		"at most twice": {[]int64{9 * second, 1000 * second}, 0, 0, 120 * second, 60*second + 1},
		"the clock went back": {
			[]int64{9 * second, 4 * second}, -3600 * second, 0, 120 * second, 60*second + 1,
		},
	} {
		b := newBuckets(10, 60, 8)
		for _, amount := range one.spent {
			b.spend(7, now, amount)
		}
		got := b.owed(7, now+one.later)
		if want := (level{10, one.remaining, one.resetIn, one.retryIn}); got != want {
			t.Errorf("%s: %+v, not %+v", name, got, want)
		}
		if other := b.owed(8, now); other.remaining != 10 {
			t.Errorf("%s: another key has %d left", name, other.remaining)
		}
	}
}

// computingFixture has expensive operations: one that waits, one that panics, one that answers at
// once, one that uses a second of processor time and more, and one with a large answer; and others:
// one that charges as much, and one with a body.
func computingFixture(t *testing.T, cfg Config, limits []api.RateLimit) *fixture {
	t.Helper()
	f := &fixture{
		entered: make(chan struct{}, 100), leave: make(chan struct{}), log: &logBuffer{},
	}
	type handler = func(*api.Call, *api.None) (api.Reply, error)
	expensive := func(name string, handle handler) *api.Operation {
		one := op(read, name, "/v1/"+name, api.Optional)
		one.Expensive = true
		return api.Declare[api.None, echoed](one, handle)
	}
	cfg.Table = []*api.Operation{
		expensive("held", func(c *api.Call, _ *api.None) (api.Reply, error) {
			f.entered <- struct{}{}
			<-f.leave
			return echo(c, "")
		}),
		expensive("panic", func(*api.Call, *api.None) (api.Reply, error) { panic("broken") }),
		expensive("quick", plain),
		expensive("slow", func(c *api.Call, _ *api.None) (api.Reply, error) {
			for begun := threadTime(); threadTime()-begun < 1100*time.Millisecond; {
			}
			return echo(c, "")
		}),
		expensive("large", func(*api.Call, *api.None) (api.Reply, error) {
			return api.Reply{Data: api.Stream(func(w io.Writer) error {
				_, err := io.WriteString(w, `"`+strings.Repeat("x", 64<<20)+`"`)
				return err
			})}, nil
		}),
		api.Declare[api.None, echoed](op(read, "cheap", "/v1/cheap", api.Optional), plain),
		api.Declare[api.None, echoed](op(read, "charged", "/v1/charged", api.Optional),
			func(c *api.Call, _ *api.None) (api.Reply, error) {
				c.Meter.Charge(1100 * time.Millisecond)
				return echo(c, "")
			}),
		api.Declare[echoRequest, echoed](op(write, "body", "/v1/body", api.Optional), withText),
	}
	f.clock.Store(1_763_600_000_000)
	f.serve(t, cfg, limits)
	return f
}

// A slot comes back from a handler that panicked, and from a client that reads nothing or left.
func TestSlotsComeBack(t *testing.T) {
	f := computingFixture(t, Config{Expensive: 1}, DefaultLimits())
	for range 3 {
		if a := f.ask(t, "GET", "/v1/panic"); a.status != 500 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	slow := f.dial(t)
	slow.send("GET /v1/large HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, err := slow.reader.ReadByte(); err != nil {
		t.Fatal(err)
	}
	if a := f.ask(t, "GET", "/v1/quick"); a.status != 200 {
		t.Errorf("while another does not read: %d %s", a.status, a.body)
	}
	_ = slow.Close()
	if a := f.ask(t, "GET", "/v1/quick"); a.status != 200 {
		t.Errorf("after the other left: %d %s", a.status, a.body)
	}
}

// A request that waits longer than it may is refused with all that its client needs.
func TestExpensiveRequestsWaitTheirTurn(t *testing.T) {
	over := make(chan time.Time)
	f := computingFixture(t, Config{
		Expensive: 1, after: func(time.Duration) <-chan time.Time { return over },
	}, DefaultLimits())
	answers := make(chan answer, 1)
	go func() { answers <- f.ask(t, "GET", "/v1/held") }()
	<-f.entered
	refused := make(chan answer, 1)
	go func() { refused <- f.ask(t, "GET", "/v1/quick") }()
	over <- time.Time{}
	a := <-refused
	details := a.envelope(t).Error.Details
	if a.status != 429 || a.code(t) != "RATE_LIMITED" || details["reason"] != "EXPENSIVE" ||
		a.header.Get("Retry-After") != "1" || details["reset_at"] == nil {
		t.Errorf("%d %v %v", a.status, a.header, details)
	}
	if a := f.ask(t, "GET", "/v1/cheap"); a.status != 200 {
		t.Errorf("an operation that is not expensive: %d", a.status)
	}
	close(f.leave)
	if a := <-answers; a.status != 200 {
		t.Errorf("the first: %d %s", a.status, a.body)
	}
	if a := f.ask(t, "GET", "/v1/quick"); a.status != 200 {
		t.Errorf("after the first: %d %s", a.status, a.body)
	}
	f.computing.wantNobody(t, 1)
}

func TestProcessorTimeIsCharged(t *testing.T) {
	f := computingFixture(t, Config{Expensive: 1}, []api.RateLimit{
		{Name: "reads", Scope: ScopeAgent, Unit: api.UnitRequests, Quota: 100, WindowSeconds: 60},
		{Name: "processor", Scope: ScopeAgent, Category: api.CategoryExpensive,
			Unit: api.UnitProcessor, Quota: 1, WindowSeconds: 60},
		{Name: "processor-network", Scope: ScopeIP, Category: api.CategoryExpensive,
			Unit: api.UnitProcessor, Quota: 2, WindowSeconds: 60},
	})
	const good, other = "Authorization: Bearer good", "Authorization: Bearer other"
	a := f.ask(t, "GET", "/v1/slow", good)
	if a.status != 200 || a.header.Get("RateLimit-Limit") != "100" || a.header.Get(
		"RateLimit-Policy") != `"reads";q=100;w=60, "processor";q=1;w=60;qu="processor-seconds", `+
		`"processor-network";q=2;w=60;qu="processor-seconds"` {
		t.Fatalf("%d %v", a.status, a.header)
	}
	a = f.ask(t, "GET", "/v1/quick", good)
	details := a.envelope(t).Error.Details
	if a.status != 429 || details["reason"] != "PROCESSOR" || details["limit"] != 1.0 ||
		details["remaining"] != 0.0 || details["reset_at"] == nil ||
		details["retry_after_seconds"].(float64) < 6 ||
		a.header.Get("RateLimit-Limit") != "1" || a.header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("%d %v %v", a.status, a.header, details)
	}
	if a := f.ask(t, "GET", "/v1/cheap", good); a.status != 200 ||
		strings.Contains(a.header.Get("RateLimit-Policy"), "processor") {
		t.Errorf("an operation that is not expensive: %d %v", a.status, a.header)
	}
	if a := f.ask(t, "GET", "/v1/slow", other); a.status != 200 {
		t.Errorf("another agent: %d %s", a.status, a.body)
	}
	if a := f.ask(t, "GET", "/v1/quick"); a.envelope(t).Error.Details["reason"] !=
		"PROCESSOR_NETWORK" {
		t.Errorf("a third caller of the network: %d %s", a.status, a.body)
	}
	f.clock.Add(60_000)
	if a := f.ask(t, "GET", "/v1/quick", good); a.status != 200 {
		t.Errorf("a minute later: %d %s", a.status, a.body)
	}
	f.computing.wantNobody(t, 1)
}

// TestInflatingIsCharged charges one agent for the bytes of coded bodies, and refuses the next one.
func TestInflatingIsCharged(t *testing.T) {
	f := start(t, Config{}, []api.RateLimit{
		{Name: "processor", Scope: ScopeAgent, Category: api.CategoryExpensive,
			Unit: api.UnitProcessor, Quota: 1, WindowSeconds: 60},
	})
	x := &exchange{server: f.Server}
	x.call.Agent = firstAgent
	x.chargeInflating(heavyBody)
	ask := func(lines ...string) answer {
		lines = append(lines, "Authorization: Bearer good", "Content-Type: application/json")
		return f.ask(t, "POST", "/v1/echo", lines...)
	}
	if a := ask("Content-Encoding: gzip"); a.status == 429 {
		t.Errorf("after a small body: %s", a.body)
	}
	x.chargeInflating(inflateRate)
	if a := ask("Content-Encoding: gzip"); a.status != 429 ||
		a.envelope(t).Error.Details["reason"] != "PROCESSOR" {
		t.Errorf("after a large body: %d %s", a.status, a.body)
	}
	if a := ask(); a.status == 429 {
		t.Errorf("a body without a coding: %s", a.body)
	}
}
