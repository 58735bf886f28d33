package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"pws/internal/disk"
	"pws/internal/logformat"
	"pws/journal"
)

// state is the data of a snapshot descriptor: the gate in front of the command that follows, the
// members at that place, and a state of the machine, which may contain the first entries that
// follow.
type state struct {
	gate     journal.Gate
	position uint64
	group    *group
	format   uint64
	machine  []byte
}

// The first byte of the data of a descriptor, whose layout the package doc has. Programs that
// understand logformat.First alone know only that of it.
const (
	stateOfFirst = 1
	stateAgreed  = 2
)

func (s *state) encode() []byte {
	b := []byte{stateOfFirst}
	if s.format > logformat.First {
		b = appendUvarints([]byte{stateAgreed}, s.format)
	}
	b = appendUvarints(b, uint64(s.gate.Reign), s.gate.Position, s.position)
	b = appendUvarints(b, uint64(len(s.group.members)))
	for _, m := range s.group.members {
		b = appendUvarints(b, m.Number, uint64(len(m.Address)))
		b = append(b, m.Address...)
	}
	b = appendUvarints(b, uint64(len(s.group.removed)))
	b = appendUvarints(b, s.group.removed...)
	return append(b, s.machine...)
}

// decodeState decodes the data of a descriptor. Who votes is in the rest of it. Members without an
// address may be missing in the data.
func decodeState(base *raftpb.Snapshot) (state, error) {
	r := reader{disk.NewReader(base.GetData())}
	s := state{format: logformat.First}
	switch version := r.Byte(); {
	case version > stateAgreed:
		return state{}, fmt.Errorf("%w: a descriptor of version %d", ErrNewerFormat, version)
	case version == stateAgreed:
		s.format = r.Uvarint()
	case version != stateOfFirst:
		r.Fail()
	}
	s.gate = journal.Gate{Reign: journal.Reign(r.Uvarint()), Position: r.Uvarint()}
	s.position = r.Uvarint()
	addresses := map[uint64]string{}
	for range r.Count() {
		number := r.Uvarint()
		addresses[number] = r.Text()
	}
	s.group = groupOf(base.GetMetadata().GetConfState(), addresses)
	s.group.removed = r.members()
	if len(addresses) > 0 {
		r.Fail()
	}
	if s.machine = r.Fixed(r.Len()); r.Failed() {
		return state{}, errCommand
	}
	return s, nil
}

// groupOf is the group that raft knows, with addresses, which it takes away.
func groupOf(conf *raftpb.ConfState, addresses map[uint64]string) *group {
	g := &group{}
	for i, numbers := range [][]uint64{conf.GetVoters(), conf.GetLearners()} {
		for _, number := range numbers {
			place, _ := g.find(number)
			m := Member{number, addresses[number], i == 0}
			g.members = slices.Insert(g.members, place, m)
			delete(addresses, number)
		}
	}
	return g
}

// First is the descriptor of what the members of a group begin with: a state of the machine at a
// position, and the addresses of the members, unless nobody asks for them. machine may be nil; see
// Machine.
func First(position uint64, machine []byte, members ...Member) []byte {
	s := state{
		gate: journal.Gate{Position: position}, position: position,
		group: &group{members: members}, machine: machine,
	}
	return s.encode()
}

// restore takes over the gate and the members of a descriptor.
func (n *Node) restore(base *raftpb.Snapshot) error {
	s, err := n.stateOf(base)
	if err != nil {
		return fmt.Errorf("replica: descriptor of %d: %w", base.GetMetadata().GetIndex(), err)
	}
	n.gate, n.group, n.format, n.marks = s.gate, s.group, s.format, nil
	n.applied = base.GetMetadata().GetIndex()
	return nil
}

// describe makes the descriptor of an index that was applied.
func (n *Node) describe(index uint64, at mark, position uint64, machine []byte) (
	*raftpb.Snapshot, error,
) {
	term, err := n.log.Term(index)
	if err != nil {
		return nil, err
	}
	s := state{
		gate: at.gate, position: position, group: at.group, format: at.format, machine: machine,
	}
	return &raftpb.Snapshot{
		Metadata: &raftpb.SnapshotMetadata{Index: &index, Term: &term, ConfState: at.group.conf()},
		Data:     s.encode(),
	}, nil
}

// Compact lets the log forget commands that a state of the machine contains, which is durable and
// of a position that was applied. It does nothing where none can be forgotten. machine may be nil;
// see Machine.
func (n *Node) Compact(position uint64, machine []byte) error {
	if n.failed != nil {
		return n.failed
	}
	keep := len(n.marks)
	for keep > 0 && n.marks[keep-1].gate.Position > position {
		keep--
	}
	if keep == 0 {
		return nil
	}
	index := n.log.base.GetMetadata().GetIndex() + uint64(keep)
	base, err := n.describe(index, n.marks[keep-1], position, machine)
	if err != nil {
		return err
	}
	if err := n.log.Compact(base); err != nil {
		n.fail(err)
		return n.failed
	}
	n.marks = append([]mark(nil), n.marks[keep:]...)
	n.unnamed = false
	return nil
}

