package replica

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"pws/journal"
)

// mustTransfer has a member lead.
func (h *hub) mustTransfer(to *resident) {
	h.t.Helper()
	h.until("the transfer", func() bool {
		leader := h.leader()
		if leader == to {
			return true
		}
		err := leader.j.Load().Transfer(h.t.Context(), to.member)
		if err != nil && !errors.Is(err, ErrNotTransferred) && !errors.Is(err, ErrChangePending) &&
			!errors.Is(err, journal.ErrNotLeading) {
			h.t.Fatal(err)
		}
		return err == nil
	})
	h.until("its reign", func() bool { return to.leading() != 0 })
}

// TestNewMemberLeadsAfterTransfer lets a new member lead AFTER all others have handed over and
// left. Readers and a writer go on all the time, and nobody reads what is stale.
func TestNewMemberLeadsAfterTransfer(t *testing.T) {
	h := newHub(t, 3, steady)
	h.leader().mustPut(1, 10)
	stop := h.writer()
	r := h.join(h.members[0])
	h.until("the promotion", func() bool { return r.knows(4, true) })
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for _, each := range h.all() {
		readers.Go(func() {
			for ctx.Err() == nil {
				if _, stale := each.read(); stale {
					t.Errorf("%d: a read that is stale", each.member)
				}
				pause(ctx)
			}
		})
	}
	for round := range 8 {
		h.mustTransfer(h.members[round%3])
	}
	for _, each := range h.members[:3] {
		h.mustTransfer(each)
		h.mustTransfer(r)
		h.mustChange(Change{Kind: Remove, Number: each.member})
	}
	cancel()
	readers.Wait()
	stop()
	r.mustPut(1<<40, 10)
	if err, stale := r.read(); err != nil || stale {
		t.Errorf("a read: %v, %v", err, stale)
	}
}

// passUntil lets time pass for a leader without a lease until something has ended, and returns its
// error. Each read waits for other members, which have to answer a leader that counts the time.
func (r *resident) passUntil(result <-chan error) (ended error) {
	r.hub.t.Helper()
	r.hub.until("the end", func() bool {
		select {
		case ended = <-result:
			return true
		default:
		}
		r.pass()
		if err, stale := r.read(); err != nil || stale {
			r.hub.t.Errorf("a read: %v, stale %v", err, stale)
		}
		return false
	})
	return ended
}

// TestTransferFails has the message that asks for an election come late: the leader goes on, with
// what was appended since and without a lease, and has no part in what a new leader does.
func TestTransferFails(t *testing.T) {
	h := newHub(t, 3, steady)
	old := h.leader()
	old.mustPut(1, 10)
	j := old.j.Load()
	to := h.members[old.member%3]
	transfer := func(to uint64) error { return j.Transfer(t.Context(), to) }
	if err := transfer(old.member); !errors.Is(err, ErrNotVoter) {
		t.Errorf("a transfer to itself: %v", err)
	}
	if err := to.j.Load().Transfer(t.Context(), old.member); !errors.Is(err, journal.ErrNotLeading) {
		t.Errorf("a transfer by a follower: %v", err)
	}
	h.until("a lease", func() bool { return j.leads(old.leading()) })
	late := make(chan *raftpb.Message, 10)
	h.divert(func(m *raftpb.Message) bool {
		if m.GetType() == raftpb.MsgTimeoutNow {
			late <- m
			return true
		}
		return false
	})
	result := make(chan error, 1)
	go func() { result <- transfer(to.member) }()
	m := <-late
	reign := old.leading()
	if j.leads(reign) {
		t.Error("the leader has a lease in a transfer")
	}
	if err := transfer(to.member); !errors.Is(err, ErrChangePending) {
		t.Errorf("two transfers at a time: %v", err)
	}
	waits := old.put(11)
	if err := old.passUntil(result); !errors.Is(err, ErrNotTransferred) {
		t.Errorf("a transfer of which the message is lost: %v", err)
	}
	if err := <-waits.done; err != nil {
		t.Errorf("what was appended in the transfer: %v", err)
	}
	for range 20 {
		if err, stale := old.read(); err != nil || stale || j.leads(reign) {
			t.Fatalf("a read AFTER a transfer: %v, %v, lease %v", err, stale, j.leads(reign))
		}
	}
	h.divert(nil)
	stopped, goOn := make(chan struct{}), make(chan struct{})
	j.calls <- func() { close(stopped); <-goOn }
	<-stopped
	to.j.Load().Deliver(m)
	h.leader(old.member).mustPut(12, 10)
	if err, stale := old.read(); !errors.Is(err, journal.ErrNotLeading) {
		t.Errorf("a read of the old leader: %v, stale %v", err, stale)
	}
	close(goOn)
	h.until("agreement", h.agree)
	h.until("a lease of the new leader", func() bool {
		leader := h.leader()
		return leader.j.Load().leads(leader.leading())
	})
}

