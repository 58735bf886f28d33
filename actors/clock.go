package actors

import (
	"sync/atomic"
	"time"
)

// clock is the one place that time comes from. It never goes back: not when the system's clock
// does, and not behind the newest stamp in the log after a restart.
type clock struct {
	// ahead is how far a test moved the clock forward, floor the newest time given out; both are
	// milliseconds.
	ahead atomic.Int64
	floor atomic.Int64
}

// Now is Unix milliseconds.
func (c *clock) Now() int64 {
	now := time.Now().UnixMilli() + c.ahead.Load()
	for {
		floor := c.floor.Load()
		if now <= floor {
			return floor
		}
		if c.floor.CompareAndSwap(floor, now) {
			return now
		}
	}
}

// raise makes sure that no later time is below one that was seen.
func (c *clock) raise(millis int64) {
	for {
		floor := c.floor.Load()
		if millis <= floor || c.floor.CompareAndSwap(floor, millis) {
			return
		}
	}
}

// Advance moves the clock forward, for tests: from the time it shows, which may be ahead of the
// system's after a restart.
func (c *clock) Advance(millis int64) int64 {
	next := c.Now() + millis
	c.ahead.Store(next - time.Now().UnixMilli())
	c.raise(next)
	return c.Now()
}
