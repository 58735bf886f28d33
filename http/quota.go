package http

import (
	"pws/api"
	"pws/internal/id"
)

// Network implements api.Meter.
func (x *exchange) Network() id.ID { return networkKey(x.ip) }

// RateLevels implements api.Meter: each limit that counts any request of the caller, once. The
// quota is that of the tightest bucket.
func (x *exchange) RateLevels() []api.RateLevel {
	who := x.caller()
	of := x.server.limiter.all[who.kind()]
	levels := make([]api.RateLevel, len(of))
	for i, one := range of {
		now := one.peek(&who, x.call.Now*1e6)
		levels[i] = api.RateLevel{
			RateLimit: one.RateLimit, Remaining: now.remaining,
			ResetAt: x.call.Now + ceilSeconds(now.reset)*1000,
		}
		levels[i].Quota = int(now.limit)
	}
	return levels
}
