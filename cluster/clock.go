package cluster

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"pws/journal/replica"
)

const (
	// clockEvery is how often members send their clocks, clockFresh how long that counts.
	clockEvery = time.Second
	clockFresh = 10 * time.Second
	// clockAlarm is the difference between two clocks that is logged, and clockQuiet the one below
	// which it is over.
	clockAlarm = 250 * time.Millisecond
	clockQuiet = 200 * time.Millisecond
	// clockLeads is how far the clock of a member may be from that of most members for it to lead.
	clockLeads = 2 * time.Second
)

// clocks are those of the other members, as they were sent. What arrives was true some milliseconds
// ago: the time that the message took makes the clock look slower.
type clocks struct {
	log *slog.Logger
	// news has a value AFTER a clock was heard for the first time in clockFresh, or a member has said
	// for the first time what it has.
	news chan struct{}
	mu   struct {
		sync.Mutex
		of  map[uint64]sample
		has map[uint64]possession
	}
}

// sample is what another clock showed, and when, by a clock of this process that is never set.
type sample struct {
	theirs time.Time
	at     time.Time
	alarm  bool
}

// ahead is how far the other clock is ahead of the own one now, if it has gone on since. It changes
// at once when the own clock is set.
func (s *sample) ahead(now time.Time) time.Duration {
	return s.theirs.Add(now.Sub(s.at)).Sub(now.Round(0))
}

// possession is the newest entry that a member had, and when.
type possession struct {
	newest replica.Newest
	at     time.Time
}

func newClocks(log *slog.Logger) *clocks {
	c := &clocks{log: log, news: make(chan struct{}, 1)}
	c.mu.of, c.mu.has = map[uint64]sample{}, map[uint64]possession{}
	return c
}

// note takes the clock that a member has sent. Now is the own clock.
func (c *clocks) note(member uint64, theirs, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.mu.of[member]
	one := sample{theirs: theirs, at: now, alarm: before.alarm}
	ahead := one.ahead(now)
	switch off := ahead.Abs(); {
	case off > clockAlarm && !before.alarm:
		one.alarm = true
		c.log.Warn("the clocks of two members differ", "member", member, "ahead", ahead)
	case off < clockQuiet && before.alarm:
		one.alarm = false
		c.log.Info("the clocks of two members agree again", "member", member, "ahead", ahead)
	}
	c.mu.of[member] = one
	if now.Sub(before.at) >= clockFresh {
		c.hasNews()
	}
}

// noteNewest takes what a member has said that it has, which is the zero value where it has said
// nothing.
func (c *clocks) noteNewest(member uint64, now time.Time, newest replica.Newest) {
	if newest == (replica.Newest{}) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.mu.has[member]
	c.mu.has[member] = possession{newest, now}
	if now.Sub(before.at) >= clockFresh {
		c.hasNews()
	}
}

func (c *clocks) hasNews() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// has returns what a member has, if it has said that lately.
func (c *clocks) has(member uint64, now time.Time) (newest replica.Newest, said bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, known := c.mu.has[member]
	return one.newest, known && now.Sub(one.at) < clockFresh
}

// ahead returns how far ahead the clocks of others are that were sent lately.
func (c *clocks) ahead(now time.Time) map[uint64]time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[uint64]time.Duration{}
	for member, one := range c.mu.of {
		if now.Sub(one.at) < clockFresh {
			all[member] = one.ahead(now)
		}
	}
	return all
}

// behindMost returns how far the own clock is behind that of most members, this one included: the
// median. It is negative for one that is ahead. One bad clock of three does not move it.
func (c *clocks) behindMost(now time.Time) time.Duration {
	all := []time.Duration{0}
	for _, ahead := range c.ahead(now) {
		all = append(all, ahead)
	}
	slices.Sort(all)
	lower, upper := all[(len(all)-1)/2], all[len(all)/2]
	if lower.Abs() < upper.Abs() {
		return lower
	}
	return upper
}
