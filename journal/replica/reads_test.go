package replica

import (
	"encoding/binary"
	"sync/atomic"
	"testing"

	"pws/journal"
)

// slow is an entry that the machine of its server has only when it is released.
type slow struct {
	of      *resident
	release chan struct{}
}

// Committed implements journal.Committed.
func (s *slow) Committed(pos uint64, err error) {
	<-s.release
	if err == nil {
		s.of.apply(pos, 1)
	}
}

// TestLeaderShowsWhatOthersShow has an entry that other members show already. A read on the leader,
// which is slow, waits for it.
func TestLeaderShowsWhatOthersShow(t *testing.T) {
	h := newHub(t, 3, steady)
	leader := h.leader()
	follower := h.members[leader.member%3]
	one := &slow{leader, make(chan struct{})}
	payload := binary.LittleEndian.AppendUint64(nil, 1)
	err := leader.j.Load().Append(leader.leading(), journal.Entry{Payload: payload}, one)
	if err != nil {
		t.Fatal(err)
	}
	h.until("the entry on another member", func() bool { return follower.position() == 1 })
	var released atomic.Bool
	waited := make(chan bool, 1)
	go func() {
		j := leader.j.Load()
		begun, err := j.BeginRead()
		shown := released.Load() && leader.position() == 1
		if err == nil {
			err = j.EndRead(begun)
		}
		waited <- shown || err != nil
	}()
	// Give the reader its turn.
	for range 20 {
		if _, err := follower.j.Load().BeginRead(); err != nil {
			t.Fatal(err)
		}
	}
	released.Store(true)
	close(one.release)
	if !<-waited {
		t.Error("the leader does not show what another member shows")
	}
}
