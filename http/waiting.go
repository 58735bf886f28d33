package http

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
)

// waitSlots bound the requests that wait for events, streams included. Each of them holds a
// connection with its buffers and a goroutine.
type waitSlots struct {
	max, perAgent, perIP int
	mu                   struct {
		sync.Mutex
		taken   int
		byAgent map[id.ID]int
		byIP    map[id.ID]int
	}
	// streams counts the slots of streams. dropped counts the streams that ended because their reader
	// stalled.
	streams, dropped atomic.Int64
}

// WaitingStats are numbers of waiting requests.
type WaitingStats struct {
	// Requests wait now, with Streams among them.
	Requests, Streams int
	// Dropped streams ended since the start because their reader stalled.
	Dropped int64
}

// Waiting counts the waiting requests.
func (s *Server) Waiting() WaitingStats {
	s.slots.mu.Lock()
	taken := s.slots.mu.taken
	s.slots.mu.Unlock()
	return WaitingStats{
		Requests: taken, Streams: int(s.slots.streams.Load()), Dropped: s.slots.dropped.Load(),
	}
}

func (s *waitSlots) init(total, perAgent, perIP int) {
	s.max, s.perAgent, s.perIP = total, perAgent, perIP
	s.mu.byAgent, s.mu.byIP = map[id.ID]int{}, map[id.ID]int{}
}

// acquire takes a slot for a caller; the agent is zero for an anonymous one. Errors: RATE_LIMITED.
func (s *waitSlots) acquire(agent id.ID, ip netip.Addr) (release func(), err error) {
	address := addressKey(ip)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.taken >= s.max:
		return nil, noSlot("WAITING", "Too many requests wait.", s.max)
	case s.mu.byIP[address] >= s.perIP:
		return nil, noSlot("WAITING_IP", "Too many requests of this address wait.", s.perIP)
	case !agent.IsZero() && s.mu.byAgent[agent] >= s.perAgent:
		return nil, noSlot("WAITING_AGENT", "Too many requests of this agent wait.", s.perAgent)
	}
	s.mu.taken++
	s.mu.byIP[address]++
	if !agent.IsZero() {
		s.mu.byAgent[agent]++
	}
	return func() { s.release(agent, address) }, nil
}

func noSlot(reason, message string, limit int) error {
	return fault.New(fault.RateLimited, message).With("reason", reason).With("limit", limit).
		With("retry_after_seconds", 1)
}

func (s *waitSlots) release(agent, address id.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.taken--
	decrement(s.mu.byIP, address)
	if !agent.IsZero() {
		decrement(s.mu.byAgent, agent)
	}
}

func decrement(counts map[id.ID]int, key id.ID) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}

// await waits for a reply until it is ready, the time is over, the client has left, or the server
// stops. Errors: RATE_LIMITED, and those of the reply.
func (s *Server) await(x *exchange, later api.Deferred) (api.Reply, error) {
	defer later.Stop()
	release, err := s.slots.acquire(x.call.Agent, x.ip)
	if err != nil {
		return api.Reply{}, err
	}
	defer release()
	begun := time.Now()
	defer func() { x.waited += time.Since(begun) }()
	peer, tracked := x.ctx.Conn().(*conn)
	timer := time.NewTimer(min(later.Wait, s.cfg.clientCheck))
	defer timer.Stop()
	for {
		last := false
		select {
		case <-later.Ready:
		case <-s.stopping:
			last = true
		case <-timer.C:
			rest := later.Wait - time.Since(begun)
			last = rest <= 0 || tracked && peer.peerClosed()
			if !last {
				timer.Reset(min(rest, s.cfg.clientCheck))
				continue
			}
		}
		reply, ready, err := later.Look(last)
		if ready || err != nil {
			if reply.Status == 0 {
				reply.Status = x.route.operation.Statuses[0]
			}
			return reply, err
		}
	}
}
