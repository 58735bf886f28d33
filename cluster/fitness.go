package cluster

import (
	"context"
	"time"
)

// watchFitness keeps this member from leading while its clock is far from that of most members, and
// has another member lead whose disk has room when its own is nearly full: a leader without room
// refuses writes. A full member may still become the leader, because one that serves reads alone is
// better than none.
func (m *Membership) watchFitness() {
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	eligible := true
	for {
		select {
		case <-m.network.alive.Done():
			return
		case <-ticker.C:
		}
		behind := m.network.clocks.behindMost(m.network.config.Now())
		if right := behind.Abs() <= clockLeads; right != eligible {
			eligible = right
			m.settings.Log.Warn("a member leads only while its clock is near that of most members",
				"eligible", eligible, "behind", behind)
			if m.journal.SetEligible(m.network.alive, eligible) != nil {
				return
			}
		}
		// What fails is tried again by the next tick.
		switch {
		case !m.Leads():
		case !eligible:
			m.handOverSoon(0)
		case m.Status().Full:
			if to := m.roomy(); to != 0 {
				m.settings.Log.Warn("the disk is nearly full, and another member is asked to lead",
					"member", to)
				m.handOverSoon(to)
			}
		}
	}
}

// handOverSoon has another member lead, any if the number is 0, unless that takes too long.
func (m *Membership) handOverSoon(to uint64) {
	ctx, cancel := context.WithTimeout(m.network.alive, clockEvery)
	defer cancel()
	_ = m.handOver(ctx, to)
}

// roomy is the voter, other than this one, that has the most entries of those who say that their
// disks have room; 0 if there is none.
func (m *Membership) roomy() (best uint64) {
	most := uint64(0)
	for _, one := range m.Ask() {
		if one.Err != nil || !one.Voter || one.Status.Full || one.Number == m.settings.Number {
			continue
		}
		if best == 0 || one.Status.Position > most {
			best, most = one.Number, one.Status.Position
		}
	}
	return best
}
