package replica

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pws/journal"
)

// stopLeader stops a leader that has a lease, until goOn is closed. One that is deposed BEFORE that
// goes on, and the next one is stopped.
func (h *hub) stopLeader() (leader *resident, goOn chan struct{}) {
	h.t.Helper()
	h.until("a leader that is stopped", func() bool {
		leader = h.leader()
		j := leader.j.Load()
		if <-leader.put(1).done != nil {
			return false
		}
		if err, _ := leader.read(); err != nil {
			return false
		}
		leases := make(chan bool)
		goOn = make(chan struct{})
		j.calls <- func() { leases <- j.leads(leader.leading()); <-goOn }
		if <-leases {
			return true
		}
		close(goOn)
		return false
	})
	return leader, goOn
}

// TestDeposedLeader stops a leader for a while, as a signal or a busy machine does: it answers no
// read with what was true BEFORE. With a lease that does not end it does, which shows what the
// lease is for.
func TestDeposedLeader(t *testing.T) {
	for _, endless := range []bool{false, true} {
		t.Run(fmt.Sprintf("endless=%v", endless), func(t *testing.T) {
			h := newHub(t, 3, func(o *Options) {
				// The lease is over BEFORE others lead, by the clock of the machine.
				o.ElectionTicks = 50
				if endless {
					o.LeaseFor = time.Hour
				}
			})
			old, goOn := h.stopLeader()
			pending := old.put(11)
			h.until("a write", func() bool { return <-h.leader(old.member).put(12).done == nil })
			err, stale := old.read()
			if endless != (err == nil && stale) {
				t.Errorf("a read: %v, stale: %v", err, stale)
			}
			close(goOn)
			if err := <-pending.done; !errors.Is(err, journal.ErrOutcomeUnknown) {
				t.Errorf("an entry of the reign that ended: %v", err)
			}
			h.until("agreement", h.agree)
		})
	}
}
