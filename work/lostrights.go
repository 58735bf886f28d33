package work

import "pws/internal/id"

// endsOfHeld are the ends of the claims, at most OrderEventsMax of them, and of the turn that some
// agents hold. They follow an event from which on these agents may no longer work in the project:
// they could not finish what they hold, and others would wait for it.
func (p *Project) endsOfHeld(by func(agent id.ID) bool, stamp Stamp) []Event {
	events := p.withReleases(nil, by)
	if turn, held := p.Turn(stamp.Now); held && by(turn.Agent) {
		events = append(events, &TurnEnded{Agent: turn.Agent, Workspace: turn.Workspace})
	}
	return events
}

// endsOfOthers is endsOfHeld for a project that becomes PRIVATE: only contributors work in it.
func (p *Project) endsOfOthers(stamp Stamp) []Event {
	return p.endsOfHeld(func(agent id.ID) bool { return p.RoleOf(agent) < Contributor }, stamp)
}

// endsOfAgent is endsOfHeld for one agent.
func (p *Project) endsOfAgent(agent id.ID, stamp Stamp) []Event {
	return p.endsOfHeld(func(holder id.ID) bool { return holder == agent }, stamp)
}

// endsBeyondShare are the ends of the claims that an agent may not keep as a non-member: those that
// expire first, until GuestClaimsMax are left.
func (p *Project) endsBeyondShare(agent id.ID) []Event {
	beyond := p.claimsOf(agent) - GuestClaimsMax
	return p.withReleases(nil, func(holder id.ID) bool {
		if holder != agent || beyond <= 0 {
			return false
		}
		beyond--
		return true
	})
}

// withReleases adds the ends of the claims that some agents hold to the events of a command, until
// there are OrderEventsMax.
func (p *Project) withReleases(events []Event, by func(agent id.ID) bool) []Event {
	p.tasks().claimed.scan(func(t *Task) bool {
		if t.Claim != nil && by(t.Claim.Agent) {
			events = append(events, &TaskReleased{Task: t.ID, Token: t.Token})
		}
		return len(events) < OrderEventsMax
	})
	return events
}
