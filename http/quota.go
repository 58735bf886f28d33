package http

import "pws/api"

// RateLevels implements api.Meter: each limit that counts any request of the caller, once.
func (x *exchange) RateLevels() []api.RateLevel {
	who := x.caller()
	of := x.server.limiter.all[who.kind()]
	levels := make([]api.RateLevel, len(of))
	for at, one := range of {
		now := one.peek(who.key(one), x.call.Now*1e6)
		levels[at] = api.RateLevel{
			RateLimit: one.RateLimit, Remaining: now.remaining,
			ResetAt: x.call.Now + ceilSeconds(now.reset)*1000,
		}
	}
	return levels
}

// peek is the level of a key. A fraction of a second of processor time counts as remaining.
func (l *limit) peek(key uint64, now int64) level {
	if l.Unit == api.UnitProcessor {
		return l.buckets.owed(key, now)
	}
	return l.buckets.peek(key, now)
}
