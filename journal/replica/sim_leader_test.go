package replica

import (
	"errors"

	"pws/journal"
)

// transfer has the leader transfer its leadership.
func (s *simulation) transfer() {
	o := s.leader()
	if o == nil || o.away() {
		return
	}
	members := o.node.Members()
	to := members[s.pick(len(members))]
	reported := false
	o.node.Transfer(to.Number, func(err error) {
		switch {
		case reported:
			s.t.Fatalf("%s: the outcome of a transfer to %v is reported twice: %v", s, to, err)
		case err == nil && o.reign == 0:
			s.transfers++
		case errors.Is(err, ErrNotTransferred), errors.Is(err, ErrChangePending),
			errors.Is(err, ErrLagging), errors.Is(err, journal.ErrLatched),
			errors.Is(err, ErrNotVoter) && (!to.Voter || to.Number == o.member):
		default:
			s.t.Fatalf("%s: a transfer to %v: %v, reign %d", s, to, err, o.reign)
		}
		reported = true
	})
	if !o.node.Leases() && !s.trusting {
		o.leased = 0
	}
	o.work()
}

// askLease asks most members whether they still follow a leader. No answer in time is lost.
func (o *server) askLease() {
	if o.token == 0 || o.sim.step-o.asked > o.sim.electionTicks() {
		o.token, o.asked = uint64(o.sim.step), o.sim.step
		o.node.AskRead(o.token)
		o.work()
	}
}

// confirmed is the answer. Whoever has given it votes for no other for electionTicks steps or more
// since the question, because clocks tick once in a step at most.
func (o *server) confirmed(token, _ uint64) {
	if token != o.token {
		return
	}
	o.token = 0
	if o.node.Leases() || o.sim.trusting && o.reign != 0 {
		if o.leased = o.asked + o.sim.electionTicks(); o.leased > o.sim.step {
			o.sim.leased++
		}
	}
}

// checkLeases checks that no other leads while a leader trusts that none does. It may stand still:
// that takes time as well.
func (s *simulation) checkLeases() {
	for _, o := range s.servers {
		if o.leased <= s.step {
			continue
		}
		for _, other := range s.servers {
			if other.reign > o.reign {
				s.t.Fatalf("%s: %d leads reign %d with a lease, and %d leads %d", s, o.member, o.reign,
					other.member, other.reign)
			}
		}
	}
}
