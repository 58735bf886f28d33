package replica

import (
	"testing"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// removalOf is what leader 3 of term 1 sends to a lone member: the removal of a member as entry 2,
// and entry 3. Everything up to agreed is agreed on.
func removalOf(t *testing.T, number, agreed uint64) *raftpb.Message {
	t.Helper()
	data, err := proto.Marshal(Change{Kind: Remove, Number: number}.conf())
	if err != nil {
		t.Fatal(err)
	}
	m := messageOf(raftpb.MsgApp, 3, 1)
	m.Index, m.LogTerm, m.Commit = new(uint64(1)), new(uint64(1)), new(agreed)
	m.Entries = entriesOf(2, 1, string(data), "")
	m.Entries[0].Type = raftpb.EntryConfChangeV2.Enum()
	return m
}

// TestRemovedMemberVouches has a removed member refuse its vote to a voter with a shorter log. Its
// answer says that the removal is agreed on.
func TestRemovedMemberVouches(t *testing.T) {
	for _, removed := range []uint64{1, 2} {
		_, n := lone(t, 0)
		n.Step(removalOf(t, removed, 2))
		works(t, n)
		for range 20 {
			n.Tick()
			works(t, n)
		}
		ask := messageOf(raftpb.MsgPreVote, 3, 9)
		ask.Index, ask.LogTerm = new(uint64(2)), new(uint64(1))
		n.Step(ask)
		answered := false
		for _, m := range works(t, n) {
			if m.GetType() != raftpb.MsgPreVoteResp {
				continue
			}
			answered = true
			vouches := m.GetCommit() == 2 && m.GetLogTerm() == 1
			if !m.GetReject() || vouches != (removed == 1) {
				t.Errorf("member %d was removed: %v", removed, m)
			}
		}
		if !answered {
			t.Errorf("member %d was removed: no answer", removed)
		}
	}
}

// TestMemberLearnsARemovalFromTheRemovedOne has a member without a leader learn from a removed one
// that the removal is agreed on. It believes what agrees with its own log.
func TestMemberLearnsARemovalFromTheRemovedOne(t *testing.T) {
	for what, one := range map[string]struct {
		agreed, term uint64
		led, want    bool
	}{
		"the removal":               {2, 1, false, true},
		"an entry of another term":  {2, 2, false, false},
		"an entry it does not have": {9, 1, false, false},
		"a member with a leader":    {2, 1, true, false},
	} {
		_, n := lone(t, 0)
		n.Step(removalOf(t, 2, 1))
		works(t, n)
		for range 20 {
			if !one.led {
				n.Tick()
			}
			works(t, n)
		}
		answer := messageOf(raftpb.MsgPreVoteResp, 2, n.raw.BasicStatus().GetTerm())
		answer.Reject = new(true)
		answer.Commit, answer.LogTerm = new(one.agreed), new(one.term)
		n.Step(answer)
		for _, m := range works(t, n) {
			if m.GetTo() == 0 {
				t.Errorf("%s: an answer to nobody: %v", what, m)
			}
		}
		if got := !Listed(n.Members(), 2); got != one.want {
			t.Errorf("%s: the removal was applied: %v, want %v", what, got, one.want)
		}
		if lead := n.raw.BasicStatus().Lead; (lead == 3) != one.led || lead == 2 {
			t.Errorf("%s: member %d leads", what, lead)
		}
	}
}
