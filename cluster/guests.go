package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pws/journal/replica"
)

// unledTicks is for how many clockEvery no leader is known BEFORE a member asks for others.
const unledTicks = 2

// watchLeader has this member take messages of a leader that it does not know. A leader that was
// added while this member was down is in entries that only the leader sends. So the member asks
// those that it knows who the members are, and takes them for members until it has applied those
// entries. One that was removed while it was down is sent nothing any more, and ends.
func (m *Membership) watchLeader() {
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	var guests []replica.Member
	said := false
	for unled := 0; ; {
		select {
		case <-m.network.alive.Done():
			return
		case <-ticker.C:
		}
		own := m.Status()
		switch {
		case own.Leader != 0:
			if unled = 0; guests != nil && replica.Listed(own.Members, own.Leader) {
				guests = nil
				m.network.SetGuests(nil)
			}
			continue
		case own.Removed:
			continue
		}
		if unled++; unled < unledTicks {
			continue
		}
		if !said && unadded(own) {
			said = true
			self := m.Self()
			m.settings.Log.Warn(fmt.Sprintf("this member was not added to the group, and waits for that: "+
				"on a member that was, run pws cluster add %d=%s", self.Number, self.Address),
				"members", own.Members)
		}
		answers := statuses(m.ask(context.Background(), slices.Concat(own.Members, guests)))
		if replica.RemovedAway(own, answers) {
			m.settings.Log.Warn("others say that this member was removed while they did not reach it")
			m.release()
			return
		}
		if found := guestsOf(own, answers); found != nil && !slices.Equal(found, guests) {
			guests = found
			m.settings.Log.Info("others name members that are not known here yet", "members", guests)
			m.network.SetGuests(guests)
		}
	}
}

// unadded reports whether a member has a copy of the data and was not added to the group, as far as
// it knows.
func unadded(own replica.Status) bool {
	return !own.Removed && !replica.Listed(own.Members, own.Member)
}

// guestsOf are the members that a member does not know, by the newest of the answers of others. It
// is nil where none of them has applied more than the member itself. The guests are asked, too: the
// member may have been removed BEFORE they were added.
func guestsOf(own replica.Status, answers []replica.Status) (guests []replica.Member) {
	applied := own.Applied
	for _, s := range answers {
		if s.Applied <= applied {
			continue
		}
		applied, guests = s.Applied, nil
		for _, m := range s.Members {
			if !replica.Listed(own.Members, m.Number) {
				guests = append(guests, m)
			}
		}
	}
	return guests
}
