package http

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/id"
)

func partyAt(address string, agent id.ID) party {
	return partyOf(netip.MustParseAddr(address), agent)
}

func TestSharesAreBounded(t *testing.T) {
	limits := bounds{total: 100, address: 40, network: 60, agent: 20, agentsOnly: 4}
	proxy := partyAt("10.0.0.1", id.ID{})
	proxy.exempt = true
	nobody := id.ID{}
	type step struct {
		who    party
		amount int64
		want   shortage
	}
	for name, steps := range map[string][]step{
		"an address": {
			{partyAt("1.2.3.4", nobody), 30, enough},
			{partyAt("1.2.3.4", nobody), 1, shortAddress},
			{partyAt("::ffff:1.2.3.4", nobody), 1, shortAddress},
			{partyAt("1.2.3.5", nobody), 30, enough},
		},
		"agents at the address of others": {
			{partyAt("1.2.3.4", nobody), 30, enough},
			{partyAt("1.2.3.4", firstAgent), 10, enough},
			{partyAt("1.2.3.4", otherAgent), 1, shortAddress},
		},
		"a customer of IPv6": {
			{partyAt("2001:db8:1:2::1", nobody), 30, enough},
			{partyAt("2001:db8:1:2:ffff::1", nobody), 1, shortAddress},
			{partyAt("2001:db8:1:3::1", nobody), 15, enough},
			{partyAt("2001:db8:1:4::1", nobody), 1, shortAddress},
			{partyAt("2001:db8:2::1", nobody), 30, enough},
		},
		"an agent at many addresses": {
			{partyAt("1.2.3.4", firstAgent), 10, enough},
			{partyAt("1.2.3.5", firstAgent), 10, enough},
			{partyAt("1.2.3.6", firstAgent), 1, shortAgent},
			{partyAt("1.2.3.6", otherAgent), 20, enough},
		},
		"the part of agents": {
			{partyAt("1.2.3.4", nobody), 30, enough}, {partyAt("1.2.3.5", nobody), 30, enough},
			{partyAt("1.2.3.6", nobody), 15, enough}, {partyAt("1.2.3.7", nobody), 1, shortTotal},
			{partyAt("1.2.3.7", firstAgent), 20, enough},
			{partyAt("1.2.3.8", otherAgent), 6, shortTotal},
		},
		"a proxy": {
			{proxy, 75, enough}, {proxy, 1, shortTotal},
		},
	} {
		s := shares{bounds: limits}
		for i, one := range steps {
			if got := s.take(one.who, one.amount); got != one.want {
				t.Errorf("%s, step %d: %d, not %d", name, i, got, one.want)
			}
		}
		for _, one := range steps {
			if one.want == enough {
				s.giveBack(one.who, one.amount)
			}
		}
		s.wantEmpty(t)
	}
}

type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// wantEmpty checks that all is given back and nobody is remembered.
func (s *shares) wantEmpty(t failer) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.used != 0 || len(s.mu.address)+len(s.mu.network)+len(s.mu.ofAgents) != 0 {
		t.Errorf("%d is still held, by %d addresses", s.mu.used, len(s.mu.address))
	}
}

func TestSharesNeverExceedTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shares{bounds: bounds{total: 100, address: 50, network: 70, agent: 30, agentsOnly: 3}}
		addresses := []string{"1.1.1.1", "2001:db8::1", "2001:db8:0:1::1", "2001:db8:1::1"}
		agents := []id.ID{{}, firstAgent, otherAgent}
		type taken struct {
			who    party
			amount int64
		}
		var held []taken
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "gives back") {
				at := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				s.giveBack(held[at].who, held[at].amount)
				held = append(held[:at], held[at+1:]...)
				continue
			}
			one := taken{
				partyAt(rapid.SampledFrom(addresses).Draw(t, "address"),
					rapid.SampledFrom(agents).Draw(t, "agent")),
				rapid.Int64Range(1, 40).Draw(t, "amount"),
			}
			if s.take(one.who, one.amount) == enough {
				held = append(held, one)
			}
			sums, total := map[id.ID]int64{}, int64(0)
			for _, h := range held {
				total += h.amount
				sums[h.who.agent] += h.amount
			}
			if total > 100 || total != s.used() || sums[id.ID{}] > 67 ||
				sums[firstAgent] > 30 || sums[otherAgent] > 30 {
				t.Fatalf("%d is held, counted as %d: %v", total, s.used(), sums)
			}
		}
		for _, h := range held {
			s.giveBack(h.who, h.amount)
		}
		s.wantEmpty(t)
	})
}
