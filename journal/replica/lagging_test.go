package replica

import (
	"errors"
	"testing"

	"pws/journal"
)

func TestLaggingMember(t *testing.T) {
	cut := make(chan uint64, 3)
	h := newHub(t, 3, func(o *Options) {
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
