package http

import (
	"sync/atomic"
	"time"

	"pws/api"
	"pws/internal/fault"
)

// waitSlots bound the requests that wait for events, streams included. Each of them holds a
// connection with its buffers and a goroutine.
type waitSlots struct {
	shares
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
	return WaitingStats{
		Requests: int(s.slots.used()), Streams: int(s.slots.streams.Load()),
		Dropped: s.slots.dropped.Load(),
	}
}

// waitNetworkPart is the part of all slots that one network may have, as a divisor.
const waitNetworkPart = 2

func (s *waitSlots) init(total, perAgent, perIP int) {
	s.bounds = bounds{
		total: int64(total), address: int64(perIP), agent: int64(perAgent),
		network: int64(max(perIP, total/waitNetworkPart)),
	}
}

// acquire takes a slot for a caller. Errors: RATE_LIMITED.
func (s *waitSlots) acquire(who party) (release func(), err error) {
	switch s.take(who, 1) {
	case shortTotal:
		return nil, noSlot("WAITING", "Too many requests wait.", s.total)
	case shortAddress:
		return nil, noSlot("WAITING_IP", "Too many requests of this address wait.", s.address)
	case shortAgent:
		return nil, noSlot("WAITING_AGENT", "Too many requests of this agent wait.", s.agent)
	case enough:
	}
	return func() { s.giveBack(who, 1) }, nil
}

func noSlot(reason, message string, limit int64) error {
	return fault.New(fault.RateLimited, message).With("reason", reason).With("limit", limit).
		With("retry_after_seconds", 1)
}

// await waits for a reply until it is ready, the time is over, the client has left, or the server
// stops. Errors: RATE_LIMITED, and those of the reply.
func (s *Server) await(x *exchange, later api.Deferred) (api.Reply, error) {
	defer later.Stop()
	release, err := s.slots.acquire(x.party())
	if err != nil {
		return api.Reply{}, err
	}
	defer release()
	x.computed.pause()
	begun := time.Now()
	defer func() { x.waited += time.Since(begun) }()
	peer, tracked := x.ctx.Conn().(*conn)
	timer := time.NewTimer(min(later.Wait, s.cfg.clientCheck))
	defer timer.Stop()
	for {
		last := false
		select {
		case <-later.Ready():
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
