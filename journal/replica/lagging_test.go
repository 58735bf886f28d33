package replica

import (
	"errors"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"pws/journal"
)

// TestLaggingMember lets a member be away for longer than raft's log of the others: it pulls the
// entries. One that nobody has any more cannot come back, and answers nothing.
func TestLaggingMember(t *testing.T) {
	cut := make(chan uint64, 3)
	h := newHub(t, 3, func(o *Options) {
		steady(o)
		o.KeepBytes, o.OnCut = 64, func(leader uint64) bool { cut <- leader; return true }
	})
	leader := h.leader()
	away := h.members[leader.member%3]
	away.stop()
	leader.mustPut(1, 100)
	value := uint64(100)
	h.until("raft's log to be cut", func() bool {
		value++
		leader.mustPut(value, 1)
		return leader.forgotten() > 100
	})
	away.start()
	h.until("the member that is back", h.agree)
	if err, stale := away.read(); err != nil || stale {
		t.Errorf("a read: %v, %v", err, stale)
	}
	if len(cut) > 0 {
		t.Error("a member lacks entries that others have")
	}
	away.stop()
	for before := value; value < before+30; value++ {
		leader.mustPut(value+1, 1)
		leader.j.Load().Roll()
	}
	leader.mustPut(value+1, 1)
	for _, r := range h.members {
		if j := r.j.Load(); j != nil {
			h.until("all values", func() bool { return r.position() == value+1 })
			j.Roll()
			r.hub.until("the cut", func() bool { return j.CutBefore(value) == nil })
		}
	}
	before := away.position()
	away.start()
	if err, _ := away.read(); !errors.Is(err, journal.ErrNotLeading) || away.position() != before {
		t.Errorf("a member that lacks entries answers: %v", err)
	}
	if from := <-cut; from == 0 || from == away.member {
		t.Errorf("a member lacks entries that %d does not have", from)
	}
}

// TestRollWithEntriesUnderWay has a member roll its logs while raft's log has an entry of which it
// does not know yet that the group has agreed on it. What was in front of that entry has left the
// disk only when the segment has that they share.
func TestRollWithEntriesUnderWay(t *testing.T) {
	h := newHub(t, 3, steady)
	leader := h.leader()
	away := h.members[leader.member%3]
	leader.mustPut(1, 100)
	h.until("agreement", h.agree)
	j := away.j.Load()
	edge, has := j.Durable(), away.ofLog((*Log).last)
	h.divert(func(m *raftpb.Message) bool {
		return m.GetTo() == away.member && m.GetCommit() > has
	})
	leader.mustPut(101, 1)
	h.until("the entry", func() bool { return away.ofLog((*Log).last) > has })
	if j.Durable() != edge {
		t.Fatal("the member knows that the group has agreed on the entry")
	}
	j.Roll()
	h.divert(nil)
	leader.mustPut(102, 1)
	h.until("all values", func() bool { return away.position() == 102 })
	if err := j.CutBefore(edge + 1); err != nil {
		t.Fatal(err)
	}
	if first, record := j.Stats().First, j.records.Stats().First; first <= edge || record == 1 {
		t.Errorf("the oldest entry is %d, not behind %d; the oldest record is %d", first, edge, record)
	}
}
