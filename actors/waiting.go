package actors

import (
	"maps"
	"slices"

	"pws/index/feed"
	"pws/index/wake"
	"pws/internal/id"
	"pws/work"
)

// WaitActivity implements api.Engine.
func (e *Engine) WaitActivity(project, agent id.ID) *wake.Waiter {
	return e.feed.hub.Wait(project, agent)
}

// NewestActivity implements api.Engine.
func (e *Engine) NewestActivity(
	before feed.Position, projects []id.ID, yield func(*feed.Record) feed.Step,
) error {
	if len(projects) == 0 {
		return nil
	}
	e.feed.reach()
	return e.feed.log.Newest(before, projects, yield)
}

// behind is how many durable entries the feed lacks.
func (f *follower) behind() uint64 {
	position := f.position()
	return max(position, f.engine.journal.Durable()) - position
}

// notify wakes those who wait for the projects of records.
func (f *follower) notify(records []feed.Record) {
	projects := map[id.ID]struct{}{}
	for i := range records {
		if project := records[i].Project; f.hub.Awaits(project) {
			projects[project] = struct{}{}
		}
	}
	if len(projects) > 0 {
		f.hub.Notify(slices.Collect(maps.Keys(projects))...)
	}
}

// audience is who learns of a project's activity without having named it: everybody of a PUBLIC
// project, and the members of others. Where that cannot be found all are woken, for they look for
// themselves.
func (e *Engine) audience(project id.ID) (everybody bool, agents []id.ID) {
	p, err := e.Summary(project)
	switch {
	case err != nil || p != nil && p.Visibility == work.Public:
		return true, nil
	case p == nil:
		return false, nil
	}
	members := p.Members()
	agents = make([]id.ID, len(members))
	for i := range members {
		agents[i] = members[i].Agent
	}
	return false, agents
}
