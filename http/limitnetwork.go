package http

import (
	"math"
	"net/netip"

	"pws/api"
	"pws/internal/id"
)

// widerNetworks are the networks of IPv6 by which requests of an address count besides its /64, the
// widest first: one customer can get a /56 or a /48. Each is a prefix in bytes, and how many times
// the limit of an address its callers have together.
var widerNetworks = [...]struct {
	bytes, times int
}{{6, 16}, {7, 4}}

// widerKeysPart is the part of the callers of a limit that its wider networks can distinguish,
// as a divisor.
const widerKeysPart = 4

// bucketsOf makes the buckets of a limit, and those of wider networks if it counts requests of
// addresses.
func bucketsOf(one api.RateLimit, keys int) *limit {
	l := &limit{RateLimit: one, buckets: newBuckets(one.Quota, one.WindowSeconds, keys)}
	if one.Unit != api.UnitRequests || one.Scope != ScopeIP && one.Scope != ScopeCategory {
		return l
	}
	for i, network := range widerNetworks {
		quota := min(one.Quota, math.MaxInt32) * network.times
		l.wider[i] = newBuckets(quota, one.WindowSeconds, max(ways, keys/widerKeysPart))
	}
	return l
}

// place is a bucket of a caller.
type place struct {
	*buckets
	key uint64
}

// places are the buckets that count requests of a caller, in the array. Those of the widest
// networks come first, so that one that is used up keeps its addresses from filling the others.
func (l *limit) places(who *caller, into *[1 + len(widerNetworks)]place) []place {
	out := into[:0]
	if l.wider[0] != nil && l.countsAddress(who) && isIPv6(who.ip) {
		for i, network := range widerNetworks {
			key := prefixKey(who.ip, network.bytes)
			out = append(out, place{l.wider[i], l.wider[i].keyOf(key[:])})
		}
	}
	return append(out, place{l.buckets, who.key(l)})
}

// countsAddress reports whether requests of a caller count by its address.
func (l *limit) countsAddress(who *caller) bool {
	return l.Scope == ScopeIP || l.Scope == ScopeCategory && who.agent.IsZero()
}

// take takes a request from all buckets of a caller, or from none. The level is that of the bucket
// with the fewest requests left.
func (l *limit) take(who *caller, now int64) (level, bool) {
	var array [1 + len(widerNetworks)]place
	tightest := level{remaining: math.MaxInt64}
	places := l.places(who, &array)
	for i, one := range places {
		after, ok := one.take(one.key, now)
		if !ok {
			for _, taken := range places[:i] {
				taken.giveBack(taken.key, now)
			}
			return after, false
		}
		tightest = tightest.tighter(after)
	}
	return tightest, true
}

// giveBack returns what take took.
func (l *limit) giveBack(who *caller, now int64) {
	var array [1 + len(widerNetworks)]place
	for _, one := range l.places(who, &array) {
		one.giveBack(one.key, now)
	}
}

// peek is the level of a caller. A fraction of a second of processor time counts as remaining.
func (l *limit) peek(who *caller, now int64) level {
	if l.Unit == api.UnitProcessor {
		return l.buckets.owed(who.key(l), now)
	}
	var array [1 + len(widerNetworks)]place
	tightest := level{remaining: math.MaxInt64}
	for _, one := range l.places(who, &array) {
		tightest = tightest.tighter(one.peek(one.key, now))
	}
	return tightest
}

// tighter is the level with fewer requests left; among equal ones it is the other.
func (l level) tighter(other level) level {
	if l.remaining < other.remaining {
		return l
	}
	return other
}

func isIPv6(ip netip.Addr) bool { return ip.Is6() && !ip.Is4In6() }

func addressKey(ip netip.Addr) id.ID { return prefixKey(ip, 8) }

func networkKey(ip netip.Addr) id.ID { return prefixKey(ip, 6) }

// prefixKey keeps that many bytes of an address of IPv6.
func prefixKey(ip netip.Addr, bytes int) id.ID {
	key := id.ID(ip.As16())
	if isIPv6(ip) {
		clear(key[bytes:])
	}
	return key
}
