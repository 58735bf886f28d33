package replica

import (
	"errors"
	"slices"
	"testing"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"pws/internal/logformat"
	"pws/journal"
)

// TestMembersAfterChangesOfAGroup has the members AFTER changes of a group of two, of which one is
// a learner.
func TestMembersAfterChangesOfAGroup(t *testing.T) {
	before, err := beginning(membersOf(1))
	if err == nil {
		before, err = before.after(Change{AddLearner, 2, addressOf(2)})
	}
	for _, number := range []uint64{9, 8} {
		if err == nil {
			before, err = before.after(Change{AddLearner, number, addressOf(number)})
		}
		if err == nil {
			before, err = before.after(Change{Kind: Remove, Number: number})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	one, two, three := membersOf(1)[0], membersOf(2)[1], membersOf(3)[2]
	learner, other := Member{2, two.Address, false}, Member{3, three.Address, false}
	for _, c := range []struct {
		change Change
		want   []Member
		err    error
	}{
		{Change{AddLearner, 3, three.Address}, []Member{one, learner, other}, nil},
		{Change{Kind: Promote, Number: 2}, []Member{one, two}, nil},
		{Change{Kind: Promote, Number: 1}, []Member{one, learner}, nil},
		{Change{Kind: Remove, Number: 2}, []Member{one}, nil},
		{Change{Kind: Remove, Number: 1}, nil, ErrNoQuorum},
		{Change{AddLearner, 1, "new:1"}, nil, ErrNumberUsed},
		{Change{AddLearner, 8, "new:1"}, nil, ErrNumberUsed},
		{Change{AddLearner, 9, "new:1"}, nil, ErrNumberUsed},
		{Change{AddLearner, 3, two.Address}, nil, ErrAddressUsed},
		{Change{AddLearner, 3, ""}, nil, ErrMalformed},
		{Change{AddLearner, 3, string(make([]byte, addressBytesMax+1))}, nil, ErrMalformed},
		{Change{AddLearner, 0, "new:1"}, nil, ErrMalformed},
		{Change{Kind: 9, Number: 1}, nil, ErrMalformed},
		{Change{Kind: Promote, Number: 3}, nil, ErrUnknownMember},
		{Change{Kind: Remove, Number: 9}, nil, ErrUnknownMember},
	} {
		next, err := before.after(c.change)
		if !errors.Is(err, c.err) || err == nil && !slices.Equal(next.members, c.want) {
			t.Errorf("%+v: %+v, %v", c.change, next, err)
		}
		if c.err == nil {
			back, err := changeOf(c.change.conf())
			if err != nil || back != c.change {
				t.Errorf("%+v comes back as %+v, %v", c.change, back, err)
			}
		}
	}
	if !slices.Equal(before.members, []Member{one, learner}) {
		t.Errorf("the group has changed: %+v", before)
	}
}

// TestChangesThatNoLeaderProposes has raft agree on what no leader proposes.
func TestChangesThatNoLeaderProposes(t *testing.T) {
	for _, cc := range []*raftpb.ConfChangeV2{
		{}, {Transition: raftpb.ConfChangeTransitionJointExplicit.Enum()},
		{Changes: []*raftpb.ConfChangeSingle{
			{Type: raftpb.ConfChangeUpdateNode.Enum(), NodeId: new(uint64(1))},
		}},
		{Changes: []*raftpb.ConfChangeSingle{
			{Type: raftpb.ConfChangeRemoveNode.Enum(), NodeId: new(uint64(1))},
			{Type: raftpb.ConfChangeRemoveNode.Enum(), NodeId: new(uint64(2))},
		}},
	} {
		if c, err := changeOf(cc); !errors.Is(err, errCommand) {
			t.Errorf("%v is %v, %v", cc, c, err)
		}
	}
}

// TestDamagedDescriptorsAreRefused reads what was written, and nothing that is damaged.
func TestDamagedDescriptorsAreRefused(t *testing.T) {
	g := &group{
		members: []Member{{2, "two:1", true}, {300, "three:1", false}, {4000, "", true}},
		removed: []uint64{3, 1},
	}
	gate := journal.Gate{Reign: 9, Position: 11}
	s := state{gate: gate, position: 12, group: g, machine: []byte("m")}
	base := &raftpb.Snapshot{
		Metadata: &raftpb.SnapshotMetadata{
			Index: new(uint64(20)), Term: new(uint64(3)), ConfState: g.conf(),
		},
		Data: s.encode(),
	}
	got, err := decodeState(base)
	if err != nil || got.gate != s.gate || got.position != s.position || string(got.machine) != "m" ||
		!slices.Equal(got.group.members, g.members) || !slices.Equal(got.group.removed, g.removed) {
		t.Errorf("%+v comes back as %+v, %v", s, got, err)
	}
	stranger := proto.CloneOf(base)
	stranger.Metadata.ConfState.Learners = nil
	if _, err := decodeState(stranger); !errors.Is(err, errCommand) {
		t.Errorf("the address of no member: %v", err)
	}
	for size := range len(base.GetData()) - 1 {
		short := proto.CloneOf(base)
		short.Data = short.GetData()[:size]
		if _, err := decodeState(short); !errors.Is(err, errCommand) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestLogIsAdoptedFromSoundDescriptors makes a log from a descriptor, and none from one in which a
// byte was changed.
func TestLogIsAdoptedFromSoundDescriptors(t *testing.T) {
	o, n := lone(t, 0)
	descriptor, err := n.Descriptor(0, []byte("m"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := Adopt(o.sim.emptyRecords(), descriptor)
	if err != nil || l.last() != 1 || l.hard.GetVote() != 0 || l.hard.GetCommit() != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	for i := range descriptor {
		changed := slices.Clone(descriptor)
		changed[i]++
		if _, err := Adopt(o.sim.emptyRecords(), changed); !errors.Is(err, ErrDescriptor) {
			t.Errorf("byte %d: %v", i, err)
		}
		if _, err := Adopt(o.sim.emptyRecords(), descriptor[:i]); !errors.Is(err, ErrDescriptor) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
}

func TestDescriptorFormats(t *testing.T) {
	g, err := beginning(membersOf(3))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		format uint64
		first  byte
	}{{logformat.First, 1}, {logformat.Agreed, 2}, {logformat.Newest + 1, 2}} {
		s := state{group: g, format: one.format, machine: []byte("m")}
		data := s.encode()
		base := &raftpb.Snapshot{
			Data: data, Metadata: &raftpb.SnapshotMetadata{ConfState: g.conf()},
		}
		got, err := decodeState(base)
		if err != nil || data[0] != one.first || got.format != one.format {
			t.Errorf("format %d: version %d, format %d, %v", one.format, data[0], got.format, err)
		}
		n := &Node{config: Config{Understands: logformat.Newest}}
		_, err = n.stateOf(base)
		if newer := one.format > logformat.Newest; errors.Is(err, ErrNewerFormat) != newer {
			t.Errorf("format %d: %v", one.format, err)
		}
	}
	if _, err := decodeState(&raftpb.Snapshot{Data: []byte{3}}); !errors.Is(err, ErrNewerFormat) {
		t.Errorf("a descriptor of a later program: %v", err)
	}
}

// TestRemovedMemberEndsByAnswersOfVoters asks whether a removed member may end, by what the voters
// have answered.
func TestRemovedMemberEndsByAnswersOfVoters(t *testing.T) {
	own := Status{Member: 4, Removed: true, Applied: 10, Members: []Member{
		{1, "a:1", true}, {2, "b:1", true}, {3, "c:1", true}, {5, "d:1", false},
	}}
	at := func(member, applied uint64) Status { return Status{Member: member, Applied: applied} }
	for what, one := range map[string]struct {
		answers []Status
		want    bool
	}{
		"nobody answers":          {nil, false},
		"one voter of three":      {[]Status{at(1, 10)}, false},
		"one voter, asked twice":  {[]Status{at(1, 10), at(1, 10)}, false},
		"one is behind":           {[]Status{at(1, 10), at(2, 9)}, false},
		"two voters of three":     {[]Status{at(1, 10), at(3, 11)}, true},
		"one voter and a learner": {[]Status{at(1, 10), at(5, 10)}, false},
		"those it does not know":  {[]Status{at(6, 10), at(7, 10)}, false},
	} {
		if got := Parted(own, one.answers); got != one.want {
			t.Errorf("%s: %v, want %v", what, got, one.want)
		}
	}
	own.Removed = false
	if Parted(own, []Status{at(1, 10), at(2, 10)}) {
		t.Error("one that was not removed parts")
	}
}

// TestMissedRemovalIsDetected asks whether a member was removed that has not applied that.
func TestMissedRemovalIsDetected(t *testing.T) {
	voters := func(numbers ...uint64) (all []Member) {
		for _, number := range numbers {
			all = append(all, Member{number, "a:1", true})
		}
		return all
	}
	own := Status{Member: 4, Applied: 10, Members: voters(1, 2, 4)}
	at := func(member, applied uint64, numbers ...uint64) Status {
		return Status{Member: member, Applied: applied, Members: voters(numbers...)}
	}
	for what, one := range map[string]struct {
		answers []Status
		want    bool
	}{
		"nobody answers":                {nil, false},
		"one of two":                    {[]Status{at(1, 11, 1, 2)}, false},
		"both":                          {[]Status{at(1, 11, 1, 2), at(2, 12, 1, 2)}, true},
		"one is behind":                 {[]Status{at(1, 11, 1, 2), at(2, 9, 1, 2, 4)}, false},
		"one has not applied it":        {[]Status{at(1, 12, 1, 2), at(2, 11, 1, 2, 4)}, false},
		"it was added later":            {[]Status{at(1, 12, 1, 2, 4), at(2, 11, 1, 2)}, false},
		"two of three of a later group": {[]Status{at(1, 20, 1, 2, 5), at(5, 20, 1, 2, 5)}, true},
		"others of a later group":       {[]Status{at(1, 20, 5, 6, 7), at(5, 20, 5, 6, 7)}, false},
		"answers of no later state":     {[]Status{at(1, 10, 1, 2), at(2, 10, 1, 2)}, false},
	} {
		if got := RemovedAway(own, one.answers); got != one.want {
			t.Errorf("%s: %v, want %v", what, got, one.want)
		}
	}
	own.Members = voters(1, 2)
	if RemovedAway(own, []Status{at(1, 11, 1, 2), at(2, 11, 1, 2)}) {
		t.Error("one that was not added yet was removed")
	}
	own.Members, own.Removed = voters(1, 2, 4), true
	if RemovedAway(own, []Status{at(1, 11, 1, 2), at(2, 11, 1, 2)}) {
		t.Error("one that has applied its removal was removed while it was away")
	}
}
