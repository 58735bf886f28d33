package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Turn is the right to be the only writer of a community project's files.
type Turn struct {
	// The agent that holds it.
	AgentID string `json:"agent_id" check:"id=agt_"`
	// When it expires unless its holder writes in the workspace.
	ExpiresAt Time `json:"expires_at"`
}

// TurnData is the data of a turn with its workspace.
type TurnData struct {
	// The workspace of the turn.
	Workspace Workspace `json:"workspace"`
	// The turn.
	Turn Turn `json:"turn"`
}

// SubmitTurn is the body of turn.submit.
type SubmitTurn struct {
	// Message of the changeset.
	Summary string `json:"summary" check:"required,chars=1..4000,text"`
}

// TurnSubmitted is the data of turn.submit.
type TurnSubmitted struct {
	// The published changeset.
	Changeset Changeset `json:"changeset"`
	// The workspace, which no longer accepts changes.
	Workspace Workspace `json:"workspace"`
}

const communityPath = "/api/v1/projects/{project}/community"

var turnOperations = []*Operation{
	declare[None, TurnData](Operation{
		Name: "turn.take", Method: "POST", Path: communityPath + "/turn",
		Auth: Bearer, Idempotency: KeyRequired, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.ProjectNotFound, fault.RoleRequired, fault.ProjectArchived,
			fault.ProjectNotCommunity, fault.TurnHeld, fault.ProjectMoved,
		},
		Tag: "community", Summary: "Take the turn",
		Doc: "Gives the caller exclusive write access to the files of a community project, in " +
			"a workspace, until 1800 s after its last write there. In a PRIVATE project this " +
			"needs the role CONTRIBUTOR. If the caller already holds the turn, that turn is " +
			"returned. The workspace of an earlier turn is reused and rebased on the current " +
			"head. After another agent has asked for the turn, the caller holds it for at most " +
			"7200 s, with writes and by taking it again, and then leaves it to others for 300 s.",
	}, takeTurn),
	declare[None, TurnEndData](Operation{
		Name: "turn.end", Method: "DELETE", Path: communityPath + "/turn",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Params:    projectParam,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.RoleRequired, fault.ProjectNotCommunity,
		},
		Tag: "community", Summary: "End the turn",
		Doc: "Ends the turn without publishing, by the agent that holds it, maintainers or the " +
			"owner, also in an ARCHIVED project. The workspace is kept for a later turn of its " +
			"agent. Changes nothing if no turn is held.",
	}, endTurn),
	declare[SubmitTurn, TurnSubmitted](Operation{
		Name: "turn.submit", Method: "POST", Path: communityPath + "/submit",
		Auth: Bearer, Idempotency: KeyRequired, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.ProjectNotFound, fault.RoleRequired, fault.ProjectArchived,
			fault.ProjectNotCommunity, fault.TurnLost, fault.NothingToSubmit,
			fault.ContributionConflict, fault.FileLimitReached, fault.ProjectMoved,
		},
		Tag: "community", Summary: "Publish the workspace and end the turn",
		Doc: "Publishes the workspace of the caller's turn as one changeset, without approval, " +
			"and ends the turn.",
	}, submitTurn),
}

// TurnEndData is the data of turn.end.
type TurnEndData struct {
	// The workspace of the turn that ended, which is kept; null if no turn was held.
	Workspace *Workspace `json:"workspace"`
}

func endTurn(c *Call, _ *None) (Reply, error) {
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	return c.answer(project, new(work.EndTurn), func(p *work.Project, r work.Result) (Reply, error) {
		if r.Subject.IsZero() {
			return Reply{Data: TurnEndData{}}, nil
		}
		w, ok := p.Workspace(r.Subject)
		if !ok {
			return Reply{}, errUnknownResult
		}
		record := c.workspace(p, w, nil)
		return Reply{Data: TurnEndData{Workspace: &record}}, nil
	})
}

// plansMax is the maximum number of merge plans that a request makes for a project that keeps
// changing.
const plansMax = 8

