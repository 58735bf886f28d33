package work

import "pws/internal/id"

// endsOfUnseen are the ends of the claims, at most OrderEventsMax of them, and of the turn that
// some agents hold. They follow an event from which on these agents can no longer read the project:
// they could neither finish nor release what they hold, and others would wait for it.
func (p *Project) endsOfUnseen(unseen func(agent id.ID) bool, stamp Stamp) (events []Event) {
	p.tasks().claimed.scan(func(t *Task) bool {
		if t.Claim != nil && unseen(t.Claim.Agent) {
			events = append(events, &TaskReleased{Task: t.ID, Token: t.Token})
		}
		return len(events) < OrderEventsMax
	})
	if turn, held := p.Turn(stamp.Now); held && unseen(turn.Agent) {
		events = append(events, &TurnRenewed{ExpiresAt: stamp.Now})
	}
	return events
}
