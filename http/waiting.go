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

// seats bound the requests that wait for what others do, streams of events included. Each holds a
// connection with its buffers and a goroutine.
type seats struct {
	max, perAgent, perIP int
	mu                   struct {
		sync.Mutex
		taken   int
		byAgent map[id.ID]int
		byIP    map[id.ID]int
	}
	// streams are those of them that are streams of events, and dropped the streams so far whose
	// readers stood still.
	streams, dropped atomic.Int64
}

// WaitingStats are the numbers of a moment of those who wait.
type WaitingStats struct {
	// Requests wait for what others do, Streams among them.
	Requests, Streams int
	// Dropped is how many streams were given up since the start because nobody read them.
	Dropped int64
}

// Waiting counts those who wait.
func (s *Server) Waiting() WaitingStats {
	s.seats.mu.Lock()
	taken := s.seats.mu.taken
	s.seats.mu.Unlock()
	return WaitingStats{
		Requests: taken, Streams: int(s.seats.streams.Load()), Dropped: s.seats.dropped.Load(),
	}
}

func (s *seats) open(total, perAgent, perIP int) {
	s.max, s.perAgent, s.perIP = total, perAgent, perIP
	s.mu.byAgent, s.mu.byIP = map[id.ID]int{}, map[id.ID]int{}
}

// take takes a seat for a caller; the zero agent is nobody. Errors: RATE_LIMITED.
func (s *seats) take(agent id.ID, ip netip.Addr) (leave func(), err error) {
	address := addressKey(ip)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.taken >= s.max:
		return nil, noSeat("WAITING", "Too many requests wait.", s.max)
	case s.mu.byIP[address] >= s.perIP:
		return nil, noSeat("WAITING_IP", "Too many requests of this address wait.", s.perIP)
	case !agent.IsZero() && s.mu.byAgent[agent] >= s.perAgent:
		return nil, noSeat("WAITING_AGENT", "Too many requests of this agent wait.", s.perAgent)
	}
	s.mu.taken++
	s.mu.byIP[address]++
	if !agent.IsZero() {
		s.mu.byAgent[agent]++
	}
	return func() { s.leave(agent, address) }, nil
}

func noSeat(reason, message string, limit int) error {
	return fault.New(fault.RateLimited, message).With("reason", reason).With("limit", limit).
		With("retry_after_seconds", 1)
}

func (s *seats) leave(agent, address id.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.taken--
	takeOne(s.mu.byIP, address)
	if !agent.IsZero() {
		takeOne(s.mu.byAgent, agent)
	}
}

func takeOne(counts map[id.ID]int, key id.ID) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}

// await waits for data that is not there yet: until it is, or the time, the client or the server is
// at an end. Errors: RATE_LIMITED, and those of the look.
func (s *Server) await(x *exchange, later api.Later) (api.Reply, error) {
	defer later.Stop()
	leave, err := s.seats.take(x.call.Agent, x.ip)
	if err != nil {
		return api.Reply{}, err
	}
	defer leave()
	begun := time.Now()
	defer func() { x.waited += time.Since(begun) }()
	peer, tracked := x.ctx.Conn().(*conn)
	timer := time.NewTimer(min(later.Wait, s.cfg.lookAfter))
	defer timer.Stop()
	for {
		last := false
		select {
		case <-later.Ready:
		case <-s.stopping:
			last = true
		case <-timer.C:
			rest := later.Wait - time.Since(begun)
			last = rest <= 0 || tracked && peer.gone()
			if !last {
				timer.Reset(min(rest, s.cfg.lookAfter))
				continue
			}
		}
		reply, there, err := later.Look(last)
		if there || err != nil {
			if reply.Status == 0 {
				reply.Status = x.route.operation.Statuses[0]
			}
			return reply, err
		}
	}
}
