package replica

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"pws/journal"
)

// join adds a member with a copy of the data of another one.
func (h *hub) join(from *resident) *resident {
	h.t.Helper()
	number := uint64(len(h.all()) + 1)
	h.mustChange(Change{AddLearner, number, addressOf(number)})
	h.until("the source to know", func() bool { return from.knows(number, false) })
	r := h.copyOf(from, number)
	r.start()
	return r
}

// copyOf makes a member, which is down, with a copy of the data of another one.
func (h *hub) copyOf(from *resident, number uint64) *resident {
	h.t.Helper()
	r := &resident{hub: h, member: number, dir: h.t.TempDir(), change: from.change}
	descriptor, err := from.j.Load().Descriptor()
	if err != nil {
		h.t.Fatal(err)
	}
	h.until("a copy", func() bool {
		// A file may go while others are copied.
		to := filepath.Join(r.dir, "log")
		return os.RemoveAll(to) == nil &&
			os.CopyFS(to, os.DirFS(filepath.Join(from.dir, "log"))) == nil
	})
	if err := Join(filepath.Join(r.dir, "raft"), r.member, descriptor); err != nil {
		h.t.Fatal(err)
	}
	if err := Join(filepath.Join(r.dir, "raft"), r.member, descriptor); err == nil {
		h.t.Error("it joins twice")
	}
	if err := Join(h.t.TempDir(), from.member, descriptor); !errors.Is(err, ErrNumberUsed) {
		h.t.Errorf("it joins with the number of a voter: %v", err)
	}
	h.mu.Lock()
	h.members = append(h.members, r)
	h.mu.Unlock()
	return r
}

// knows reports whether a member knows another one.
func (r *resident) knows(number uint64, voter bool) bool {
	return slices.Contains(r.j.Load().Status().Members, Member{number, addressOf(number), voter})
}

// mustChange has the leader change the group, whoever it is.
func (h *hub) mustChange(c Change) {
	h.t.Helper()
	h.until("the change", func() bool {
		switch err := h.leader().j.Load().Change(h.t.Context(), c); {
		case err == nil:
			return true
		case errors.Is(err, journal.ErrNotLeading), errors.Is(err, ErrChangePending):
			return false
		default:
			h.t.Fatalf("%+v: %v", c, err)
			return false
		}
	})
}

// writer writes until stop is called.
func (h *hub) writer() (stop func()) {
	end := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for value := uint64(1 << 32); ; value++ {
			select {
			case <-end:
				return
			default:
			}
			all := h.all()
			if err := <-all[value%uint64(len(all))].put(value).done; err != nil {
				pause(h.t.Context())
			}
		}
	})
	return func() { close(end); running.Wait() }
}

// TestMembersComeAndGo replaces all members of a group, one by one, while somebody writes, and
// starts the new ones again.
func TestMembersComeAndGo(t *testing.T) {
	h := newHub(t, 3, nil)
	h.write(1, 100)
	stop := h.writer()
	for old := uint64(1); old <= 3; old++ {
		from := h.members[old-1]
		r := h.join(from)
		h.until("the promotion", func() bool { return r.knows(r.member, true) })
		err := from.j.Load().Change(t.Context(), Change{AddLearner, 50, "new:1"})
		if leads := from.leading() != 0; !leads && !errors.Is(err, journal.ErrNotLeading) {
			t.Errorf("a follower changes the group: %v", err)
		} else if err == nil {
			h.mustChange(Change{Kind: Remove, Number: 50})
		}
		h.mustChange(Change{Kind: Remove, Number: old})
		h.until("the end of what was removed", func() bool { return from.removals.Load() == 1 })
		if from.leading() != 0 || !errors.Is(<-from.put(7).done, journal.ErrNotLeading) {
			t.Error("a member that was removed leads")
		}
		if err, _ := from.read(); !errors.Is(err, journal.ErrNotLeading) {
			t.Errorf("a member that was removed reads: %v", err)
		}
		from.stop()
	}
	stop()
	removed := h.members[0]
	h.mu.Lock()
	h.members = h.members[3:]
	h.mu.Unlock()
	h.until("agreement", h.agree)
	for _, r := range h.members {
		r.stop()
	}
	before := h.newest.Load()
	for _, r := range h.members {
		r.start()
		if r.position() < before {
			t.Errorf("%d comes back with %d, of %d", r.member, r.position(), before)
		}
	}
	h.write(5000, 10)
	h.until("agreement", h.agree)
	want := []Member{{4, addressOf(4), true}, {5, addressOf(5), true}, {6, addressOf(6), true}}
	for _, r := range h.members {
		h.until("the members", func() bool { return slices.Equal(*r.told.Load(), want) })
	}
	removed.start()
	h.until("word of the removal", func() bool { return removed.removals.Load() == 2 })
	removed.stop()
}

// TestRefusedChanges has the errors that only a leader can know.
func TestRefusedChanges(t *testing.T) {
	h := newHub(t, 3, steady)
	leader := h.leader()
	h.mustChange(Change{AddLearner, 4, addressOf(4)})
	change := func(c Change) error { return leader.j.Load().Change(t.Context(), c) }
	if err := change(Change{Kind: Promote, Number: 4}); !errors.Is(err, ErrLagging) {
		t.Errorf("a learner that nobody has heard is promoted: %v", err)
	}
	if err := change(Change{AddLearner, 5, addressOf(4)}); !errors.Is(err, ErrAddressUsed) {
		t.Errorf("an address twice: %v", err)
	}
	away := h.members[leader.member%3]
	away.stop()
	h.until("silence", func() bool {
		// The write waits for the other one, which has to be heard.
		leader.pass()
		leader.mustPut(1, 1)
		return !leader.j.Load().Status().Heard[away.member]
	})
	other := h.members[(leader.member+1)%3]
	if err := change(Change{Kind: Remove, Number: other.member}); !errors.Is(err, ErrNoQuorum) {
		t.Errorf("most of those who are left are away: %v", err)
	}
	if err := change(Change{Kind: Promote, Number: other.member}); err != nil {
		t.Errorf("a voter is promoted: %v", err)
	}
	h.mustChange(Change{Kind: Remove, Number: away.member})
	if err := change(Change{AddLearner, away.member, "new:1"}); !errors.Is(err, ErrNumberUsed) {
		t.Errorf("a number twice: %v", err)
	}
}

// TestJoinWithDescriptorFromBeforeTheAddition has a member join with a descriptor from BEFORE it
// was added, when the others have forgotten what follows it, and have descriptors that do not name
// it.
func TestJoinWithDescriptorFromBeforeTheAddition(t *testing.T) {
	h := newHub(t, 3, func(o *Options) { steady(o); o.KeepBytes = 64 })
	leader := h.leader()
	leader.mustPut(1, 10)
	h.until("agreement", h.agree)
	r := h.copyOf(h.members[leader.member%3], 4)
	value := uint64(10)
	h.until("raft's log to be cut", func() bool {
		value++
		leader.mustPut(value, 1)
		return leader.forgotten() > 30
	})
	r.start()
	h.mustChange(Change{AddLearner, 4, addressOf(4)})
	h.until("the promotion", func() bool { return r.knows(4, true) })
	h.until("agreement", h.agree)
}
