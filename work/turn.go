package work

import (
	"cmp"

	"pws/internal/fault"
	"pws/internal/id"
)

// Turn is the right of one agent to be the only writer of a community project's files. It
// expires by comparison with the current time alone.
type Turn struct {
	Agent     id.ID `cbor:"1,keyasint"`
	Workspace id.ID `cbor:"2,keyasint"`
	// ExpiresAt is Unix milliseconds.
	ExpiresAt int64 `cbor:"3,keyasint"`
	// Awaited is the first other agent that asked for the turn, zero for none. Writes renew the turn
	// until AwaitedUntil then, in Unix milliseconds.
	Awaited      id.ID `cbor:"4,keyasint,omitzero"`
	AwaitedUntil int64 `cbor:"6,keyasint,omitempty"`
	// Renewals is in snapshots of older programs, which counted them.
	Renewals int `cbor:"5,keyasint,omitempty"`
}

// Turn returns the turn that is held at a time.
func (p *Project) Turn(now int64) (*Turn, bool) {
	if p.saved.Turn == nil || now >= p.saved.Turn.ExpiresAt {
		return nil, false
	}
	return p.saved.Turn, true
}

// awaitedTurn returns the last turn of an agent that another one waited for, if it has ended within
// TurnReservedSeconds and nobody has taken the turn since. A turn that the agent takes now goes on
// with it: whoever takes the turn again and again holds it no longer than one that it keeps.
func (p *Project) awaitedTurn(agent id.ID, now int64) *Turn {
	last := cmp.Or(p.saved.Turn, p.saved.AwaitedTurn)
	if last == nil || last.Agent != agent || last.Awaited.IsZero() ||
		now >= last.ExpiresAt+TurnReservedSeconds*1000 {
		return nil
	}
	return last
}

// errTurnReserved is TURN_HELD for an agent whose last turn another one waits for.
func errTurnReserved(last *Turn, now int64) error {
	return errTurnHeld("Another agent waits for the turn, which the caller held last.",
		last.Awaited, last.ExpiresAt+TurnReservedSeconds*1000, now)
}

// errTurnHeld is TURN_HELD. Its details have the ID of an agent and the end in Unix milliseconds.
func errTurnHeld(message string, holder id.ID, ends, now int64) error {
	return fault.New(fault.TurnHeld, message).
		With("holder", holder.Format(id.Agent)).With("expires_at", ends).
		With("retry_after_seconds", int((ends-now+999)/1000))
}

// requireNoTurnOfOthers checks that no other agent holds the turn: TURN_HELD.
func (p *Project) requireNoTurnOfOthers(stamp Stamp) error {
	turn, held := p.Turn(stamp.Now)
	if !held || turn.Agent == stamp.Agent {
		return nil
	}
	return errTurnHeld("Another agent holds the turn of the project.", turn.Agent, turn.ExpiresAt,
		stamp.Now)
}

// requireWritable checks that files of a project can be written now: PROJECT_ARCHIVED,
// TURN_HELD.
func requireWritable(p *Project, stamp Stamp) error {
	if err := requireActive(p); err != nil {
		return err
	}
	return p.requireNoTurnOfOthers(stamp)
}

func errTurnLost() error {
	return fault.New(fault.TurnLost,
		"The turn has expired or belongs to another agent. The workspace is kept.")
}

// requireCommunity returns PROJECT_ARCHIVED, PROJECT_NOT_COMMUNITY.
func requireCommunity(p *Project) error {
	if err := requireActive(p); err != nil {
		return err
	}
	if p.Kind != Community {
		return errNotCommunity()
	}
	return nil
}

func errNotCommunity() error {
	return fault.New(fault.ProjectNotCommunity, "Only community projects have turns.")
}

// CommunityWorkspace returns the open workspace that a new turn of an agent would use, nil if
// the turn would open one.
func (p *Project) CommunityWorkspace(agent id.ID, now int64) *Workspace {
	for _, one := range p.openWorkspaces {
		w, _ := p.Workspace(one)
		if w.Agent == agent && w.Mode == CommunityMode && now < p.WorkspaceExpiry(w) {
			return w
		}
	}
	return nil
}

// TakeTurn takes the turn of a community project.
type TakeTurn struct {
	// Plan merges the agent's open workspace with the head; nil if nothing has to be merged.
	Plan *MergePlan
}

// Authorize accepts every agent that can read the project, and only contributors in private ones.
func (c *TakeTurn) Authorize(p *Project, agent id.ID) error {
	return MayTakeTurn.Require(p, agent)
}

// Decide returns PROJECT_ARCHIVED, PROJECT_NOT_COMMUNITY, TURN_HELD, and an error that is Stale
// if another plan is needed. An agent that already holds the turn keeps it.
func (c *TakeTurn) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := requireCommunity(p); err != nil {
		return Decision{}, err
	}
	if err := p.requireNoTurnOfOthers(stamp); err != nil {
		return p.awaited(err)
	}
	result := Result{Created: true}
	if turn, held := p.Turn(stamp.Now); held {
		result.Subject = turn.Workspace
		return Decision{Result: result}, nil
	}
	taken := &TurnTaken{ExpiresAt: stamp.Now + TurnSeconds*1000}
	if last := p.awaitedTurn(stamp.Agent, stamp.Now); last != nil {
		if stamp.Now >= last.AwaitedUntil {
			return Decision{}, errTurnReserved(last, stamp.Now)
		}
		taken.ExpiresAt = min(taken.ExpiresAt, last.AwaitedUntil)
	}
	w := p.CommunityWorkspace(stamp.Agent, stamp.Now)
	if w == nil {
		opened := openedOn(p, CommunityMode, stamp)
		taken.Workspace, result.Subject = opened.ID, opened.ID
		events := append(p.expiredWorkspaces(stamp.Now), opened, taken)
		return Decision{Events: events, Result: result}, nil
	}
	decision, err := c.Plan.decide(p, w)
	if err != nil {
		return Decision{}, err
	}
	taken.Workspace, result.Subject = w.ID, w.ID
	decision.Events, decision.Result = append(decision.Events, taken), result
	return decision, nil
}

