package http

import (
	"net/netip"
	"sync"

	"pws/internal/id"
)

// party is who holds a part of something that all callers share. Its address is that of IPv4, or
// the /64 of IPv6, which is what one customer has. Its network is the /48 of IPv6, which is what
// one customer can get; for IPv4 it equals the address.
type party struct {
	address, network id.ID
	// agent is zero for an anonymous caller.
	agent id.ID
	// exempt is for trusted proxies, which are many callers. Only the total bounds them.
	exempt bool
}

// partyOf is the party of an agent, which may be zero, at an address.
func partyOf(ip netip.Addr, agent id.ID) party {
	return party{address: addressKey(ip), network: networkKey(ip), agent: agent}
}

func (x *exchange) party() party { return partyOf(x.ip, x.call.Agent) }

// bounds are how much of one kind parties may hold: all together, one address, one network and one
// agent. Zero means no bound.
type bounds struct {
	total, address, network, agent int64
	// agentsOnly is the part of the bounds of total, address and network that anonymous callers may
	// not use, as a divisor. Zero means none.
	agentsOnly int64
}

// shortage says which bound a party would exceed.
type shortage uint8

const (
	enough shortage = iota
	shortTotal
	// shortAddress is for the bounds of an address and of its network.
	shortAddress
	shortAgent
)

// shares count what parties hold of one kind. All that is taken is given back by the same party.
// The zero value has no bounds.
type shares struct {
	bounds
	mu struct {
		sync.Mutex
		used                       int64
		address, network, ofAgents map[id.ID]int64
	}
}

// take takes an amount for a party, or nothing if that would exceed a bound.
func (s *shares) take(who party, amount int64) shortage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if short := s.short(&who, amount); short != enough {
		return short
	}
	s.add(&who, amount)
	return enough
}

// force takes an amount even if that exceeds a bound.
func (s *shares) force(who party, amount int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(&who, amount)
}

// giveBack returns an amount that the party has taken.
func (s *shares) giveBack(who party, amount int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(&who, -amount)
}

// used is what all parties hold.
func (s *shares) used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.used
}

// addressBound is the bound that keeps an address from more: its own, or that of its network.
func (s *shares) addressBound(who party) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.address[who.address] < s.address {
		return s.network
	}
	return s.address
}

func (s *shares) short(who *party, amount int64) shortage {
	exceeds := func(used, bound int64) bool {
		if who.agent.IsZero() && s.agentsOnly > 0 {
			bound -= bound / s.agentsOnly
		}
		return bound > 0 && used+amount > bound
	}
	switch {
	case exceeds(s.mu.used, s.total):
		return shortTotal
	case who.exempt:
	case exceeds(s.mu.address[who.address], s.address),
		exceeds(s.mu.network[who.network], s.network):
		return shortAddress
	case !who.agent.IsZero() && s.agent > 0 && s.mu.ofAgents[who.agent]+amount > s.agent:
		return shortAgent
	}
	return enough
}

func (s *shares) add(who *party, amount int64) {
	s.mu.used += amount
	if s.mu.address == nil {
		s.mu.address, s.mu.network = map[id.ID]int64{}, map[id.ID]int64{}
		s.mu.ofAgents = map[id.ID]int64{}
	}
	if who.exempt {
		return
	}
	addTo(s.mu.address, who.address, amount)
	addTo(s.mu.network, who.network, amount)
	if !who.agent.IsZero() {
		addTo(s.mu.ofAgents, who.agent, amount)
	}
}

// addTo keeps no entry of zero, so that a map is as large as what is held.
func addTo(counts map[id.ID]int64, key id.ID, amount int64) {
	if now := counts[key] + amount; now != 0 {
		counts[key] = now
	} else {
		delete(counts, key)
	}
}
