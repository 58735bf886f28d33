package http

import (
	"time"

	"pws/internal/id"
)

const (
	// refusalsFree is how many requests beyond its limits a caller may send in refusalsSeconds, and
	// have refused at once.
	refusalsFree    = 60
	refusalsSeconds = 60
	// refusalDelay is how long the answer to each further one takes.
	refusalDelay = time.Second
)

// slowDown delays the refusal of a caller that goes on sending requests beyond its limits, and
// closes its connection AFTER it. A flood of refusals would otherwise cost as much processor time
// as one of small reads. The delay costs none: the number of connections of an address bounds how
// many of its refusals are made in a second, and each of them costs the caller another connection.
// What it still sends of a body is not read. Trusted proxies are not delayed, because others use
// their connections.
func (s *Server) slowDown(x *exchange) {
	if !x.overLimit {
		return
	}
	peer, tracked := x.ctx.Conn().(*conn)
	if tracked && peer.peer.exempt {
		return
	}
	owner := x.call.Agent
	if owner.IsZero() {
		owner = networkKey(x.ip)
	}
	if s.refuseAtOnce(owner, x.call.Now) {
		return
	}
	x.ctx.SetConnectionClose()
	x.cutOff = true
	begun := time.Now()
	select {
	case <-s.cfg.after(refusalDelay):
	case <-s.stopping:
	}
	x.waited += time.Since(begun)
}

// refuseAtOnce counts a refusal of an agent or of a network at a time in Unix milliseconds.
func (s *Server) refuseAtOnce(owner id.ID, now int64) bool {
	_, ok := s.refusals.take(s.refusals.keyOf(owner[:]), now*1e6)
	return ok
}