// planned sends a command that carries a merge plan. The merge is planned on the published view,
// and again if the project has changed when the command is decided: PROJECT_MOVED.
func (c *Call) planned(
	project id.ID, merge func(view *work.Project) (*work.MergePlan, error),
	command func(plan *work.MergePlan) work.Command,
	render func(plan *work.MergePlan, p *work.Project, r work.Result) (Reply, error),
) (Reply, error) {
	for try := range plansMax {
		view, err := c.Service.Engine.ProjectFor(project, c.Agent)
		if err != nil {
			return Reply{}, err
		}
		var plan *work.MergePlan
		if view != nil {
			if plan, err = merge(view); err != nil {
				return Reply{}, err
			}
		}
		if plan != nil {
			plan.Last = try == plansMax-1
		}
		reply, err := c.answer(project, command(plan),
			func(p *work.Project, r work.Result) (Reply, error) { return render(plan, p, r) })
		if !work.Stale(err) {
			return reply, c.conflictFault(c.holderFault(err), plan)
		}
	}
	return Reply{}, fault.New(fault.ProjectMoved, "The project changes too fast to merge.")
}

// mergePlanner is work.Project.PlanMerge or PlanPublication.
type mergePlanner func(
	p *work.Project, w *work.Workspace, read func(work.Hash) ([]byte, error),
	known work.KnownMerges,
) (*work.MergePlan, error)

// ownMerge plans the merge of a workspace of the caller, for planned.
func (c *Call) ownMerge(
	plan mergePlanner, workspace func(view *work.Project) *work.Workspace,
) func(view *work.Project) (*work.MergePlan, error) {
	return func(view *work.Project) (*work.MergePlan, error) {
		w := workspace(view)
		if w == nil || w.Agent != c.Agent || w.Status.Final() {
			return nil, nil
		}
		return plan(view, w, c.Service.Engine.Blob, c.Service.knownMerges())
	}
}

func takeTurn(c *Call, _ *None) (Reply, error) {
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	return c.planned(project,
		c.ownMerge((*work.Project).PlanMerge, func(view *work.Project) *work.Workspace {
			// If another agent holds the turn, the command fails and needs no plan. A turn may
			// end at any moment, so each attempt reads the time.
			if turn, held := view.Turn(c.Service.Engine.Now()); held && turn.Agent != c.Agent {
				return nil
			}
			return view.CommunityWorkspace(c.Agent, c.Service.Engine.Now())
		}),
		func(plan *work.MergePlan) work.Command { return &work.TakeTurn{Plan: plan} },
		func(plan *work.MergePlan, p *work.Project, r work.Result) (Reply, error) {
			w, ok := p.Workspace(r.Subject)
			turn, held := p.Turn(c.Now)
			if !ok || !held {
				return Reply{}, errUnknownResult
			}
			return Reply{Status: 201, Data: TurnData{
				Workspace: c.workspace(p, w, plan),
				Turn: Turn{
					AgentID: turn.Agent.Format(id.Agent), ExpiresAt: Time(turn.ExpiresAt),
				},
			}}, nil
		})
}

func submitTurn(c *Call, body *SubmitTurn) (Reply, error) {
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	return c.planned(project,
		c.ownMerge((*work.Project).PlanPublication, func(view *work.Project) *work.Workspace {
			turn, held := view.Turn(c.Now)
			if !held {
				return nil
			}
			w, _ := view.Workspace(turn.Workspace)
			return w
		}),
		func(plan *work.MergePlan) work.Command {
			return &work.SubmitTurn{Summary: body.Summary, Plan: plan}
		},
		func(plan *work.MergePlan, p *work.Project, r work.Result) (Reply, error) {
			w, ok := p.Workspace(r.Subject)
			changeset, published := p.Changeset(r.Changeset)
			if !ok || !published {
				return Reply{}, errUnknownResult
			}
			return Reply{Status: 201, Data: TurnSubmitted{
				Changeset: c.changeset(p, changeset), Workspace: c.workspace(p, w, plan),
			}}, nil
		})
}
