package http

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"pws/internal/id"
)

// The bounds of the queue for expensive operations: how many requests may wait in total, of one
// address and network, and of one agent. A quarter of the total is for agents only.
const (
	computingWaiting           = 256
	computingWaitingPerNetwork = 64
	computingWaitingPerAgent   = 16
	computingAgentsOnly        = 4
	// computingWait is how long a request waits in the queue.
	computingWait = 5 * time.Second
)

// computing is the queue of the expensive operations. A few of them run at one time, each in a
// slot. A free slot goes to the network with the fewest running operations, and among equal ones to
// the network that was served the longest ago. Callers within a network are served by the same
// rule. So a caller that has many requests waiting delays the request of another by the operations
// that run, not by those that wait.
type computing struct {
	// queued counts the requests that wait.
	queued shares
	mu     struct {
		sync.Mutex
		free int
		// waiting are in the order of their arrival. There are none while a slot is free.
		waiting  []*slot
		networks map[id.ID]*rank
		callers  map[callerID]*rank
		// served counts the slots given, and the first requests of ranks.
		served uint64
	}
}

// callerID is an agent, or the address of an anonymous caller.
type callerID struct{ agent, address id.ID }

// rank is the place of a network or a caller in the queue. It is kept while it has requests.
type rank struct {
	running, requests int
	// served is when it last got a slot, or when it joined the queue.
	served uint64
}

// slot is the right of one request to run. A request that waits for it has none yet.
type slot struct {
	who             party
	network, caller *rank
	// ready is closed when the slot is given. It is nil if that was at once.
	ready chan struct{}
	given bool
	// bounded says that the request counts among those that may wait.
	bounded bool
}

func (c *computing) init(slots int) {
	c.queued.bounds = bounds{
		total: computingWaiting, address: computingWaitingPerNetwork,
		network: computingWaitingPerNetwork, agent: computingWaitingPerAgent,
		agentsOnly: computingAgentsOnly,
	}
	c.mu.free = slots
	c.mu.networks, c.mu.callers = map[id.ID]*rank{}, map[callerID]*rank{}
}

// enter asks for a slot. A bounded request is refused if too many wait.
func (c *computing) enter(who party, bounded bool) (*slot, shortage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.free == 0 && bounded {
		if short := c.queued.take(who, 1); short != enough {
			return nil, short
		}
	}
	s := &slot{
		who: who, bounded: bounded,
		network: rankOf(c, c.mu.networks, who.network),
		caller:  rankOf(c, c.mu.callers, who.caller()),
	}
	if c.mu.free > 0 {
		c.give(s)
		return s, enough
	}
	s.ready = make(chan struct{})
	c.mu.waiting = append(c.mu.waiting, s)
	return s, enough
}

// leave gives back a slot, or the place of a request that waits for one.
func (c *computing) leave(s *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.given {
		c.mu.free++
		s.network.running--
		s.caller.running--
	} else {
		c.remove(slices.Index(c.mu.waiting, s))
	}
	dropRank(c.mu.networks, s.who.network)
	dropRank(c.mu.callers, s.who.caller())
	for c.mu.free > 0 && len(c.mu.waiting) > 0 {
		next := c.next()
		s := c.mu.waiting[next]
		c.remove(next)
		c.give(s)
		close(s.ready)
	}
}

func (c *computing) give(s *slot) {
	c.mu.free--
	c.mu.served++
	s.given = true
	s.network.running++
	s.caller.running++
	s.network.served, s.caller.served = c.mu.served, c.mu.served
}

// remove takes a request out of those that wait.
func (c *computing) remove(at int) {
	s := c.mu.waiting[at]
	c.mu.waiting = slices.Delete(c.mu.waiting, at, at+1)
	if s.bounded {
		c.queued.giveBack(s.who, 1)
	}
}

// next is the place of the request that gets the next slot.
func (c *computing) next() int {
	best := 0
	for i, one := range c.mu.waiting {
		than := c.mu.waiting[best]
		if cmp.Or(one.network.compare(than.network), one.caller.compare(than.caller)) < 0 {
			best = i
		}
	}
	return best
}

func (r *rank) compare(than *rank) int {
	return cmp.Or(cmp.Compare(r.running, than.running), cmp.Compare(r.served, than.served))
}

// rankOf counts a request of a network or a caller. A new one is served AFTER all others.
func rankOf[K comparable](c *computing, ranks map[K]*rank, key K) *rank {
	r := ranks[key]
	if r == nil {
		c.mu.served++
		r = &rank{served: c.mu.served}
		ranks[key] = r
	}
	r.requests++
	return r
}

func dropRank[K comparable](ranks map[K]*rank, key K) {
	if r := ranks[key]; r.requests > 1 {
		r.requests--
	} else {
		delete(ranks, key)
	}
}

func (p *party) caller() callerID {
	if p.agent.IsZero() {
		return callerID{address: p.address}
	}
	return callerID{agent: p.agent}
}

// counts are the running and the waiting requests.
func (c *computing) counts(slots int) (running, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slots - c.mu.free, len(c.mu.waiting)
}
