package replica

import (
	"errors"
	"path/filepath"
	"testing"
)

// TestMemberOfOtherHistoryEnds has a member start over without its data, which the README forbids,
// and elect another one that lacks what the first two had acknowledged. The member that has it
// finds that the group goes on with other entries, and ends.
func TestMemberOfOtherHistoryEnds(t *testing.T) {
	h := newHub(t, 3, steady)
	leader := h.leader()
	leader.mustPut(1, 10)
	h.until("agreement", h.agree)
	emptied, behind := h.members[leader.member%3], h.members[(leader.member+1)%3]
	behind.stop()
	leader.mustPut(11, 2)
	leader.stop()
	emptied.stop()

	emptied.dir = t.TempDir()
	if err := Begin(filepath.Join(emptied.dir, "raft"), membersOf(3), 0); err != nil {
		t.Fatal(err)
	}
	emptied.start()
	behind.start()
	other := h.leader(leader.member)
	h.until("the entries", func() bool { return emptied.position() == 10 })
	other.mustPut(101, 2)
	leader.start()
	h.until("the end of the member", func() bool { return leader.failed.Load() != nil })
	err := *leader.failed.Load()
	if !errors.Is(err, ErrOtherHistory) && !errors.Is(err, ErrForgotten) {
		t.Error(err)
	}
}
