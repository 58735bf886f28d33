package http

import (
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/id"
)

// renderer is a server with one place for texts, whose waits end when the test says so.
type renderer struct {
	*fixture
	over chan time.Time
}

func newRenderer(t *testing.T, limits []api.RateLimit) *renderer {
	over := make(chan time.Time)
	f := computingFixture(t, Config{after: func(time.Duration) <-chan time.Time { return over }},
		limits)
	f.rendering.init(1)
	return &renderer{f, over}
}

// visitor is a request of an agent at an address.
func (r *renderer) visitor(address string, agent id.ID) *exchange {
	x := &exchange{server: r.Server, ctx: new(fasthttp.RequestCtx), ip: netip.MustParseAddr(address)}
	x.call.Now, x.call.Agent = r.clock.Load(), agent
	return x
}

// hold takes the place until the result is called.
func (r *renderer) hold(t *testing.T, x *exchange) (release func()) {
	t.Helper()
	begun, leave, left := make(chan struct{}), make(chan struct{}), make(chan bool)
	go func() {
		left <- x.Render(false, func() {
			close(begun)
			<-leave
		})
	}()
	<-begun
	return func() {
		close(leave)
		if !<-left {
			t.Error("what ran was not run")
		}
	}
}

// awaitWaiting lets texts wait until there are so many.
func (r *renderer) awaitWaiting(count int) {
	for {
		if _, waiting := r.rendering.counts(1); waiting == count {
			return
		}
		runtime.Gosched()
	}
}

// TestRendersTakeTurns: one address has as many texts waiting as it may; further ones are shown
// plain at once. The text of another address is made BEFORE them, a small one without a place.
func TestRendersTakeTurns(t *testing.T) {
	r := newRenderer(t, DefaultLimits())
	release := r.hold(t, r.visitor("192.0.2.1", id.ID{}))
	const most = computingWaitingPerNetwork - computingWaitingPerNetwork/computingAgentsOnly
	order := make(chan string, most+1)
	render := func(name string, x *exchange) {
		if !x.Render(false, func() { order <- name }) {
			t.Errorf("no place for the text of %s", name)
		}
	}
	for i := range most {
		go render("the flood", r.visitor("192.0.2.1", id.ID{}))
		r.awaitWaiting(i + 1)
	}
	if r.visitor("192.0.2.1", id.ID{}).Render(false, func() { t.Error("it ran") }) {
		t.Error("too many texts of one address wait")
	}
	go render("another", r.visitor("198.51.100.7", id.ID{}))
	r.awaitWaiting(most + 1)
	small := false
	if !r.visitor("198.51.100.7", id.ID{}).Render(true, func() { small = true }) || !small {
		t.Error("a small text waits")
	}
	release()
	for served := 0; <-order != "another"; served++ {
		if served > 1 {
			t.Fatal("the other address waits for the flood")
		}
	}
	for len(order) < cap(order)-2 {
		runtime.Gosched()
	}
	r.awaitWaiting(0)
}

// TestRendersWaitForSomeTime: a text that waits for too long is shown plain, and takes nothing.
func TestRendersWaitForSomeTime(t *testing.T) {
	r := newRenderer(t, DefaultLimits())
	release := r.hold(t, r.visitor("192.0.2.1", id.ID{}))
	late := make(chan bool)
	go func() { late <- r.visitor("198.51.100.7", id.ID{}).Render(false, func() {}) }()
	r.over <- time.Time{}
	if <-late {
		t.Error("it ran without a place")
	}
	release()
	r.rendering.wantNobody(t, 1)
}

// TestTimeOfRendersIsCharged: what makes a text is charged, and AFTER the time of a caller is used
// up its texts are shown plain. Those of others are not.
func TestTimeOfRendersIsCharged(t *testing.T) {
	r := newRenderer(t, processorLimits)
	spend := func() {
		for begun := threadTime(); threadTime()-begun < 1100*time.Millisecond; {
		}
	}
	for _, small := range []bool{false, true} {
		r.clock.Add(120_000)
		if !r.visitor("192.0.2.1", firstAgent).Render(small, spend) {
			t.Error("the first text is not made")
		}
		for _, next := range []bool{false, true} {
			x := r.visitor("192.0.2.1", firstAgent)
			if x.Render(next, func() { t.Error("it ran") }) || x.overLimit {
				t.Error("a text is made AFTER the time was used up, or its page is refused")
			}
			if !r.visitor("192.0.2.1", otherAgent).Render(next, func() {}) {
				t.Error("the text of another agent is not made")
			}
		}
	}
	r.rendering.wantNobody(t, 1)
}

// TestExpensivePagesRenderInTheirSlot: an expensive operation takes no second place for a text.
func TestExpensivePagesRenderInTheirSlot(t *testing.T) {
	r := newRenderer(t, DefaultLimits())
	release := r.hold(t, r.visitor("192.0.2.1", id.ID{}))
	x := r.visitor("198.51.100.7", id.ID{})
	if err := r.beginComputing(x); err != nil {
		t.Fatal(err)
	}
	ran := false
	if !x.Render(false, func() { ran = true }) || !ran {
		t.Error("it waits for a place beside its slot")
	}
	x.computed.pause()
	release()
	r.rendering.wantNobody(t, 1)
}
