package replica

import (
	"errors"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"pws/journal"
)

// lone is a member of three whose others are the test, on a model of a disk that is sound.
func lone(t *testing.T, listen int) (*server, *Node) {
	t.Helper()
	s := &simulation{t: t, calm: true, known: map[uint64]bool{}, leaders: map[journal.Reign]uint64{}}
	o := s.newServer()
	o.records = s.emptyRecords()
	l, err := Bootstrap(o.records, []uint64{1, 2, 3}, First(0, machineState{}.encode()))
	if err != nil {
		t.Fatal(err)
	}
	n, err := NewNode(Config{
		Member: 1, Log: l, Machine: o, ElectionTicks: 5, HeartbeatTicks: 1, QueueBytesMax: 1 << 20,
		ListenTicks: listen, Logger: quietRaft,
	})
	if err != nil {
		t.Fatal(err)
	}
	return o, n
}

func messageOf(kind raftpb.MessageType, from, term uint64) *raftpb.Message {
	return &raftpb.Message{
		Type: kind.Enum(), From: &from, To: new(uint64(1)), Term: &term, Index: new(uint64(9)),
		LogTerm: &term,
	}
}

func works(t *testing.T, n *Node) (sent []*raftpb.Message) {
	t.Helper()
	if err := n.Work(func(m *raftpb.Message) { sent = append(sent, m) }); err != nil {
		t.Fatal(err)
	}
	return sent
}

// TestMemberThatLostItsEndListensFirst lets a member start that may have lost the end of its log:
// it does not vote, and does not ask for votes, until time has passed or until it has what a newer
// leader has.
func TestMemberThatLostItsEndListensFirst(t *testing.T) {
	votes := func(n *Node, term uint64) bool {
		n.Step(messageOf(raftpb.MsgVote, 2, term))
		for _, m := range works(t, n) {
			if m.GetType() == raftpb.MsgVoteResp && !m.GetReject() {
				return true
			}
		}
		return false
	}
	_, n := lone(t, 20)
	for range 20 {
		if n.Tick(); len(works(t, n)) > 0 {
			t.Error("it asks for votes")
		}
		if n.listens() && votes(n, 2) {
			t.Error("it votes")
		}
	}
	if !votes(n, 2) {
		t.Error("it does not vote AFTER the time")
	}
	_, n = lone(t, 20)
	lead := messageOf(raftpb.MsgApp, 3, 4)
	lead.Index, lead.LogTerm, lead.Commit = new(uint64(1)), new(uint64(1)), new(uint64(1))
	lead.Entries = entriesOf(2, 4, "")
	n.Step(lead)
	works(t, n)
	for range 5 {
		// Raft does not vote while it hears a leader.
		n.Tick()
		works(t, n)
	}
	if n.listens() || !votes(n, 5) {
		t.Error("it does not vote AFTER an entry of a newer term")
	}
	if _, n = lone(t, 0); !votes(n, 2) {
		t.Error("a log that was not cut does not vote")
	}
}

// TestMemberStopsWithoutAcknowledgedEntries has a leader name an entry that the member does not
// have.
func TestMemberStopsWithoutAcknowledgedEntries(t *testing.T) {
	o, n := lone(t, 0)
	beat := messageOf(raftpb.MsgHeartbeat, 2, 3)
	beat.Commit = new(uint64(1))
	n.Step(beat)
	works(t, n)
	beat.Commit = new(uint64(2))
	n.Step(beat)
	err := n.Work(func(*raftpb.Message) { t.Error("it sends") })
	if !errors.Is(err, ErrForgotten) || !errors.Is(err, journal.ErrLatched) || o.reign != 0 {
		t.Error(err)
	}
}

// TestEntriesAreSealed lets time pass AFTER an entry.
func TestEntriesAreSealed(t *testing.T) {
	_, n := lone(t, 0)
	lead := messageOf(raftpb.MsgApp, 3, 1)
	lead.Index, lead.LogTerm, lead.Commit = new(uint64(1)), new(uint64(1)), new(uint64(1))
	lead.Entries = entriesOf(2, 1, "")
	n.Step(lead)
	if works(t, n); n.log.sealed {
		t.Error("each record is sealed")
	}
	for range sealTicks {
		n.Tick()
		works(t, n)
	}
	if !n.log.sealed {
		t.Error("the last record is not sealed")
	}
}
