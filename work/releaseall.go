package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// OrderEventsMax bounds the ends of claims that one order, or one block of an agent, records. The
// feed numbers the activities of an entry in 16 bits, with room for ActivitiesMax of each event.
const OrderEventsMax = 4096

// ReleaseAll releases the claims of its caller, at most OrderEventsMax of them, and ends its turn.
// An operator sends it on behalf of an agent that was suspended. It is no work of the agent, so its
// work session ends. Workspaces and their files stay.
type ReleaseAll struct{}

// Authorize accepts every agent, also one that may no longer read the project.
func (c *ReleaseAll) Authorize(p *Project, _ id.ID) error {
	if p == nil {
		return fault.NoProject()
	}
	return nil
}

// Decide returns no errors.
func (c *ReleaseAll) Decide(p *Project, stamp Stamp) (Decision, error) {
	events := p.endsOfAgent(stamp.Agent, stamp)
	if open, ok := p.OpenSession(stamp.Agent); ok && len(events) > 0 {
		// The session ends first: what follows would extend it.
		events = slices.Insert(events, 0, Event(&WorkSessionEnded{ID: open.ID}))
	}
	return Decision{Events: events}, nil
}

// HasClaims reports whether an agent holds claims in the project. They may have expired.
func (p *Project) HasClaims(agent id.ID) bool { return p.holdsClaim(agent) }

// HasLiveClaims reports whether an agent holds claims in the project that are live at a time.
func (p *Project) HasLiveClaims(agent id.ID, now int64) (has bool) {
	p.ClaimedTasks(now, func(t *Task) bool {
		has = t.heldBy(agent)
		return !has
	})
	return has
}
