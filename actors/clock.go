package actors

import (
	"sync/atomic"
	"time"
)

// clock is the one place that time comes from. It never goes back: not when the system's clock
// does, and not behind the newest stamp in the log after a restart. It never stops either: leases
// have to run out and limits to refill. While the system's clock is behind, this one goes on from
// where it was at half the pace, until the other has caught up.
//
// What a leader stamps moves the time of all servers, and a time too late ends leases. So a server
// that follows goes back with the system's clock: what it has shown until then binds nobody. And if
// the system's clock jumps forward, it is believed only where those of other servers say the same.
type clock struct {
	// ahead is how far a test moved the clock forward, floor the newest time given out, and logged
	// the newest stamp of another process in the log; all are milliseconds.
	ahead  atomic.Int64
	floor  atomic.Int64
	logged atomic.Int64
	// follows says that another server stamps.
	follows atomic.Bool
	// trusts says whether other servers show about the time of the system's clock. It is nil for a
	// server alone, which has nobody to ask.
	trusts func() bool
	// believed is a reading that was believed, some time ago; nil BEFORE the first one.
	believed atomic.Pointer[reading]
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

const (
	// jumpMillis is how far the system's clock may run ahead of a steady one before it has jumped.
	jumpMillis = 2000
	// believedMillis is the age from which on a reading that was believed is replaced by a newer one.
	believedMillis = 1000
)

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
	now, floor := c.believe(system)+c.ahead.Load(), c.floor.Load()
	switch {
	case c.follows.Load():
		now = max(now, c.logged.Load())
		c.floor.CompareAndSwap(floor, now)
		return now
	case now < floor-behindMillis:
		now = c.creep(floor, system.steady)
	case now > floor && c.behind.Load() != nil:
		c.behind.Store(nil)
	}
	return c.raise(now)
}

// believe returns the time of the system's clock, or where that has jumped forward, and other
// servers do not say the same, the time that a steady clock shows since it was last believed.
func (c *clock) believe(system reading) int64 {
	if c.trusts == nil {
		return system.wall
	}
	before := c.believed.Load()
	if before != nil {
		steady := before.wall + system.steady - before.steady
		if system.wall > steady+jumpMillis && !c.trusts() {
			return steady
		}
	}
	if before == nil || system.steady-before.steady >= believedMillis ||
		system.wall > before.wall+jumpMillis || system.wall < before.wall {
		c.believed.CompareAndSwap(before, &system)
	}
	return system.wall
}

// lead begins to stamp, behind the newest stamp of the log.
func (c *clock) lead() {
	if c.follows.Swap(false) {
		c.behind.Store(nil)
		c.floor.Store(c.logged.Load())
	}
}

// follow ends that. What this server has shown until now may be a stamp.
func (c *clock) follow() {
	raise(&c.logged, c.floor.Load())
	c.follows.Store(true)
}

// note takes a stamp of the log.
func (c *clock) note(millis int64) {
	raise(&c.logged, millis)
	c.raise(millis)
}

// bound is the time that this server must not show an earlier one than AFTER a restart. What it has
// shown while it followed does not count.
func (c *clock) bound() int64 {
	if c.follows.Load() {
		return c.logged.Load()
	}
	return max(c.floor.Load(), c.logged.Load())
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
func (c *clock) raise(millis int64) int64 { return raise(&c.floor, millis) }

// raise makes sure that a value is not below another one; it returns the larger one.
func raise(value *atomic.Int64, least int64) int64 {
	for {
		now := value.Load()
		if least <= now {
			return now
		}
		if value.CompareAndSwap(now, least) {
			return least
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
