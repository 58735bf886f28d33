package cluster

import (
	"context"
	"time"
)

// watchFitness keeps this member from leading while its clock is far from that of most members, or
// it does not know the clocks of most, as at the start. It has another member lead whose disk has
// room when its own is nearly full: a leader without room refuses writes. A full member may still
// become the leader, because one that serves reads alone is better than none.
func (m *Membership) watchFitness() {
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	eligible, right, asked := true, true, map[uint64]time.Time{}
	for {
		now := m.network.config.Now()
		behind, knows := m.network.clocks.behindMost(now), m.knowsClocks(now)
		if near := behind.Abs() <= clockLeads; near != right {
			right = near
			m.settings.Log.Warn("a member leads only while its clock is near that of most members",
				"eligible", right, "behind", behind)
		}
		if fit := right && knows; fit != eligible {
			eligible = fit
			if m.journal.SetEligible(m.network.alive, eligible) != nil {
				return
			}
		}
		// What fails is tried again by the next tick.
		switch {
		case !m.Leads():
		case !right:
			m.handOverSoon(0)
		case m.Status().Full:
			if to := m.roomy(asked, time.Now()); to != 0 {
				m.settings.Log.Warn("the disk is nearly full, and another member is asked to lead",
					"member", to)
				m.handOverSoon(to)
			}
		}
		select {
		case <-m.network.alive.Done():
			return
		case <-ticker.C:
		case <-m.network.clocks.news:
		}
	}
}

// knowsClocks reports whether the clocks of most voters are known, this member included.
func (m *Membership) knowsClocks(now time.Time) bool {
	heard := m.network.clocks.ahead(now)
	voters, known := 0, 0
	for _, one := range m.Status().Members {
		if !one.Voter {
			continue
		}
		voters++
		if _, is := heard[one.Number]; is || one.Number == m.settings.Number {
			known++
		}
	}
	return known > voters/2
}

// handOverSoon has another member lead, any if the number is 0, unless that takes too long.
func (m *Membership) handOverSoon(to uint64) {
	ctx, cancel := context.WithTimeout(m.network.alive, clockEvery)
	defer cancel()
	_ = m.handOver(ctx, to)
}

// roomyAgain is how long a member is not asked to lead again because of its disk. Free space goes
// up and down, and a member may have other reasons not to lead.
const roomyAgain = time.Minute

// roomy is the voter, other than this one, that has the most entries of those who say that their
// disks have room and were not asked to lead lately; 0 if there is none. It notes whom it returns.
func (m *Membership) roomy(asked map[uint64]time.Time, now time.Time) (best uint64) {
	most := uint64(0)
	for _, one := range m.Ask() {
		if one.Err != nil || !one.Voter || one.Status.Full || one.Number == m.settings.Number {
			continue
		}
		if at, was := asked[one.Number]; was && now.Sub(at) < roomyAgain {
			continue
		}
		if best == 0 || one.Status.Position > most {
			best, most = one.Number, one.Status.Position
		}
	}
	if best != 0 {
		asked[best] = now
	}
	return best
}