// TurnTaken is the event of a new turn.
type TurnTaken struct {
	Workspace id.ID `cbor:"1,keyasint"`
	ExpiresAt int64 `cbor:"2,keyasint"`
}

func (e *TurnTaken) apply(p *Project, at Moment) {
	next := &Turn{Agent: at.Agent, Workspace: e.Workspace, ExpiresAt: e.ExpiresAt}
	if last := p.awaitedTurn(at.Agent, at.Now); last != nil {
		next.Awaited, next.AwaitedUntil = last.Awaited, last.AwaitedUntil
	}
	p.saved.Turn, p.saved.AwaitedTurn = next, nil
}

// TurnRenewed is the event of a write in the workspace of a turn, which extends the turn.
type TurnRenewed struct {
	ExpiresAt int64 `cbor:"1,keyasint"`
}

func (e *TurnRenewed) apply(p *Project, _ Moment) {
	next := *p.saved.Turn
	next.ExpiresAt = e.ExpiresAt
	p.saved.Turn = &next
}

// SubmitTurn publishes the workspace of a turn and ends the turn.
type SubmitTurn struct {
	Summary string
	// Plan merges the workspace with the head; nil if the head is its base.
	Plan *MergePlan
}

// Authorize accepts who may take the turn; Decide checks who holds it.
func (c *SubmitTurn) Authorize(p *Project, agent id.ID) error {
	return MayTakeTurn.Require(p, agent)
}

// Decide returns PROJECT_ARCHIVED, PROJECT_NOT_COMMUNITY, TURN_LOST, CONTRIBUTION_CONFLICT,
// NOTHING_TO_SUBMIT, FILE_LIMIT_REACHED, and an error that is Stale if another plan is needed.
func (c *SubmitTurn) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := requireCommunity(p); err != nil {
		return Decision{}, err
	}
	turn, held := p.Turn(stamp.Now)
	if !held || turn.Agent != stamp.Agent {
		return Decision{}, errTurnLost()
	}
	w, _ := p.Workspace(turn.Workspace)
	published, blobs, err := p.decidePublication(w, c.Plan)
	if err != nil {
		return Decision{}, err
	}
	published.ID = p.nextChangesetID(stamp.ID(0))
	published.Message = c.Summary
	published.Source, published.SourceID = SourceCommunitySubmit, w.ID
	return Decision{
		Events: []Event{published, &WorkspacePublished{Workspace: w.ID, Changeset: published.ID}},
		Blobs:  blobs,
		Result: Result{Created: true, Changeset: published.ID, Subject: w.ID},
	}, nil
}

// decidePublication returns the changeset that publishes a workspace: CONTRIBUTION_CONFLICT,
// NOTHING_TO_SUBMIT, FILE_LIMIT_REACHED, Stale.
func (p *Project) decidePublication(
	w *Workspace, plan *MergePlan,
) (*ChangesetPublished, []Blob, error) {
	files, conflicts, blobs := w.Files, w.Conflicts, []Blob(nil)
	if w.Base != p.Head().ID {
		if !plan.fits(p, w) {
			return nil, nil, errStale
		}
		files, conflicts, blobs = plan.files, plan.conflicts, plan.Blobs
	}
	if len(conflicts) > 0 {
		return nil, nil, errConflicts(conflicts)
	}
	ops := p.netOperations(p.Head(), files)
	if len(ops) == 0 {
		return nil, nil, errNothingToSubmit(w)
	}
	if p.countOver(p.Head(), files) > FilesMax {
		return nil, nil, errFileLimitReached()
	}
	return &ChangesetPublished{Ops: ops}, blobs, nil
}

func errConflicts(conflicts []Conflict) error {
	return fault.New(fault.ContributionConflict,
		"The workspace conflicts with the head of the project. Refresh it and write the files again.").
		With("conflicts", conflicts)
}

func errNothingToSubmit(w *Workspace) error {
	return fault.New(fault.NothingToSubmit, "The workspace has no changes.").
		With("workspace_id", w.ID.Format(id.Workspace))
}

// WorkspacePublished is the event of a workspace that became a changeset. It ends the turn of
// the workspace.
type WorkspacePublished struct {
	Workspace id.ID `cbor:"1,keyasint"`
	Changeset id.ID `cbor:"2,keyasint"`
}

func (e *WorkspacePublished) apply(p *Project, at Moment) {
	p.changeWorkspace(e.Workspace, at, func(next *Workspace) {
		next.Status, next.Published = WorkspaceDone, e.Changeset
		// The changeset contains the changes.
		next.Files, next.Conflicts = nil, nil
	})
	p.endTurnOf(e.Workspace, at.Now)
}
