package actors

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pws/journal/replica"
	"pws/wal"
)

// simServersMax bounds the servers of a simulation, those that were removed included.
const simServersMax = 7

// reform has the leader add a member, or remove one. A voter is left.
func (s *groupSim) reform() {
	o := s.leader()
	if o == nil || o.away() {
		return
	}
	members := o.life.node.Members()
	change := replica.Change{Kind: replica.Remove}
	voters := 0
	for _, one := range members {
		if one.Voter {
			voters++
		}
	}
	if at := s.pick(len(members)); s.pick(2) == 0 && (voters > 1 || !members[at].Voter) {
		change.Number = members[at].Number
	} else {
		change.Kind, change.Number = replica.AddLearner, s.outsider(members)
		change.Address = fmt.Sprint("member-", change.Number)
	}
	if change.Number == 0 {
		return
	}
	o.life.node.Change(change, func(err error) {
		switch {
		case err != nil:
		case change.Kind == replica.Remove:
			s.counts.removed++
		default:
			s.counts.added++
		}
	})
	o.work()
}

// outsider is a server that is no member and was none, 0 without one.
func (s *groupSim) outsider(members []replica.Member) uint64 {
	last := s.servers[len(s.servers)-1]
	if last.records == nil || len(s.servers) == simServersMax {
		for _, one := range members {
			if one.Number == last.member {
				return 0
			}
		}
		if last.records == nil {
			return last.member
		}
		return 0
	}
	o := &simServer{sim: s, member: last.member + 1}
	s.servers = append(s.servers, o)
	return o.member
}

// describe is a descriptor of what a server has applied, nil where it cannot give one now. What it
// describes is durable BEFORE the data is copied.
func (o *simServer) describe() []byte {
	if o.away() {
		return nil
	}
	if o.life.settle(); o.life.failed != nil {
		o.crash()
		return nil
	}
	position := o.life.node.Admitted()
	descriptor, err := o.life.node.Descriptor(position, simState(position))
	if err != nil {
		o.sim.found("member %d has no descriptor: %v", o.member, err)
	}
	return descriptor
}

// join gives a new server a descriptor and the data of another one. It reports false where that
// does not work now.
func (o *simServer) join() bool {
	s := o.sim
	from := s.servers[s.pick(len(s.servers))]
	descriptor := from.describe()
	if descriptor == nil {
		return false
	}
	records := &simRecords{sim: s, first: 1}
	if _, err := replica.Adopt(records, descriptor); err != nil {
		if !errors.Is(err, errSimDisk) {
			s.found("member %d does not join: %v", o.member, err)
		}
		return false
	}
	o.records = records
	o.copyOf(from)
	return true
}

// heal gives a server that lacks entries a descriptor and the data of the member that has cut them,
// as the program does. Another one may have applied less than the leader has cut. What the server
// has voted still counts.
func (o *simServer) heal() {
	s := o.sim
	if o.cutBy == 0 {
		return
	}
	from := s.servers[o.cutBy-1]
	if from.life == nil || from.life.shown.Load() <= o.entries.synced {
		return
	}
	descriptor := from.describe()
	if descriptor == nil {
		return
	}
	o.crash()
	old, made := filepath.Join(s.t.TempDir(), "raft"), filepath.Join(s.t.TempDir(), "raft")
	o.records.writeTo(old)
	err := replica.Renew(made, old, o.member, descriptor)
	switch {
	case err == nil:
		o.records.readFrom(made)
		o.copyOf(from)
		s.counts.heals++
		o.cutBy = 0
	case errors.Is(err, replica.ErrUnknownMember):
	case strings.Contains(err.Error(), "lacks nothing"):
		// Another leader had what it lacked.
		o.cutBy = 0
	default:
		s.found("member %d cannot be renewed: %v", o.member, err)
	}
}

// writeTo makes a log of package wal of the records, and readFrom does the reverse.
func (r *simRecords) writeTo(dir string) {
	log, _, err := wal.Open(wal.Options{Dir: dir, ReserveBytes: -1})
	if err != nil {
		r.sim.t.Fatal(err)
	}
	for _, payload := range r.kept {
		done := make(contentsDone, 1)
		if _, err = log.AppendReserved(slices.Clone(payload), done); err == nil {
			err = <-done
		}
		if err != nil {
			r.sim.t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		r.sim.t.Fatal(err)
	}
}

func (r *simRecords) readFrom(dir string) {
	r.first, r.kept, r.torn = 1, nil, false
	err := wal.Read(dir, 1, func(_ uint64, payload []byte) error {
		r.kept = append(r.kept, slices.Clone(payload))
		return nil
	})
	if err != nil {
		r.sim.t.Fatal(err)
	}
}

// copyOf takes over the data of another server.
func (o *simServer) copyOf(from *simServer) {
	o.dir = crashCopy(o.sim.t, from.dir)
	o.entries = from.life.entries.afterCrash(func(int) int { return 0 })
	o.noteFeed()
}

// release ends a server that was removed, when the others do not need it any more.
func (o *simServer) release() {
	if !o.away() && o.life.node.Released() && o.parted() {
		o.crash()
		o.gone = true
	}
}

// parted reports whether a server that was removed learns from others that they go on without it.
func (o *simServer) parted() bool {
	var answers []replica.Status
	for _, each := range o.sim.servers {
		if !each.away() && !o.sim.isCut(o, each) && !o.sim.isCut(each, o) {
			answers = append(answers, each.life.node.Status())
		}
	}
	return replica.Parted(o.life.node.Status(), answers)
}

// members are the servers that the leader takes for members, nil without a leader.
func (s *groupSim) members() (all []*simServer) {
	if leader := s.leader(); leader != nil {
		for _, one := range leader.life.node.Members() {
			all = append(all, s.servers[one.Number-1])
		}
	}
	return all
}

// agree reports whether all members have all, and none of them waits for its vote.
func (s *groupSim) agree() bool {
	members := s.members()
	for i, o := range members {
		if o.life == nil || o.life.shown.Load() != uint64(len(s.truth)) ||
			!s.leader().life.node.Members()[i].Voter {
			return false
		}
	}
	return len(members) > 0
}
