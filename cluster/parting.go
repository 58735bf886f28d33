package cluster

import (
	"time"

	"pws/journal/replica"
)

// partEvery is how often a member that was removed asks whether the others go on without it.
const partEvery = time.Second

// removed is called once this member was removed and others have not needed it for a while.
func (m *Membership) removed() { m.network.running.Go(m.part) }

// part waits until most voters have applied the removal of this member, and says so. One that is
// down, or does not reach this member, may need its vote later to agree on the removal.
func (m *Membership) part() {
	ticker := time.NewTicker(partEvery)
	defer ticker.Stop()
	for waits := false; !m.parted(); waits = true {
		if !waits {
			m.settings.Log.Warn("this member was removed, and goes on until most others have applied that")
		}
		select {
		case <-m.network.alive.Done():
			return
		case <-ticker.C:
		}
	}
	m.release()
}

// release has the server end. The member may learn of its removal in two ways at once.
func (m *Membership) release() { m.released.Do(m.settings.Removed) }

// parted asks the others whether they go on without this member.
func (m *Membership) parted() bool {
	return replica.Parted(m.Status(), statuses(m.Ask()))
}

// statuses are those of the members that have answered.
func statuses(answers []Asked) (all []replica.Status) {
	for _, one := range answers {
		if one.Err == nil {
			all = append(all, one.Status)
		}
	}
	return all
}
