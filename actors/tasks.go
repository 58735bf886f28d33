package actors

import (
	"math"

	"pws/api"
	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// asStored reads tasks as they are stored, for the index knows of expiry itself.
const asStored = math.MinInt64

// PublicTasks implements api.Engine.
func (e *Engine) PublicTasks(
	status work.TaskStatus, after api.TaskPosition, limit int,
) []api.TaskPlace {
	places := e.tasks.Public(status, e.Now(), index.TaskPosition(after), limit)
	found := make([]api.TaskPlace, len(places))
	for at, place := range places {
		found[at] = api.TaskPlace{
			TaskPosition: api.TaskPosition(place.TaskPosition), Project: place.Project,
		}
	}
	return found
}

// OwnWork implements api.Engine.
func (e *Engine) OwnWork(agent id.ID) []id.ID { return e.tasks.Own(agent, e.Now()) }

// followTasks tells the index what events have changed. It reports whether they have changed
// anything that the index keeps of a project.
func (e *Engine) followTasks(before, next *work.Project, events []work.Event) (changed bool) {
	audience := before != nil && before.Version != next.Version
	changed = audience
	for _, event := range events {
		task, ok := work.TaskOf(event)
		if !ok {
			continue
		}
		changed = true
		stored, _ := next.Task(task, asStored)
		if stored.Status.Final() {
			e.tasks.Drop(next.ID, task)
			continue
		}
		audience = e.tasks.Put(next.ID, taskEntry(stored)) || audience
	}
	if audience && e.tasks.Has(next.ID) {
		e.tasks.SetAudience(next.ID, next.Visibility == work.Public, membersOf(next))
	}
	return changed
}

func taskEntry(stored *work.Task) index.TaskEntry {
	entry := index.TaskEntry{
		Task: stored.ID, Priority: stored.Spec.Priority, Status: stored.Status,
	}
	if stored.Claim != nil {
		entry.Until = stored.Claim.ExpiresAt
		entry.Then = stored.At(entry.Until).Status
	}
	return entry
}

// membersOf are the members where it matters who they are.
func membersOf(p *work.Project) []id.ID {
	if p.Visibility == work.Public {
		return nil
	}
	members := p.Members()
	agents := make([]id.ID, len(members))
	for at := range members {
		agents[at] = members[at].Agent
	}
	return agents
}
