package cluster

import (
	"context"
	"maps"
	"slices"
	"time"

	"pws/journal/replica"
)

// watchFitness keeps this member from leading while its clock is far from that of most members, or
// it does not know the clocks of most, as at the start. It has another member lead whose disk has
// room when its own is nearly full: a leader without room refuses writes. A full member may still
// become the leader, because one that serves reads alone is better than none.
//
// A member whose data is damaged answers what needs that with errors. It has another one lead, too,
// whose data is not known to be damaged, and stands for election only when nobody has led for some
// seconds.
//
// A member without any entry of its group may have lost its data, or the group begins beside the
// data of another member. It leads only where all voters have none, and votes only for one that has
// as much as any other voter, all of which have to be connected.
func (m *Membership) watchFitness() {
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	right, set, asked := true, voting{eligible: true}, map[uint64]time.Time{}
	var waits waiting
	var rests resting
	for {
		now := m.network.config.Now()
		behind := m.network.clocks.behindMost(now)
		if near := behind.Abs() <= clockLeads; near != right {
			right = near
			m.settings.Log.Warn("a member leads only while its clock is near that of most members",
				"eligible", right, "behind", behind)
		}
		votes := m.votes(now)
		status := m.Status()
		rested := rests.note(status.Damaged > 0, status.Leader, time.Now())
		if votes.eligible = votes.eligible && right && !rested; votes != set {
			if set = votes; m.setVoting(set) != nil {
				return
			}
		}
		waits.note(m, now, set.least == replica.Nobody)
		// What fails is tried again by the next tick.
		switch {
		case !m.Leads():
		case !right:
			m.handOverSoon(0)
		case status.Full || status.Damaged > 0:
			m.yieldTo(status, asked, time.Now())
		}
		select {
		case <-m.network.alive.Done():
			return
		case <-ticker.C:
		case <-m.network.clocks.news:
		}
	}
}

// ClockIsNear reports whether most voters, this one included, show about the time of its clock now.
func (m *Membership) ClockIsNear() bool {
	ahead := m.network.clocks.ahead(m.network.config.Now())
	voters, near := 0, 0
	for _, one := range m.Status().Members {
		if !one.Voter {
			continue
		}
		voters++
		if d, known := ahead[one.Number]; one.Number == m.settings.Number ||
			known && d.Abs() <= clockLeads {
			near++
		}
	}
	return near > voters/2
}

// voting is what Journal.SetEligible and SetLeast are called with.
type voting struct {
	eligible bool
	least    replica.Newest
}

func (m *Membership) setVoting(v voting) error {
	err := m.journal.SetEligible(m.network.alive, v.eligible)
	if err == nil {
		err = m.journal.SetLeast(m.network.alive, v.least)
	}
	return err
}

// votes is how this member may take part in elections, by what it knows of the voters.
func (m *Membership) votes(now time.Time) (may voting) {
	status := m.Status()
	own := status.Newest()
	clocks := m.network.clocks.ahead(now)
	// heard are the voters whose clocks are known, said those that have said what they have.
	voters, heard, said := 0, 0, 0
	for _, one := range status.Members {
		if !one.Voter {
			continue
		}
		voters++
		has, known := m.network.clocks.has(one.Number, now)
		_, ticks := clocks[one.Number]
		if one.Number == m.settings.Number {
			has, known, ticks = own, own != replica.Newest{}, true
		}
		if ticks {
			heard++
		}
		if known {
			said++
		}
		if may.least.Before(has) {
			may.least = has
		}
	}
	switch {
	case !status.Unbegun():
		return voting{eligible: heard > voters/2}
	case said < voters || voters == 0:
		return voting{least: replica.Nobody}
	}
	may.eligible = !own.Before(may.least)
	return may
}

// waiting logs that a group does not begin.
type waiting struct{ since, said time.Time }

const (
	// waitingQuiet is how long a group that begins may wait for its members, and waitingAgain how
	// often it is logged AFTER that.
	waitingQuiet = 5 * time.Second
	waitingAgain = time.Minute
)

// note takes whether the member votes for nobody now.
func (w *waiting) note(m *Membership, now time.Time, waits bool) {
	switch {
	case !waits:
		*w = waiting{}
	case w.since.IsZero():
		w.since = now
	case now.Sub(w.since) >= waitingQuiet && now.Sub(w.said) >= waitingAgain:
		w.said = now
		m.settings.Log.Warn("this member has no entry of its group, and waits until all voters are "+
			"connected: one of them may have data", "members", m.Status().Members,
			"connected", slices.Sorted(maps.Keys(m.network.clocks.ahead(now))))
	}
}

// handOverSoon has another member lead, any if the number is 0, unless that takes too long.
func (m *Membership) handOverSoon(to uint64) {
	ctx, cancel := context.WithTimeout(m.network.alive, clockEvery)
	defer cancel()
	_ = m.handOver(ctx, to)
}

// restsMax is how long nobody leads BEFORE a member with damaged data stands for election. Others
// need less, unless none of them can win.
const restsMax = 3 * time.Second

// resting keeps a member with damaged data from elections while others can lead.
type resting struct{ since time.Time }

// note takes whether the data is damaged and who leads, 0 for nobody. It reports whether the member
// must not stand for election now.
func (r *resting) note(damaged bool, leader uint64, now time.Time) bool {
	switch {
	case leader != 0:
		r.since = time.Time{}
	case r.since.IsZero():
		r.since = now
	}
	return damaged && (leader != 0 || now.Sub(r.since) < restsMax)
}

// yieldTo has another member lead whose disk has room, unless this one is the only one that can.
func (m *Membership) yieldTo(own replica.Status, asked map[uint64]time.Time, now time.Time) {
	to := fitter(own.Member, m.Ask(), asked, now)
	if to == 0 {
		return
	}
	asked[to] = now
	if own.Full {
		m.settings.Log.Warn("the disk is nearly full, and another member is asked to lead",
			"member", to)
	} else {
		m.settings.Log.Warn("data of this member is damaged, and another member is asked to lead; "+
			"replace this one", "damaged", own.Damaged, "member", to)
	}
	m.handOverSoon(to)
}

// askAgain is how long a member is not asked to lead again because of the disk or the data of
// another one. Free space goes up and down, and a member may have other reasons not to lead.
const askAgain = time.Minute

// fitter is the voter that shall lead in place of a member whose disk is nearly full, or whose data
// is damaged: the successor among those who have room and were not asked lately. It is 0 if there
// is none.
func fitter(own uint64, all []Asked, asked map[uint64]time.Time, now time.Time) uint64 {
	return successor(own, slices.DeleteFunc(slices.Clone(all), func(one Asked) bool {
		at, was := asked[one.Number]
		return one.Status.Full || was && now.Sub(at) < askAgain
	}))
}
