package actors

import "slices"

// simReads are the reads of one life of a member.
type simReads struct {
	pending []*simRead
	// leased is the step until which this leader trusts that no other leads: a lease since the step
	// asked, when the newest question had a token.
	leased, asked int
	token         uint64
}

// simRead waits until a member has all that anybody has shown when it began.
type simRead struct {
	token, least uint64
	// index of raft and position of the journal are 0 until they are known.
	index, position uint64
}

// read begins a read. It gets an answer unless messages are lost.
func (j *simJournal) read() {
	s := j.server.sim
	s.tokens++
	j.pending = append(j.pending, &simRead{token: s.tokens, least: s.shown})
	if s.blind {
		j.confirmed(s.tokens, 1)
		return
	}
	j.node.AskRead(s.tokens)
}

// confirmed is the answer of the group. Whoever has given it votes for no other for ElectionTicks
// steps or more since the question, because clocks tick once in a step at most where there are
// leases.
func (j *simJournal) confirmed(token, index uint64) {
	if s := j.server.sim; token == j.token {
		j.token = 0
		if j.node.Leases() {
			j.leased = j.asked + s.electionTicks()
		}
	}
	for _, one := range j.pending {
		if one.token == token {
			one.index = index
		}
	}
}

// answer ends the reads whose entries the machine has, and looks at what they would see.
func (j *simJournal) answer() {
	applied, position := j.node.Applied()
	j.pending = slices.DeleteFunc(j.pending, func(one *simRead) bool {
		if one.index == 0 || one.index > applied {
			return false
		}
		if one.position == 0 {
			one.position = max(1, position)
		}
		shown := j.shown.Load()
		if shown < one.position {
			return false
		}
		if j.server.sim.counts.reads++; shown < one.least {
			j.server.sim.found("member %d reads entry %d, and another has shown %d BEFORE", j.server.member,
				shown, one.least)
		}
		return true
	})
}

// askLease asks most members whether they still follow a leader. No answer in time is lost.
func (o *simServer) askLease() {
	s, j := o.sim, o.life
	if !s.leases || o.away() || j.reign == 0 ||
		j.token != 0 && s.step-j.asked <= s.electionTicks() {
		return
	}
	s.tokens++
	j.token, j.asked = s.tokens, s.step
	j.node.AskRead(j.token)
	o.work()
}

// checkLeases checks that a leader with a lease is the only one, and would not show anything old.
// It may stand still: that takes time as well.
func (s *groupSim) checkLeases() {
	for _, o := range s.servers {
		if o.life == nil || o.life.leased <= s.step {
			continue
		}
		s.counts.leased++
		if o.life.agreed < s.shown {
			s.found("member %d has a lease and entry %d, another has shown %d", o.member, o.life.agreed,
				s.shown)
		}
		for _, other := range s.servers {
			if other.life != nil && other.life.reign > o.life.reign {
				s.found("member %d leads reign %d with a lease, and member %d leads %d", o.member,
					o.life.reign, other.member, other.life.reign)
			}
		}
	}
}