// positionOf is the position to compact up to for the log to forget its entries up to an index, or
// up to its last one. It is 0 if they were not applied, or are not durable yet.
func (n *Node) positionOf(index, durable uint64) uint64 {
	base := n.log.base.GetMetadata().GetIndex()
	if index = min(index, n.log.last()); index <= base || index-base > uint64(len(n.marks)) {
		return 0
	}
	if position := n.marks[index-base-1].gate.Position; position <= durable {
		return position
	}
	return 0
}

// NeedsCompact reports whether a member can go on only with a descriptor that is newer than the one
// of the log: with one that names it.
func (n *Node) NeedsCompact() bool { return n.unnamed }

// names reports whether a descriptor is of a group with a member. Raft ignores others.
func names(base *raftpb.Snapshot, member uint64) bool {
	conf := base.GetMetadata().GetConfState()
	return groupOf(conf, map[uint64]string{}).has(member)
}

// Unneeded is the newest position that all members have which the leader has heard lately. It is
// the newest of all on others.
func (n *Node) Unneeded() uint64 {
	least := n.applied
	if n.raw.BasicStatus().RaftState == raft.StateLeader {
		n.raw.WithProgress(func(_ uint64, _ raft.ProgressType, p tracker.Progress) {
			if p.RecentActive {
				least = min(least, p.Match)
			}
		})
	}
	base := n.log.base.GetMetadata().GetIndex()
	if least <= base || len(n.marks) == 0 {
		return 0
	}
	return n.marks[min(least-base, uint64(len(n.marks)))-1].gate.Position
}

// ErrDescriptor: a descriptor is damaged, or not understood.
var ErrDescriptor = errors.New("replica: the descriptor is not understood")

// descriptorSumBytes is the length of the checksum behind a descriptor.
const descriptorSumBytes = 4

// Descriptor describes what this member has applied, for Adopt: the state of the machine with it is
// of a position that is at least the one of the gate.
func (n *Node) Descriptor(position uint64, machine []byte) ([]byte, error) {
	if n.failed != nil {
		return nil, n.failed
	}
	base, err := n.describe(n.applied, n.mark(), position, machine)
	if err != nil {
		return nil, err
	}
	b := (&record{base: base}).encode()
	return binary.LittleEndian.AppendUint32(b, disk.Checksum(b)), nil
}

// decodeDescriptor is the reverse of Descriptor. Errors: ErrDescriptor, ErrNewerFormat.
func decodeDescriptor(b []byte) (*raftpb.Snapshot, state, error) {
	body := len(b) - descriptorSumBytes
	if body < 0 || binary.LittleEndian.Uint32(b[body:]) != disk.Checksum(b[:body]) {
		return nil, state{}, fmt.Errorf("%w: it is damaged", ErrDescriptor)
	}
	rec, err := decodeRecord(b[:body])
	if err != nil || rec.base == nil || rec.hard != nil || len(rec.entries) > 0 {
		return nil, state{}, ErrDescriptor
	}
	s, err := decodeState(rec.base)
	switch {
	case errors.Is(err, ErrNewerFormat):
		return nil, state{}, err
	case err != nil || len(s.group.voters()) == 0:
		return nil, state{}, ErrDescriptor
	}
	return rec.base, s, understood(s.format, logformat.Newest)
}

// Adopt makes empty records those of a member that is added to a group: it goes on from a
// descriptor that another member has made. Errors: ErrDescriptor, ErrNewerFormat, and those of the
// records.
func Adopt(records Records, descriptor []byte) (*Log, error) {
	base, _, err := decodeDescriptor(descriptor)
	if err != nil {
		return nil, err
	}
	return begin(records, &raftpb.HardState{}, base)
}

// reportElections is how many times ElectionTicks may pass until a report is lost.
const reportElections = 4

// resend has a member sent a descriptor again where no report has come of the last one: raft sends
// nothing else to it until then, and what would report may have crashed.
func (n *Node) resend() {
	if n.raw.BasicStatus().RaftState != raft.StateLeader {
		clear(n.awaited)
		return
	}
	var lost []uint64
	n.raw.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if p.State != tracker.StateSnapshot {
			delete(n.awaited, id)
			return
		}
		if n.awaited[id]++; n.awaited[id] > reportElections*n.config.ElectionTicks {
			lost = append(lost, id)
		}
	})
	for _, id := range lost {
		delete(n.awaited, id)
		n.Reported(id, false)
	}
}