// TestTransferEnds ends the context of a transfer, and the journal.
func TestTransferEnds(t *testing.T) {
	h := newHub(t, 3, steady)
	leader := h.leader()
	j := leader.j.Load()
	ctx, cancel := context.WithCancel(t.Context())
	// The context ends when the transfer has begun, however long that takes.
	h.divert(func(m *raftpb.Message) bool {
		if m.GetType() != raftpb.MsgTimeoutNow {
			return false
		}
		cancel()
		return true
	})
	err := j.Transfer(ctx, leader.member%3+1)
	if !errors.Is(err, journal.ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ends: %v", err)
	}
	err = j.Change(t.Context(), Change{AddLearner, 4, addressOf(4)})
	if !errors.Is(err, ErrChangePending) {
		t.Errorf("a change in a transfer: %v", err)
	}
	leader.stop()
	if err := j.Transfer(t.Context(), leader.member%3+1); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("a journal that is closed: %v", err)
	}
}

// TestOnlyLeadersAskForElections has a leader ask a member for an election that has not applied a
// change yet. Who does not lead asks in vain.
func TestOnlyLeadersAskForElections(t *testing.T) {
	_, n := lone(t, 0)
	data, err := proto.Marshal(Change{AddLearner, 4, addressOf(4)}.conf())
	if err != nil {
		t.Fatal(err)
	}
	lead := messageOf(raftpb.MsgApp, 3, 1)
	lead.Index, lead.LogTerm, lead.Commit = new(uint64(1)), new(uint64(1)), new(uint64(2))
	lead.Entries = entriesOf(2, 1, string(data))
	lead.Entries[0].Type = raftpb.EntryConfChangeV2.Enum()
	n.Step(lead)
	for _, from := range []uint64{2, 3} {
		n.Step(messageOf(raftpb.MsgTimeoutNow, from, 1))
		asks := slices.ContainsFunc(works(t, n), func(m *raftpb.Message) bool {
			return m.GetType() == raftpb.MsgVote
		})
		if leads := from == 3; asks != leads {
			t.Errorf("asked by %d it asks for votes: %v", from, asks)
		}
		if from == 2 {
			lead.Index, lead.Commit = new(uint64(2)), new(uint64(3))
			lead.Entries = entriesOf(3, 1, string(data))
			lead.Entries[0].Type = raftpb.EntryConfChangeV2.Enum()
			n.Step(lead)
		}
	}
}

// leads has a lone member lead, with the answers of member 2.
func leads(t *testing.T, o *server, n *Node) {
	t.Helper()
	for range 100 {
		n.Tick()
		sent := works(t, n)
		for len(sent) > 0 {
			for _, m := range sent {
				if m.GetTo() == 2 {
					answerAs2(n, m)
				}
			}
			sent = works(t, n)
		}
		if o.reign != 0 {
			return
		}
	}
	t.Fatal("it does not lead")
}

// answerAs2 is what member 2 says to a message: yes.
func answerAs2(n *Node, m *raftpb.Message) {
	kinds := map[raftpb.MessageType]raftpb.MessageType{
		raftpb.MsgPreVote: raftpb.MsgPreVoteResp, raftpb.MsgVote: raftpb.MsgVoteResp,
		raftpb.MsgApp: raftpb.MsgAppResp, raftpb.MsgHeartbeat: raftpb.MsgHeartbeatResp,
	}
	kind, asks := kinds[m.GetType()]
	if !asks {
		return
	}
	answer := messageOf(kind, 2, m.GetTerm())
	answer.Index, answer.Context = new(m.GetIndex()+uint64(len(m.GetEntries()))), m.GetContext()
	n.Step(answer)
}

// TestTransferOnFailingDisk has the disk fail when the other member leads: the reign ends BEFORE
// the transfer is reported, and it is reported with the failure.
func TestTransferOnFailingDisk(t *testing.T) {
	o, n := lone(t, 0)
	leads(t, o, n)
	var outcomes []error
	n.Transfer(2, func(err error) {
		if o.reign != 0 {
			t.Error("the transfer is reported BEFORE the reign ends")
		}
		outcomes = append(outcomes, err)
	})
	works(t, n)
	o.records.dead = true
	n.Step(messageOf(raftpb.MsgApp, 2, n.Status().Term+1))
	err := n.Work(func(m *raftpb.Message) { t.Errorf("it sends %v", m) })
	if !errors.Is(err, errDisk) || len(outcomes) != 1 || !errors.Is(outcomes[0], errDisk) {
		t.Errorf("%v, the transfer: %v", err, outcomes)
	}
}
