package http

import "pws/api"

// RateLevels implements api.Meter: each limit once that counts anything that this caller does.
func (x *exchange) RateLevels() []api.RateLevel {
	caller := anonymousCaller
	if !x.call.Agent.IsZero() {
		caller = authenticatedCaller
	}
	of := x.server.limiter.all[caller]
	levels := make([]api.RateLevel, len(of))
	for at, one := range of {
		now := one.buckets.peek(x.bucketKey(one), x.call.Now*1e6)
		levels[at] = api.RateLevel{
			RateLimit: one.RateLimit, Remaining: now.remaining,
			ResetAt: x.call.Now + ceilSeconds(now.reset)*1000,
		}
	}
	return levels
}
