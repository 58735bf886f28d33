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

// WorkspaceAt finds a workspace as it reads at a time: one that has expired is CLOSED and holds
// nothing, whether or not an event has noted that.
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

// close ends a workspace. What it held is given up; the revisions of its contribution keep theirs.
func (w *Workspace) close() {
	w.Status, w.Files, w.Conflicts = WorkspaceClosed, nil, nil
}

// expiredNotedMax is how many expired workspaces one command notes.
const expiredNotedMax = 100

// expiredWorkspaces are events that note workspaces which have expired, so that what is kept of
// open ones stays bounded. They change nothing that anybody can see.
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

// workspaceRoom is that of the open workspaces of guests.
var workspaceRoom = room{
	name: "open_workspaces", guests: GuestWorkspacesMax, newcomer: newcomerRecords,
}

// requireWorkspaceRoom refuses another workspace beyond the limits: QUOTA_EXCEEDED. Those of
// community projects are not counted: an agent has one at most there, and what agents left does not
// keep others from their turns. Members and others have rooms of their own.
func (p *Project) requireWorkspaceRoom(stamp Stamp) error {
	own, members, others := 0, 0, 0
	for _, one := range p.openWorkspaces {
		w, _ := p.Workspace(one)
		if stamp.Now >= p.WorkspaceExpiry(w) {
			continue
		}
		if w.Agent == stamp.Agent {
			own++
		}
		if p.RoleOf(w.Agent) == NoRole {
			others++
		} else {
			members++
		}
	}
	if own >= WorkspacesPerAgentMax {
		return errQuota("open_workspaces_of_agent", WorkspacesPerAgentMax)
	}
	if p.RoleOf(stamp.Agent) == NoRole {
		if err := workspaceRoom.requireGuests(others, own, 1); err != nil {
			return err
		}
		return p.requireToday(stamp, "workspaces_of_agent_today", GuestWorkspacesPerDayMax,
			func(s share) int { return s.workspaces })
	}
	if members >= WorkspacesOpenMax {
		return errQuota("open_workspaces", WorkspacesOpenMax)
	}
	return nil
}

// CloseWorkspace ends a workspace without publishing it. A contribution that it was submitted as
// stays to be decided.
type CloseWorkspace struct {
	Workspace id.ID
	// Match is called with the current workspace; nil checks nothing. It returns
	// PRECONDITION_FAILED.
	Match func(p *Project, w *Workspace) error
}

// Authorize accepts those who may read the workspace: its author, maintainers and owners. It
// returns WORKSPACE_NOT_FOUND and ROLE_REQUIRED.
func (c *CloseWorkspace) Authorize(p *Project, agent id.ID) error {
	_, err := p.AuthorizeWorkspace(c.Workspace, agent, 0)
	return err
}

// Decide returns PROJECT_ARCHIVED, PRECONDITION_FAILED, and WORKSPACE_CLOSED for one that was
// published. Closing a closed one changes nothing.
func (c *CloseWorkspace) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
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

// WorkspaceEnded is the event of a workspace that was closed or has expired. It ends a turn of the
// workspace.
type WorkspaceEnded struct {
	Workspace id.ID `cbor:"1,keyasint"`
	// Expired means that the workspace was not closed; a later command records its expiry.
	Expired bool `cbor:"2,keyasint,omitempty"`
}

func (e *WorkspaceEnded) apply(p *Project, at Moment) {
	if e.Expired {
		// The workspace expired before the event was recorded.
		at.Now = 0
	}
	p.changeWorkspace(e.Workspace, at, (*Workspace).close)
	if p.saved.Turn != nil && p.saved.Turn.Workspace == e.Workspace {
		p.saved.Turn = nil
	}
}
