package work

import (
	"pws/internal/fault"
	"pws/internal/id"
)

// Moderation is what an operator of the service has done to a project.
type Moderation struct {
	// Removed means that nobody can read the project any more; otherwise it is hidden from all but
	// its members.
	Removed bool   `cbor:"1,keyasint,omitempty"`
	Reason  string `cbor:"2,keyasint,omitempty"`
	// At is Unix milliseconds.
	At int64 `cbor:"3,keyasint,omitempty"`
	// Was is the visibility from before, which comes back when the project is shown.
	Was Visibility `cbor:"4,keyasint,omitempty"`
	// Erased means that all that the removed project had was dropped.
	Erased bool `cbor:"5,keyasint,omitempty"`
}

// Moderation returns what an operator has done to the project, nil for nothing.
func (p *Project) Moderation() *Moderation { return p.saved.Moderation }

// requireUnmoderated refuses what would let others see a hidden project: FORBIDDEN.
func requireUnmoderated(p *Project) error {
	if p.saved.Moderation == nil {
		return nil
	}
	return fault.New(fault.Forbidden,
		"An operator of the service has hidden the project; it cannot be shown to others.")
}

// HideProject hides a project from all but its members. An operator sends it.
type HideProject struct{ Reason string }

// Authorize accepts the service itself, which is not an agent.
func (c *HideProject) Authorize(p *Project, agent id.ID) error { return operatorOnly(p, agent) }

// operatorOnly accepts an operator, who is not an agent, for a project that is not removed:
// PROJECT_NOT_FOUND.
func operatorOnly(p *Project, agent id.ID) error {
	if p == nil || !agent.IsZero() || p.Removed() {
		return fault.NoProject()
	}
	return nil
}

// Decide returns no errors. Hiding a hidden project replaces the reason.
func (c *HideProject) Decide(p *Project, stamp Stamp) (Decision, error) {
	events := []Event{&ProjectHidden{Reason: c.Reason, Owner: p.Owner}}
	if p.Visibility != Private {
		events = append(append(events, p.madePrivate()...), p.endsOfOthers(stamp)...)
	}
	return Decision{Events: events}, nil
}

// madePrivate returns the event that makes the project private, none where it is.
func (p *Project) madePrivate() []Event {
	if p.Visibility == Private {
		return nil
	}
	about := p.About
	about.Visibility = Private
	return []Event{&ProjectUpdated{About: about, Was: p.Visibility}}
}

// ShowProject shows a hidden project again, with the visibility from before.
type ShowProject struct{}

// Authorize accepts the service itself, which is not an agent.
func (c *ShowProject) Authorize(p *Project, agent id.ID) error { return operatorOnly(p, agent) }

// Decide returns no errors. Showing a project that is not hidden changes nothing.
func (c *ShowProject) Decide(p *Project, _ Stamp) (Decision, error) {
	hidden := p.saved.Moderation
	if hidden == nil {
		return Decision{}, nil
	}
	events := []Event{&ProjectShown{Owner: p.Owner}}
	if p.saved.End == nil && hidden.Was != p.Visibility {
		about := p.About
		about.Visibility = hidden.Was
		events = append(events, &ProjectUpdated{About: about, Was: p.Visibility})
	}
	return Decision{Events: events}, nil
}

// RemoveProject removes a project: it has no members any more, and nobody can read it.
type RemoveProject struct{ Reason string }

// Authorize accepts the service itself, which is not an agent.
func (c *RemoveProject) Authorize(p *Project, agent id.ID) error { return operatorOnly(p, agent) }

// Decide returns no errors.
func (c *RemoveProject) Decide(p *Project, _ Stamp) (Decision, error) {
	events := []Event{&ProjectRemoved{Reason: c.Reason, Stored: p.StoredByAgents()}}
	events = append(events, p.madePrivate()...)
	for _, member := range p.Members() {
		events = append(events, &MemberRemoved{Agent: member.Agent})
	}
	return Decision{Events: events}, nil
}

// ProjectHidden is the event of a project that an operator has hidden. Where that changes its
// visibility, a ProjectUpdated follows.
type ProjectHidden struct {
	Reason string `cbor:"1,keyasint,omitempty"`
	// Owner is notified.
	Owner id.ID `cbor:"2,keyasint"`
}

func (e *ProjectHidden) apply(p *Project, at Moment) {
	next := &Moderation{Reason: e.Reason, At: at.Now, Was: p.visibilityRestored()}
	if before := p.saved.Moderation; before != nil {
		next.Was = before.Was
	}
	p.saved.Moderation = next
	p.restoreAs(Private)
	p.Version++
}

// ProjectShown is the event of a hidden project that an operator shows again.
type ProjectShown struct {
	// Owner is notified.
	Owner id.ID `cbor:"1,keyasint"`
}

func (e *ProjectShown) apply(p *Project, _ Moment) {
	p.restoreAs(p.saved.Moderation.Was)
	p.saved.Moderation = nil
	p.Version++
}

// ProjectRemoved is the event of a project that an operator has removed. Events that take away its
// visibility and its members follow.
type ProjectRemoved struct {
	Reason string `cbor:"1,keyasint,omitempty"`
	// Stored is what each agent has stored; it does not count against its quota any more.
	Stored []StoredBytes `cbor:"2,keyasint,omitempty"`
}

func (e *ProjectRemoved) apply(p *Project, at Moment) {
	p.saved.Moderation = &Moderation{
		Removed: true, Reason: e.Reason, At: at.Now, Was: p.Visibility,
	}
	p.stored, p.storedAll = smallSet[StoredBytes]{}, 0
	p.Version++
}
