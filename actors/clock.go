package actors

import (
	"sync/atomic"
	"time"
)

// clock is the one place that time comes from. It never goes back: not when the system's clock
// does, and not behind the newest stamp in the log after a restart. It never stops either: leases
// have to run out and limits to refill. While the system's clock is behind, this one goes on from
// where it was at half the pace, until the other has caught up.
type clock struct {
	// ahead is how far a test moved the clock forward, floor the newest time given out; both are
	// milliseconds.
	ahead atomic.Int64
	floor atomic.Int64
	// behind is where the system's clock was found to be behind; nil while it is not.
	behind atomic.Pointer[pace]
	// source is nil for the system's clock; a test may set it while the clock is read.
	source atomic.Pointer[func() reading]
}

// reading is what the system says: the time in Unix milliseconds, and a time of its own that is
// never set, in milliseconds too.
type reading struct{ wall, steady int64 }

// pace is a time given out, and the steady time at that moment.
type pace struct{ floor, steady int64 }

// behindMillis is how far the system's clock may be behind before that is more than two readings
// that overtook each other.
const behindMillis = 100

var processStart = time.Now()

func (c *clock) read() reading {
	if source := c.source.Load(); source != nil {
		return (*source)()
	}
	now := time.Now()
	return reading{now.UnixMilli(), now.Sub(processStart).Milliseconds()}
}

// Now is Unix milliseconds.
func (c *clock) Now() int64 {
	system := c.read()
	now, floor := system.wall+c.ahead.Load(), c.floor.Load()
	switch {
	case now < floor-behindMillis:
		now = c.creep(floor, system.steady)
	case now > floor && c.behind.Load() != nil:
		c.behind.Store(nil)
	}
	return c.raise(now)
}

// creep is a time that goes on at half the pace.
func (c *clock) creep(floor, steady int64) int64 {
	from := c.behind.Load()
	if from != nil {
		if now := from.floor + (steady-from.steady)/2; now >= floor {
			return now
		}
	}
	// Nobody has noticed yet, or a newer stamp has been seen since.
	c.behind.CompareAndSwap(from, &pace{floor, steady})
	return floor
}

// raise makes sure that no later time is below one that was seen; it returns the newest.
func (c *clock) raise(millis int64) int64 {
	for {
		floor := c.floor.Load()
		if millis <= floor {
			return floor
		}
		if c.floor.CompareAndSwap(floor, millis) {
			return millis
		}
	}
}

// Advance moves the clock forward, for tests: from the time it shows, which may be ahead of the
// system's after a restart.
func (c *clock) Advance(millis int64) int64 {
	next := c.Now() + millis
	c.ahead.Store(next - c.read().wall)
	c.raise(next)
	return c.Now()
}
