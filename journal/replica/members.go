package replica

import (
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
)

// Member is a server of a group.
type Member struct {
	// Number is not 0, and is never used for another server.
	Number uint64 `json:"number"`
	// Address is where the others reach it. No two members have the same.
	Address string `json:"address"`
	// Voter is false for a learner: it gets all entries, does not vote, and does not count.
	Voter bool `json:"voter"`
}

// ChangeKind says what a Change does.
type ChangeKind byte

// The kinds of changes.
const (
	// AddLearner adds a learner. The leader promotes it when its log has caught up.
	AddLearner ChangeKind = iota + 1
	// Promote makes a learner a voter.
	Promote
	// Remove removes a member. Its number is never used again.
	Remove
)

// Change is a change of one member of a group.
type Change struct {
	Kind   ChangeKind
	Number uint64
	// Address is that of a member that is added.
	Address string
}

// The errors of changes. The change has no effect then.
var (
	// ErrChangePending: another change or a transfer is under way.
	ErrChangePending = errors.New("replica: another change of the group is under way")
	// ErrNumberUsed: a member has the number, or had it BEFORE it was removed.
	ErrNumberUsed = errors.New("replica: the number is or was that of a member")
	// ErrAddressUsed: another member has the address.
	ErrAddressUsed = errors.New("replica: another member has the address")
	// ErrUnknownMember: no member has the number.
	ErrUnknownMember = errors.New("replica: no member has the number")
	// ErrLagging: the log of the learner has not caught up, or the member was not heard lately.
	ErrLagging = errors.New("replica: the member lags, or was not heard lately")
	// ErrNoQuorum: of the voters that would be there, most were not heard lately.
	ErrNoQuorum = errors.New("replica: most voters that would be left were not heard lately")
	// ErrMalformed: the number is 0, the address is missing or too long, or the kind is none.
	ErrMalformed = errors.New("replica: the change is malformed")
)

// addressBytesMax is the maximum length of an address: a name of DNS and a port.
const addressBytesMax = 300

// group says who the members are. It does not change once it was made, so marks share it.
type group struct {
	// members are in the order of their numbers.
	members []Member
	// removed are the numbers of those that were members, in the order of their removal.
	removed []uint64
}

func (g *group) find(number uint64) (at int, found bool) {
	return slices.BinarySearchFunc(g.members, number, func(m Member, number uint64) int {
		switch {
		case m.Number < number:
			return -1
		case m.Number > number:
			return 1
		}
		return 0
	})
}

func (g *group) has(number uint64) bool {
	_, found := g.find(number)
	return found
}

// hadRemoved reports whether a number was that of a member.
func (g *group) hadRemoved(number uint64) bool { return slices.Contains(g.removed, number) }

// voters are the numbers of the voters, learners those of the others.
func (g *group) voters() []uint64   { return numbersOf(g.members, true) }
func (g *group) learners() []uint64 { return numbersOf(g.members, false) }

func numbersOf(members []Member, voters bool) (all []uint64) {
	for _, m := range members {
		if m.Voter == voters {
			all = append(all, m.Number)
		}
	}
	return all
}

// most reports whether something holds for most of the voters. There is at least one voter then.
func most(voters []uint64, holds func(voter uint64) bool) bool {
	of := 0
	for _, voter := range voters {
		if holds(voter) {
			of++
		}
	}
	return of > len(voters)/2
}

// conf is what raft knows of the group.
func (g *group) conf() *raftpb.ConfState {
	return &raftpb.ConfState{Voters: g.voters(), Learners: g.learners()}
}

// after returns the group AFTER a change. It depends on nothing but the two, so all members decide
// alike. Errors: ErrNumberUsed, ErrAddressUsed, ErrUnknownMember, ErrNoQuorum where no voter would
// be left, ErrMalformed. A voter that is promoted stays one.
func (g *group) after(c Change) (*group, error) {
	at, found := g.find(c.Number)
	next := &group{members: slices.Clone(g.members), removed: g.removed}
	switch {
	case c.Number == 0:
		return nil, ErrMalformed
	case c.Kind == AddLearner:
		return next, next.add(at, c)
	case !found:
		return nil, fmt.Errorf("%w: %d", ErrUnknownMember, c.Number)
	case c.Kind == Promote:
		next.members[at].Voter = true
		return next, nil
	case c.Kind == Remove:
		next.members = slices.Delete(next.members, at, at+1)
		next.removed = append(slices.Clone(g.removed), c.Number)
		if len(next.voters()) == 0 {
			return nil, ErrNoQuorum
		}
		return next, nil
	}
	return nil, ErrMalformed
}

// add adds a learner.
func (g *group) add(at int, c Change) error {
	switch {
	case c.Address == "" || len(c.Address) > addressBytesMax:
		return ErrMalformed
	case g.has(c.Number) || g.hadRemoved(c.Number):
		return fmt.Errorf("%w: %d", ErrNumberUsed, c.Number)
	}
	for _, m := range g.members {
		if m.Address == c.Address {
			return fmt.Errorf("%w: %s is that of %d", ErrAddressUsed, c.Address, m.Number)
		}
	}
	g.members = slices.Insert(g.members, at, Member{Number: c.Number, Address: c.Address})
	return nil
}

// beginning is the group of voters with addresses, or the error why it is none.
func beginning(members []Member) (*group, error) {
	g := &group{}
	for _, m := range members {
		next, err := g.after(Change{AddLearner, m.Number, m.Address})
		if err == nil {
			g, err = next.after(Change{Kind: Promote, Number: m.Number})
		}
		if err != nil {
			return nil, err
		}
	}
	if len(g.members) == 0 {
		return nil, ErrNoQuorum
	}
	return g, nil
}

// conf is a change for raft. Its context is the address.
func (c Change) conf() *raftpb.ConfChangeV2 {
	kind := raftpb.ConfChangeRemoveNode
	switch c.Kind {
	case AddLearner:
		kind = raftpb.ConfChangeAddLearnerNode
	case Promote:
		kind = raftpb.ConfChangeAddNode
	}
	cc := &raftpb.ConfChangeV2{
		Changes: []*raftpb.ConfChangeSingle{{Type: kind.Enum(), NodeId: new(c.Number)}},
	}
	if c.Address != "" {
		cc.Context = []byte(c.Address)
	}
	return cc
}

// changeOf is the reverse of conf.
func changeOf(cc *raftpb.ConfChangeV2) (c Change, err error) {
	if cc.GetTransition() != raftpb.ConfChangeTransitionAuto || len(cc.GetChanges()) != 1 {
		return c, errCommand
	}
	one := cc.GetChanges()[0]
	c.Number, c.Address = one.GetNodeId(), string(cc.GetContext())
	switch one.GetType() {
	case raftpb.ConfChangeAddLearnerNode:
		c.Kind = AddLearner
	case raftpb.ConfChangeAddNode:
		c.Kind = Promote
	case raftpb.ConfChangeRemoveNode:
		c.Kind = Remove
	default:
		return c, errCommand
	}
	return c, nil
}
