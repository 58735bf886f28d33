package replica

import (
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3/raftpb"

	"pws/internal/logformat"
	"pws/journal"
)

// serversMax bounds the servers of a simulation, those that were removed included.
const serversMax = 9

// newServer adds a server that has nothing on its disk, and is no member yet.
func (s *simulation) newServer() *server {
	o := &server{sim: s, member: uint64(len(s.servers) + 1), understands: logformat.First}
	s.servers = append(s.servers, o)
	return o
}

func (s *simulation) emptyRecords() *modelRecords {
	return &modelRecords{sim: s, first: 1, shadow: &Log{hard: &raftpb.HardState{}}}
}

// join gives a new server the descriptor of one server, and the state of that or another one, which
// may be newer. It reports false where that does not work now.
func (o *server) join() bool {
	s := o.sim
	from := s.servers[s.pick(len(s.servers))]
	if from.node == nil || from.resume != nil {
		return false
	}
	o.install(from.node.Format())
	descriptor, err := from.node.Descriptor(from.current.position, from.current.encode())
	if err != nil {
		s.t.Fatalf("%s: descriptor of %d: %v", s, from.member, err)
	}
	records, copied := s.emptyRecords(), from.current
	for _, each := range s.servers {
		if each.node != nil && each.current.position > copied.position && s.pick(2) == 0 {
			copied = each.current
		}
	}
	if _, err := Adopt(records, descriptor); errors.Is(err, errDisk) {
		return false
	} else if err != nil {
		s.t.Fatalf("%s: %d: %v", s, o.member, err)
	}
	o.records, o.saved = records, copied
	s.joins++
	return true
}

// install has a server that is no member get a program that understands a format, as whoever adds
// members does.
func (o *server) install(format uint64) {
	if format > o.understands {
		o.stop()
		o.understands = format
	}
}

// reform has the leader change its group.
func (s *simulation) reform() {
	o := s.leader()
	if o == nil || o.away() {
		return
	}
	members := o.node.Members()
	c := Change{Kind: Remove, Number: members[s.pick(len(members))].Number}
	switch kind := s.pick(8); {
	case kind < 4:
		c.Kind, c.Number = AddLearner, s.outsider(o)
		c.Address = addressOf(c.Number)
		if c.Number != 0 {
			s.servers[c.Number-1].install(o.node.Format())
		}
	case kind < 5:
		c.Kind = Promote
	case kind < 6:
		c.Number = o.member
	}
	if c.Number != 0 {
		s.change(o, c)
		o.work()
	}
}

// outsider is a server that is no member, 0 without one.
func (s *simulation) outsider(leader *server) uint64 {
	for _, o := range s.servers {
		if !leader.node.group.has(o.member) && s.pick(4) > 0 {
			return o.member
		}
	}
	if len(s.servers) == serversMax {
		return 0
	}
	return s.newServer().member
}

// change changes the group, and checks the outcome.
func (s *simulation) change(o *server, c Change) {
	node, reign, used := o.node, o.reign, o.node.group.hadRemoved(c.Number)
	reported := false
	o.node.Change(c, func(err error) {
		at, found := node.group.find(c.Number)
		switch {
		case reported:
			s.t.Fatalf("%s: the outcome of %v is reported twice: %v", s, c, err)
		case err == nil && c.Kind == Remove && c.Number == o.member:
			s.abdications++
		case err == nil && o.reign != reign, err == nil && used,
			err == nil && found == (c.Kind == Remove),
			err == nil && c.Kind == Promote && !node.group.members[at].Voter:
			s.t.Fatalf("%s: AFTER %v the members are %v, reign %d", s, c, node.Members(), o.reign)
		case err == nil, errors.Is(err, ErrChangePending), errors.Is(err, ErrNoQuorum),
			errors.Is(err, ErrLagging), errors.Is(err, ErrNumberUsed) && used,
			errors.Is(err, journal.ErrOutcomeUnknown), errors.Is(err, journal.ErrLatched):
		default:
			s.t.Fatalf("%s: %v: %v", s, c, err)
		}
		if reported = true; err == nil {
			s.changes++
		}
	})
}

// parted reports whether a server that was removed learns from others that they go on without it.
func (s *simulation) parted(o *server) bool {
	var answers []Status
	for _, each := range s.servers {
		cut := s.cut[[2]uint64{o.member, each.member}] || s.cut[[2]uint64{each.member, o.member}]
		if each.node != nil && !each.away() && !cut {
			answers = append(answers, each.node.Status())
		}
	}
	return Parted(o.node.Status(), answers)
}

// checkGroups checks that all who have applied the same have the same members.
func (s *simulation) checkGroups() {
	for _, o := range s.servers {
		if o.node == nil || o.resume != nil {
			continue
		}
		index, _ := o.node.Applied()
		known, ok := s.groups[index]
		if !ok {
			s.groups[index] = o.node.group
			continue
		}
		if g := o.node.group; !slices.Equal(g.members, known.members) ||
			!slices.Equal(g.removed, known.removed) {
			s.t.Fatalf("%s: AFTER %d members are %v for %d, and %v", s, index, g, o.member, known)
		}
	}
}

// leader is the server that leads the newest reign, nil without one.
func (s *simulation) leader() (found *server) {
	for _, o := range s.servers {
		if o.reign != 0 && (found == nil || o.reign > found.reign) {
			found = o
		}
	}
	return found
}

// agree reports whether all members have all, and no learner waits.
func (s *simulation) agree() bool {
	leader := s.leader()
	if leader == nil || leader.current.position < uint64(len(s.truth)) {
		return false
	}
	if s.raisable(leader) && leader.node.Format() != logformat.Newest {
		return false
	}
	for _, m := range leader.node.Members() {
		o := s.servers[m.Number-1]
		if o.node == nil || o.node.Format() != leader.node.Format() || !m.Voter ||
			o.current.position != leader.current.position ||
			!slices.Equal(o.node.Members(), leader.node.Members()) {
			return false
		}
	}
	return true
}

// standing says how all servers stand.
func (s *simulation) standing() (text string) {
	for _, o := range s.servers {
		if o.node != nil {
			text += fmt.Sprintf("\n%+v %s", o.node.Status(), o.node.group.conf())
		}
	}
	return text
}
