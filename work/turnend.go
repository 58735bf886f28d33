package work

import "pws/internal/id"

// TurnAwaited is the event of an agent that asked for a turn that another holds. Its command is
// refused. Writes renew the turn for at most AwaitedSeconds from then on.
type TurnAwaited struct{}

func (e *TurnAwaited) apply(p *Project, at Moment) {
	next := *p.saved.Turn
	next.Awaited, next.AwaitedUntil = at.Agent, at.Now+AwaitedSeconds*1000
	p.saved.Turn = &next
}

// awaited returns the decision for an agent that asks for the turn of another: the refusal, and the
// event that records the first such request of a turn.
func (p *Project) awaited(refusal error) (Decision, error) {
	if !p.saved.Turn.Awaited.IsZero() {
		return Decision{}, refusal
	}
	return Decision{Events: []Event{new(TurnAwaited)}, Refusal: refusal}, nil
}

// renewed adds a TurnRenewed event to the events of a write if the workspace belongs to a turn that
// can be renewed now.
func (p *Project) renewed(w *Workspace, stamp Stamp, events []Event) []Event {
	if w.Mode != CommunityMode {
		return events
	}
	turn, expires := p.saved.Turn, stamp.Now+TurnSeconds*1000
	if !turn.Awaited.IsZero() {
		expires = min(expires, turn.AwaitedUntil)
	}
	if expires < turn.ExpiresAt {
		return events
	}
	return append(events, &TurnRenewed{ExpiresAt: expires})
}

// EndTurn ends the turn of a community project. The workspace of the turn is kept.
type EndTurn struct{}

// Authorize accepts the agent that holds the turn, maintainers and the owner.
func (c *EndTurn) Authorize(p *Project, agent id.ID) error {
	if err := MayRead.Require(p, agent); err != nil {
		return err
	}
	if turn := p.saved.Turn; turn != nil && turn.Agent == agent && !agent.IsZero() {
		return nil
	}
	return MayModerate.Require(p, agent)
}

// Decide returns PROJECT_NOT_COMMUNITY. It changes nothing if no turn is held.
func (c *EndTurn) Decide(p *Project, stamp Stamp) (Decision, error) {
	if p.Kind != Community {
		return Decision{}, errNotCommunity()
	}
	turn, held := p.Turn(stamp.Now)
	if !held {
		return Decision{}, nil
	}
	ended := &TurnEnded{Agent: turn.Agent, Workspace: turn.Workspace}
	return Decision{Events: []Event{ended}, Result: Result{Subject: turn.Workspace}}, nil
}

// TurnEnded is the event of a turn that was ended before it expired.
type TurnEnded struct {
	// Agent held the turn with this workspace.
	Agent     id.ID `cbor:"1,keyasint"`
	Workspace id.ID `cbor:"2,keyasint"`
}

func (e *TurnEnded) apply(p *Project, at Moment) { p.endTurnOf(e.Workspace, at.Now) }

// endTurnOf ends the turn with a workspace.
func (p *Project) endTurnOf(workspace id.ID, now int64) {
	turn := p.saved.Turn
	if turn == nil || turn.Workspace != workspace {
		return
	}
	if p.saved.Turn = nil; !turn.Awaited.IsZero() {
		last := *turn
		last.ExpiresAt = min(last.ExpiresAt, now)
		p.saved.AwaitedTurn = &last
	}
}
