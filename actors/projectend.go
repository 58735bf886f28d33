package actors

import (
	"errors"
	"time"

	"pws/api"
	"pws/identity"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

const (
	// dropEndedAtOnce is how many deleted projects leave the disk together.
	dropEndedAtOnce = identity.DropsMax / 2
	// dropEndedEvery is how much later deleted projects leave the disk again, in milliseconds: all
	// packs are written again for it.
	dropEndedEvery = 3_600_000
	// endedReason is the reason of the removal of a project that its owner has deleted.
	endedReason = "deleted by its owner"
)

// endLoop drops deleted projects some time after they ended, and goes on with erasures that failed.
func (r *eraser) endLoop() {
	e := r.engine
	defer e.stopped.Done()
	tick := time.NewTicker(e.config.SweepEvery)
	defer tick.Stop()
	next := int64(0)
	for {
		select {
		case <-e.stop:
			return
		case <-tick.C:
			// Projects that the index does not know after a start are loaded by the next snapshot.
			stale := e.projections.stale.sets.Load()&uint32(index.ForMemberships) != 0
			leads := e.leading() != 0
			if now := e.Now(); leads && !stale && now >= next && r.dropEnded() {
				next = now + dropEndedEvery
			}
		}
	}
}

// dropEnded drops the deleted projects that cannot be restored any more from the disk, and reports
// whether there were any. What fails is tried again by the next call, and by the next start. So is
// what an operator has purged or removed: BEFORE the others, because the index does not name a
// project that was removed.
func (r *eraser) dropEnded() (any bool) {
	if r.erasureDue() {
		if err := r.resumeErasure(); err != nil {
			r.logErasure(err)
			return true
		}
		any = true
	}
	for {
		notes := r.endedProjects(dropEndedAtOnce)
		if len(notes) == 0 {
			return any
		}
		any = true
		if err := r.engine.DropProjects(notes...); err != nil {
			r.logErasure(err)
			return any
		}
		r.engine.log.Info("dropped deleted projects", "count", len(notes))
	}
}

// logErasure logs why an erasure that nobody waits for has failed.
func (r *eraser) logErasure(err error) {
	if fault.CodeOf(err) != fault.ShuttingDown {
		r.engine.log.Error("cannot erase what was purged, removed or deleted; it is tried again later",
			"error", err)
	}
}

// endedProjects returns deleted projects that cannot be restored any more, up to a number, and
// first those that ended first. Those that cannot be read now do not count: the ones behind them
// are returned.
func (r *eraser) endedProjects(most int) (notes []*identity.DropProject) {
	now, seen := r.engine.Now(), 0
	for {
		due := r.engine.Indexes(index.ForMemberships).Memberships.Ended(now, seen+most-len(notes))
		if len(due) <= seen {
			return notes
		}
		for _, project := range due[seen:] {
			if r.hasEnded(project, now) {
				notes = append(notes, &identity.DropProject{Project: project, Reason: endedReason})
			}
		}
		seen = len(due)
	}
}

// hasEnded reports whether a project cannot be restored any more. No order that restores it is in
// flight then, and none can come: the clock never goes back.
func (r *eraser) hasEnded(project id.ID, now int64) bool {
	// The answer waits for the orders before.
	settled, err := r.engine.Do(api.Order{Project: project, Command: new(work.ExpireClaims)})
	if errors.Is(err, api.ErrDamaged) {
		return false // It is logged once. In a group another server leads soon.
	}
	if err != nil {
		r.engine.log.Warn("cannot drop deleted project",
			"project", project.Format(id.Project), "error", err)
		return false
	}
	end := settled.Project.End()
	return end != nil && end.Until() <= now
}
