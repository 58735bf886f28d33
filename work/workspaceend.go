package work

import (
	"pws/internal/fault"
	"pws/internal/id"
)

// WorkspaceExpiry returns when a workspace expires without activity, in Unix milliseconds; 0 for
// one that has ended. Activity is a change of the workspace or, while its contribution is not
// decided, of the contribution. The workspace of a turn lasts as long as the turn.
func (p *Project) WorkspaceExpiry(w *Workspace) int64 {
	if w.Status.Final() {
		return 0
	}
	active, lasts := w.UpdatedAt, int64(WorkspaceSeconds)
	contribution, submitted := p.Contribution(w.Contribution)
	switch {
	case submitted:
		active = max(active, contribution.UpdatedAt)
	case len(w.Files) == 0 && len(w.Conflicts) == 0:
		lasts = EmptyWorkspaceSeconds
	}
	expires := active + lasts*1000
	if p.saved.Turn != nil && p.saved.Turn.Workspace == w.ID {
		expires = max(expires, p.saved.Turn.ExpiresAt)
	}
	return expires
}

// WorkspaceAt returns a workspace as of a time. An expired workspace is CLOSED and empty,
// whether or not an event has recorded its expiry.
func (p *Project) WorkspaceAt(wanted id.ID, now int64) (*Workspace, bool) {
	w, ok := p.Workspace(wanted)
	if !ok || w.Status.Final() || now < p.WorkspaceExpiry(w) {
		return w, ok
	}
	closed := *w
	closed.Revision++
	closed.close()
	return &closed, true
}

// OpenWorkspacesOf returns the workspaces of an agent that have not ended at a time, the oldest
// first.
func (p *Project) OpenWorkspacesOf(agent id.ID, now int64) (open []*Workspace) {
	for _, one := range p.openWorkspaces {
		if w, _ := p.Workspace(one); w.Agent == agent && now < p.WorkspaceExpiry(w) {
			open = append(open, w)
		}
	}
	return open
}

// close ends a workspace and drops its files. The revisions of its contribution keep theirs.
func (w *Workspace) close() {
	w.Status, w.Files, w.Conflicts = WorkspaceClosed, nil, nil
}

// expiredNotedMax is the maximum number of expired workspaces that one command records.
const expiredNotedMax = 100

// expiredWorkspaces returns events that record the expiry of workspaces, so that the list of
// open ones stays bounded. Readers see no difference.
func (p *Project) expiredWorkspaces(now int64) (events []Event) {
	for _, one := range p.openWorkspaces {
		if len(events) == expiredNotedMax {
			break
		}
		if w, _ := p.Workspace(one); now >= p.WorkspaceExpiry(w) {
			events = append(events, &WorkspaceEnded{Workspace: one, Expired: true})
		}
	}
	return events
}

// expiring puts the ends of workspaces that have expired in front of events that change their
// contributions, which would count as activity of the workspaces.
func (p *Project) expiring(events []Event, now int64) []Event {
	var ended []Event
	for _, event := range events {
		var changed id.ID
		switch event := event.(type) {
		case *ContributionReviewed:
			changed = event.Contribution
		case *ReviewDeleted:
			changed = event.Contribution
		case *ContributionConflicted:
			changed = event.Contribution
		case *ContributionAccepted:
			changed = event.Contribution
		case *ContributionRejected:
			changed = event.Contribution
		case *ContributionWithdrawn:
			changed = event.Contribution
		case *ContributionDeleted:
			changed = event.Contribution
		default:
			continue
		}
		c, _ := p.Contribution(changed)
		w, exists := p.Workspace(c.Workspace)
		if exists && !w.Status.Final() && now >= p.WorkspaceExpiry(w) {
			ended = append(ended, &WorkspaceEnded{Workspace: w.ID, Expired: true})
		}
	}
	if len(ended) == 0 {
		return events
	}
	return append(ended, events...)
}

// workspaceQuota is the limit for the open workspaces of guests.
var workspaceQuota = quota{
	name: "open_workspaces", guests: GuestWorkspacesMax, newcomer: newcomerRecords,
}

// requireWorkspaceQuota checks the limits for another workspace: QUOTA_EXCEEDED. Workspaces of
// community projects are not limited: an agent has at most one there, and the workspaces of
// others must not block turns. Members and guests have separate limits.
func (p *Project) requireWorkspaceQuota(stamp Stamp) error {
	own, members, others := 0, 0, 0
	for _, one := range p.openWorkspaces {
		w, _ := p.Workspace(one)
		if stamp.Now >= p.WorkspaceExpiry(w) {
			continue
		}
		if w.Agent == stamp.Agent {
			own++
		}
		if !p.IsMember(w.Agent) {
			others++
		} else {
			members++
		}
	}
	if own >= WorkspacesPerAgentMax {
		return errQuota("open_workspaces_of_agent", WorkspacesPerAgentMax)
	}
	if !p.IsMember(stamp.Agent) {
		if err := workspaceQuota.requireGuests(others, own, 1); err != nil {
			return err
		}
		return p.requireDailyQuota(stamp, "workspaces_of_agent_today", GuestWorkspacesPerDayMax,
			func(u usage) int { return u.workspaces })
	}
	if members >= WorkspacesOpenMax {
		return errQuota("open_workspaces", WorkspacesOpenMax)
	}
	return nil
}

// CloseWorkspace ends a workspace without publishing it. Its contribution, if there is one, can
// still be decided.
type CloseWorkspace struct {
	Workspace id.ID
	// Match is called with the current workspace; nil checks nothing. It returns
	// PRECONDITION_FAILED.
	Match func(p *Project, w *Workspace) error
}

// Authorize accepts the agents that may read the workspace: its author, maintainers and owners.
// It returns WORKSPACE_NOT_FOUND and ROLE_REQUIRED.
func (c *CloseWorkspace) Authorize(p *Project, agent id.ID) error {
	_, err := p.AuthorizeWorkspace(c.Workspace, agent, 0)
	return err
}

// Decide returns PRECONDITION_FAILED, and WORKSPACE_CLOSED for a published workspace. Closing a
// closed one changes nothing.
func (c *CloseWorkspace) Decide(p *Project, stamp Stamp) (Decision, error) {
	w, ok := p.WorkspaceAt(c.Workspace, stamp.Now)
	if !ok {
		return Decision{}, errWorkspaceNotFound()
	}
	if c.Match != nil {
		if err := c.Match(p, w); err != nil {
			return Decision{}, err
		}
	}
	result := Result{Subject: c.Workspace}
	switch w.Status {
	case WorkspaceDone:
		return Decision{}, fault.New(fault.WorkspaceClosed, "The workspace has been published.").
			With("status", w.Status.String())
	case WorkspaceClosed:
		return Decision{Result: result}, nil
	}
	return Decision{Events: []Event{&WorkspaceEnded{Workspace: w.ID}}, Result: result}, nil
}

// WorkspaceEnded is the event of a workspace that was closed or has expired. It ends the turn of
// the workspace.
type WorkspaceEnded struct {
	Workspace id.ID `cbor:"1,keyasint"`
	// Expired means that the workspace was not closed; a later command records its expiry.
	Expired bool `cbor:"2,keyasint,omitempty"`
}

func (e *WorkspaceEnded) apply(p *Project, at Moment) {
	p.endTurnOf(e.Workspace, at.Now)
	if e.Expired {
		// The workspace expired before the event was recorded.
		at.Now = 0
	}
	p.changeWorkspace(e.Workspace, at, (*Workspace).close)
}
