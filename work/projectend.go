package work

import (
	"pws/internal/fault"
	"pws/internal/id"
)

// ProjectEnd is what a project was before its owner deleted it. A deleted project is private and
// has no members, so nobody can read it.
type ProjectEnd struct {
	// At is Unix milliseconds.
	At int64 `cbor:"1,keyasint"`
	// Status, Visibility and Members come back when the project is restored.
	Status     Status     `cbor:"2,keyasint"`
	Visibility Visibility `cbor:"3,keyasint"`
	Members    []Member   `cbor:"4,keyasint"`
}

// Until returns when the project cannot be restored any more, in Unix milliseconds.
func (e *ProjectEnd) Until() int64 { return e.At + ProjectRestoreSeconds*1000 }

// Has reports whether an agent was a member.
func (e *ProjectEnd) Has(agent id.ID) bool {
	for i := range e.Members {
		if e.Members[i].Agent == agent {
			return true
		}
	}
	return false
}

// End returns what the project was before its owner deleted it, nil if it is not deleted. A project
// that an operator has removed since still has it, until its data was dropped.
func (p *Project) End() *ProjectEnd { return p.saved.End }

// EndedFor reports whether an agent was a member of a deleted project that can still be restored at
// a time.
func (p *Project) EndedFor(agent id.ID, now int64) bool {
	end := p.saved.End
	return end != nil && !p.Removed() && now < end.Until() && end.Has(agent)
}

// Restorable reports whether an agent may restore a deleted project at a time: its owner.
func (p *Project) Restorable(agent id.ID, now int64) bool {
	return p.Owner == agent && p.EndedFor(agent, now)
}

// AsOwned returns a deleted project as its owner sees it: with the members and the visibility from
// before. It must not be changed.
func (p *Project) AsOwned() *Project {
	owned := *p
	if end := p.saved.End; end != nil {
		owned.Visibility, owned.saved.Members = end.Visibility, end.Members
	}
	return &owned
}

// DeleteProject deletes a project: nobody can read it, and its owner can restore it for
// ProjectRestoreSeconds. Claims and the turn end.
type DeleteProject struct {
	// IfMatch is called with the current state. It returns PRECONDITION_FAILED.
	IfMatch func(p *Project) error
}

// Authorize accepts only the owner, also one that has deleted the project, so that a repeated
// request is answered.
func (c *DeleteProject) Authorize(p *Project, agent id.ID) error { return ownerOnly(p, agent) }

// ownerOnly accepts the owner, also of a deleted project. Errors: PROJECT_NOT_FOUND,
// OWNER_REQUIRED.
func ownerOnly(p *Project, agent id.ID) error {
	if p != nil && p.saved.End != nil && p.Owner == agent && !p.Removed() {
		return nil
	}
	return MayAdminister.Require(p, agent)
}

// Decide returns PROJECT_NOT_FOUND for a deleted project, and PRECONDITION_FAILED. An archived
// project can be deleted.
func (c *DeleteProject) Decide(p *Project, stamp Stamp) (Decision, error) {
	if p.saved.End != nil {
		return Decision{}, fault.NoProject()
	}
	if err := c.IfMatch(p); err != nil {
		return Decision{}, err
	}
	// More claims than that expire: nobody can renew them.
	events := p.withReleases(nil, func(id.ID) bool { return true })
	if turn, held := p.Turn(stamp.Now); held {
		events = append(events, &TurnEnded{Agent: turn.Agent, Workspace: turn.Workspace})
	}
	deleted := new(ProjectDeleted)
	for i := range p.saved.Members {
		deleted.Members = append(deleted.Members, p.saved.Members[i].Agent)
	}
	return Decision{Events: append(events, deleted)}, nil
}

// RestoreProject restores a deleted project as it was.
type RestoreProject struct{}

// Authorize accepts only the owner.
func (c *RestoreProject) Authorize(p *Project, agent id.ID) error { return ownerOnly(p, agent) }

// Decide returns PROJECT_NOT_FOUND once the time to restore the project is over. Restoring a
// project that is not deleted changes nothing.
func (c *RestoreProject) Decide(p *Project, stamp Stamp) (Decision, error) {
	switch {
	case p.saved.End == nil:
		return Decision{}, nil
	case !p.Restorable(stamp.Agent, stamp.Now):
		return Decision{}, fault.NoProject()
	}
	return Decision{Events: []Event{new(ProjectRestored)}}, nil
}

// ProjectDeleted is the event of a project that its owner has deleted. Events that end its claims
// and its turn come first.
type ProjectDeleted struct {
	// Members are notified, the owner among them is not.
	Members []id.ID `cbor:"1,keyasint"`
}

func (e *ProjectDeleted) apply(p *Project, at Moment) {
	p.saved.End = &ProjectEnd{
		At: at.Now, Status: p.Status, Visibility: p.Visibility, Members: p.saved.Members,
	}
	p.Status, p.Visibility, p.saved.Members = Deleted, Private, nil
	p.Version++
}

// ProjectRestored is the event of a deleted project that its owner has restored.
type ProjectRestored struct{}

func (e *ProjectRestored) apply(p *Project, _ Moment) {
	end := p.saved.End
	p.Status, p.Visibility, p.saved.Members = end.Status, end.Visibility, end.Members
	p.saved.End = nil
	p.Version++
}

// visibilityRestored returns the visibility that a deleted project will have once it is restored,
// and that of every other project.
func (p *Project) visibilityRestored() Visibility {
	if p.saved.End != nil {
		return p.saved.End.Visibility
	}
	return p.Visibility
}

// restoreAs sets the visibility that a deleted project will have once it is restored. It does not
// change other projects.
func (p *Project) restoreAs(visibility Visibility) {
	if p.saved.End == nil {
		return
	}
	// Older states share the record.
	end := *p.saved.End
	end.Visibility = visibility
	p.saved.End = &end
}
