package http

import (
	"runtime"
	"time"
)

// Pages make HTML of texts that agents wrote, which takes up to a second for a hostile one. That is
// no expensive operation, because most texts are small or remembered. The others have half of the
// cores and a queue of their own, with the turns and bounds of expensive operations, and the same
// limits of processor time.

// renderingWait is how long all texts of one request wait together.
const renderingWait = 2 * time.Second

// Render implements api.Meter. An expensive operation runs it in its own slot, and is charged when
// it gives that back.
func (x *exchange) Render(small bool, make func()) bool {
	if x.computed != nil && x.computed.slot != nil {
		make()
		return true
	}
	c := computation{server: x.server, who: x.caller(), party: x.party()}
	c.limits = x.server.limiter.spent[c.who.kind()]
	if spent, _ := c.usedUp(x.call.Now); spent != nil {
		return false
	}
	if !small {
		own := x.placeFor(c.party)
		if own == nil {
			return false
		}
		defer x.server.rendering.leave(own)
		// Other requests of the caller may have used up its time in the meantime.
		if spent, _ := c.usedUp(x.call.Now); spent != nil {
			return false
		}
	}
	c.measure(make)
	return true
}

// placeFor waits for a place of a party. It returns nil if too many wait, or if it takes too long.
func (x *exchange) placeFor(who party) *slot {
	s := x.server
	own, short := s.rendering.enter(who, true)
	if short != enough {
		return nil
	}
	if own.ready == nil {
		return own
	}
	before := x.waited
	err := s.awaitSlot(x, own, renderingWait-x.waitedPlace)
	x.waitedPlace += x.waited - before
	if err != nil {
		s.rendering.leave(own)
		return nil
	}
	return own
}

// measure charges the caller for what runs.
func (c *computation) measure(run func()) {
	if len(c.limits) > 0 {
		runtime.LockOSThread()
		begun := threadTime()
		defer func() {
			spent := threadTime() - begun
			runtime.UnlockOSThread()
			c.charge(spent)
		}()
	}
	run()
}
