package actors

import (
	"errors"
	"sync"

	"pws/api"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

const (
	// expireAtOnce is how many projects note their claims that ran out at the same time, so that
	// they share the log's fsync.
	expireAtOnce = 64
	// expireRoundMax is how many projects one round of the sweep asks for that at most.
	expireRoundMax = 4096
)

// expireClaims has claims that ran out noted in up to limit projects, behind a place in the order
// of expiry, and returns the place to go on from: the zero one when all were asked. Agents that do
// not look learn of the end this way, and nothing depends on it: a project that fails is passed by
// until the next time.
func (e *Engine) expireClaims(after index.Expiry, limit int) index.Expiry {
	now := e.Now()
	for limit > 0 {
		due, next := e.Indexes(index.ForTasks).Tasks.Due(now, after, min(limit, expireAtOnce))
		if len(due) == 0 {
			return index.Expiry{}
		}
		if !e.expireEach(due) {
			return after
		}
		after = next
		limit -= len(due)
	}
	return after
}

// expireEach reports false where it is of no use to go on now.
func (e *Engine) expireEach(projects []id.ID) (goOn bool) {
	faults := make([]error, len(projects))
	var all sync.WaitGroup
	for i, project := range projects {
		all.Go(func() {
			_, faults[i] = e.Do(api.Order{Project: project, Command: &work.ExpireClaims{}})
		})
	}
	all.Wait()
	goOn = true
	for i, err := range faults {
		if errors.Is(err, api.ErrDamaged) {
			continue // It is logged once.
		}
		switch fault.CodeOf(err) {
		case "":
		case fault.ShuttingDown, fault.StorageUnavailable:
			goOn = false
		default:
			e.log.Warn("cannot record expired claims",
				"project", projects[i].Format(id.Project), "error", err)
		}
	}
	return goOn
}
