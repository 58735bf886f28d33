package http

import (
	"io"
	"runtime"
	"time"
)

// heavyBody is the size in bytes above which a body takes as much time to decode as an expensive
// operation.
const heavyBody = 256 << 10

// computation is the expensive part of a request: the time in which it holds a slot. It is measured
// by the processor time of its thread, because under load much of the elapsed time is that of
// others. The measurement takes about a microsecond, so it is made for expensive operations only.
type computation struct {
	server *Server
	who    caller
	party  party
	// limits are those of processor time for the caller.
	limits []*limit
	// slot is nil while it is paused.
	slot *slot
	// begun is the processor time of the thread when it got its slot, and started the time.
	begun   time.Duration
	started time.Time
}

// beginComputing waits until an expensive operation may run. Its body has arrived, so a slot never
// waits for a client. Errors: RATE_LIMITED, SHUTTING_DOWN.
func (s *Server) beginComputing(x *exchange) error {
	c := &computation{server: s, who: x.caller(), party: x.party()}
	c.limits = s.limiter.spent[c.who.kind()]
	if err := c.overspent(x); err != nil {
		return err
	}
	own, short := s.computing.enter(c.party, true)
	if short != enough {
		return s.notComputed(short)
	}
	if own.ready != nil {
		if err := s.awaitSlot(x, own, s.cfg.computingWait); err != nil {
			s.computing.leave(own)
			return err
		}
		// Other requests of the caller may have used up its time in the meantime.
		if err := c.overspent(x); err != nil {
			s.computing.leave(own)
			return err
		}
	}
	c.start(own)
	x.computed = c
	return nil
}

// awaitSlot waits for a slot. Errors: RATE_LIMITED AFTER the longest time or if the client has
// left, SHUTTING_DOWN.
func (s *Server) awaitSlot(x *exchange, own *slot, longest time.Duration) error {
	begun := time.Now()
	defer func() { x.waited += time.Since(begun) }()
	over := s.cfg.after(longest)
	check := time.NewTicker(s.cfg.clientCheck)
	defer check.Stop()
	peer, tracked := x.ctx.Conn().(*conn)
	for {
		select {
		case <-own.ready:
			return nil
		case <-s.stopping:
			return errStopping
		case <-over:
			return s.notComputed(shortTotal)
		case <-check.C:
			if tracked && peer.peerClosed() {
				return s.notComputed(shortTotal)
			}
		}
	}
}

// notComputed is the refusal of an expensive operation that got no slot. Errors: RATE_LIMITED.
func (s *Server) notComputed(short shortage) error {
	of := &s.computing.queued
	switch short {
	case shortAddress:
		return noSlot("EXPENSIVE_IP", "Too many expensive requests of this address wait.",
			of.address)
	case shortAgent:
		return noSlot("EXPENSIVE_AGENT", "Too many expensive requests of this agent wait.",
			of.agent)
	case shortTotal, enough:
	}
	return noSlot("EXPENSIVE", "Too many expensive requests wait.", of.total)
}

// start begins to measure with a slot. It binds the goroutine to its thread.
func (c *computation) start(own *slot) {
	c.slot, c.started = own, time.Now()
	if len(c.limits) > 0 {
		runtime.LockOSThread()
		c.begun = threadTime()
	}
}

// pause gives back the slot and charges the caller. It is called by the goroutine that has
// started it; nil and a paused computation stay as they are.
func (c *computation) pause() {
	if c == nil || c.slot == nil {
		return
	}
	if len(c.limits) > 0 {
		spent := threadTime() - c.begun
		runtime.UnlockOSThread()
		c.charge(spent)
	}
	c.server.computing.leave(c.slot)
	c.slot = nil
}

// Spent implements api.Meter. Without limits of processor time it is the elapsed time.
func (x *exchange) Spent() time.Duration {
	switch c := x.computed; {
	case c == nil || c.slot == nil:
		return 0
	case len(c.limits) == 0:
		return time.Since(c.started)
	default:
		return threadTime() - c.begun
	}
}

// resume waits for a slot again. The answer has begun, so it is not refused.
func (c *computation) resume() {
	own, _ := c.server.computing.enter(c.party, false)
	if own.ready != nil {
		<-own.ready
	}
	c.start(own)
}

// Yield implements api.Meter.
func (x *exchange) Yield() {
	if c := x.computed; c != nil && c.slot != nil {
		c.pause()
		c.resume()
	}
}

// charge takes time from the allowances of the caller.
func (c *computation) charge(spent time.Duration) {
	now := c.server.now() * 1e6
	for _, one := range c.limits {
		one.buckets.spend(c.who.key(one), now, int64(spent))
	}
}

// checkSpent refuses a request that is to be charged, BEFORE its body is read. Errors:
// RATE_LIMITED.
func (s *Server) checkSpent(x *exchange) error {
	if !x.route.operation.Expensive && x.ctx.Request.Header.ContentLength() <= heavyBody &&
		len(x.headers.contentEncoding) == 0 {
		return nil
	}
	c := computation{who: x.caller()}
	c.limits = s.limiter.spent[c.who.kind()]
	return c.overspent(x)
}

// Charge implements api.Meter. A request with a slot is charged when it gives it back.
func (x *exchange) Charge(spent time.Duration) {
	if x.computed != nil && x.computed.slot != nil {
		return
	}
	c := computation{server: x.server, who: x.caller()}
	c.limits = x.server.limiter.spent[c.who.kind()]
	c.charge(spent)
}

// overspent refuses a request whose caller has no processor time left. Errors: RATE_LIMITED.
func (c *computation) overspent(x *exchange) error {
	one, now := c.usedUp(x.call.Now)
	if one == nil {
		return nil
	}
	x.rates.tightest, x.rates.level, x.overLimit = one, now, true
	x.rates.policy = x.server.limiter.of(x.operation(), &c.who).expensive
	return limitFault(one, now, x.call.Now)
}

// usedUp is the limit of which the caller has no processor time left, and its level; nil for none.
func (c *computation) usedUp(millis int64) (*limit, level) {
	for _, one := range c.limits {
		if now := one.buckets.owed(c.who.key(one), millis*1e6); now.remaining == 0 {
			return one, now
		}
	}
	return nil, level{}
}

// slicedWriter sends the answer of a computation, which holds no slot while it waits for the
// client.
type slicedWriter struct {
	w  io.Writer
	of *computation
}

func (s *slicedWriter) Write(data []byte) (int, error) {
	s.of.pause()
	defer s.of.resume()
	return s.w.Write(data)
}

// ComputingStats are numbers of expensive operations.
type ComputingStats struct{ Running, Waiting int }

// Computing counts the expensive operations.
func (s *Server) Computing() ComputingStats {
	running, waiting := s.computing.counts(s.cfg.Expensive)
	return ComputingStats{Running: running, Waiting: waiting}
}
