package api

import (
	"strconv"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Contribution is a workspace that its author has submitted for acceptance, with all its
// revisions.
type Contribution struct {
	// The contribution's ID.
	ID string `json:"id" check:"id=ctr_"`
	// The project that it belongs to.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The workspace that it was submitted from; null if it was imported with a bundle.
	WorkspaceID *string `json:"workspace_id" check:"id=wsp_"`
	// The contributor, who becomes the author of its changeset.
	Author AgentRef `json:"author"`
	// Summary of the current revision.
	Summary string `json:"summary"`
	// Status; the last three values are final.
	Status string `json:"status" check:"enum=SUBMITTED|CHANGES_REQUESTED|APPROVED|CONFLICT|ACCEPTED|REJECTED|WITHDRAWN"`
	// Base changeset of the current revision.
	BaseID string `json:"base_changeset_id" check:"id=chg_"`
	// Number of the current revision, starting at 1.
	CurrentRevision int `json:"current_revision"`
	// ID of the current revision, for reviews and decisions.
	CurrentRevisionID string `json:"current_revision_id" check:"id=rev_"`
	// All of them, oldest first.
	Revisions []Revision `json:"revisions"`
	// All that were not deleted, oldest first.
	Reviews []Review `json:"reviews"`
	// The marks of deleted reviews, oldest first; absent if there are none.
	DeletedReviews []Review `json:"deleted_reviews,omitzero"`
	// Conflicts with the project at the last attempt to accept it; us is the contribution.
	Conflicts []Conflict `json:"conflicts"`
	// The agents that wrote, reviewed and accepted it, each once per role.
	Attribution []Attribution `json:"attribution"`
	// The changeset that was published from it; null until it is accepted.
	AcceptedID *string `json:"accepted_changeset_id" check:"id=chg_"`
	// The agent that accepted, rejected or withdrew it; null until then.
	DecidedBy *string `json:"decided_by" check:"id=agt_"`
	// When that happened.
	DecidedAt *Time `json:"decided_at"`
	// Note on the decision.
	DecisionNote string `json:"decision_note"`
	// When it was first submitted.
	CreatedAt Time `json:"created_at"`
	// When it was last changed.
	UpdatedAt Time `json:"updated_at"`

	DeletionMark

	// What the bundle that it was imported with says about it; null if it was submitted here.
	Origin *ContributionOrigin `json:"origin"`
}

// Attribution is the role of an agent in a contribution.
type Attribution struct {
	// What the agent did.
	Role string `json:"role" check:"enum=AUTHOR|REVIEWER|ACCEPTER"`
	// The agent that did it.
	Agent AgentRef `json:"agent"`
	// When it first had that role.
	At Time `json:"at"`
}

// ContributionData is the data of a contribution.
type ContributionData struct {
	// The contribution.
	Contribution Contribution `json:"contribution"`
}

// ContributionsData is a page of contributions.
type ContributionsData struct {
	// Newest first.
	Contributions []Contribution `json:"contributions"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// SubmitWorkspace is the body of workspace.submit.
type SubmitWorkspace struct {
	// Message of the changeset that is published when it is accepted.
	Summary string `json:"summary" check:"required,chars=1..4000,text"`
}

// WorkspaceSubmitted is the data of workspace.submit.
type WorkspaceSubmitted struct {
	// The contribution with the new revision.
	Contribution Contribution `json:"contribution"`
	// The workspace. Later changes in it belong to the next revision.
	Workspace Workspace `json:"workspace"`
}

// AcceptContribution is the body of contribution.accept.
type AcceptContribution struct {
	// The revision that was reviewed; it must be the current one.
	RevisionID string `json:"revision_id" check:"required,id=rev_"`
	// Message of the changeset; the summary of the revision if absent.
	Message *string `json:"message" check:"chars=0..4000,text"`
}

// ContributionAccepted is the data of contribution.accept.
type ContributionAccepted struct {
	// The contribution.
	Contribution Contribution `json:"contribution"`
	// The published changeset, whose author is the contributor.
	Changeset Changeset `json:"changeset"`
}

// RejectContribution is the body of contribution.reject.
type RejectContribution struct {
	// Why it is rejected.
	Reason string `json:"reason" check:"required,chars=1..4000,text"`
	// Only if this revision is the current one.
	RevisionID *string `json:"revision_id" check:"id=rev_"`
}

// WithdrawContribution is the body of contribution.withdraw.
type WithdrawContribution struct {
	// Why it is withdrawn.
	Reason string `json:"reason" check:"chars=0..4000,text"`
}

const (
	contributionsPath = "/api/v1/projects/{project}/contributions"
	contributionPath  = "/api/v1/contributions/{contribution}"

	// contributionsPage is the default page of contributions; contributionsPageBytes is the
	// approximate size after which a page ends.
	contributionsPage      = 50
	contributionsPageBytes = 1 << 20
)

var contributionParam = []Param{{Name: "contribution", Doc: "The contribution's ID."}}

var contributionOperations = []*Operation{
	declare[SubmitWorkspace, WorkspaceSubmitted](Operation{
		Name: "workspace.submit", Method: "POST", Path: workspacePath + "/submit",
		Tool: "contribution.submit",
		ToolDoc: "Submit your workspace as a contribution or a new revision of one. Nothing is " +
			"published until a maintainer accepts it; do not submit again while it waits.",
		Auth: Bearer, Idempotency: KeyRequired, Category: CategoryWrite, Statuses: []int{201},
		Expensive: true,
		Params:    workspaceParam,
		Errors: []fault.Code{
			fault.WorkspaceNotFound, fault.Forbidden, fault.RoleRequired, fault.ProjectArchived,
			fault.ProjectIsCommunity, fault.WorkspaceClosed, fault.ContributionConflict,
			fault.ApprovalPending, fault.NothingToSubmit, fault.QuotaExceeded,
		},
		Tag: "contributions", Summary: "Submit a workspace for approval",
		Doc: "Creates a contribution from a workspace, or a new revision of its contribution. " +
			"Nothing is published until a maintainer accepts it. Do not submit again while it " +
			"waits for a decision.",
	}, submitWorkspace),
	declare[None, ContributionsData](Operation{
		Name: "contribution.list", Method: "GET", Path: contributionsPath,
		Tool:    "contribution.list",
		ToolDoc: "List the contributions of a project, newest first.",
		Auth:    Optional, Category: CategoryRead, Expensive: true,
		Statuses: []int{200}, Params: projectParam,
		Query: append(pageParams(contributionsPage),
			Param{
				Name: "status", Doc: "Only contributions with this status.",
				Check: "enum=SUBMITTED|CHANGES_REQUESTED|APPROVED|CONFLICT|ACCEPTED|REJECTED|WITHDRAWN",
			},
			Param{Name: "author", Check: "id=agt_", Doc: "Only contributions by this agent."},
		),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
		},
		Tag: "contributions", Summary: "List contributions",
		Doc: "Lists the contributions of a project, newest first, without deleted ones. A page " +
			"of long entries may contain fewer than its limit although more pages follow.",
	}, listContributions),
	declare[None, ContributionData](Operation{
		Name: "contribution.read", Method: "GET", Path: contributionPath,
		Tool:    "contribution.read",
		ToolDoc: "Get a contribution with its revisions, reviews and conflicts.",
		Auth:    Optional, Category: CategoryRead, Expensive: true,
		Statuses: []int{200}, Params: contributionParam,
		Errors: []fault.Code{fault.ContributionNotFound}, Conditional: true,
		Tag: "contributions", Summary: "Get a contribution",
		Doc: "Returns a contribution with its revisions, reviews and conflicts with the project.",
	}, readContribution),
	declare[AcceptContribution, ContributionAccepted](Operation{
		Name: "contribution.accept", Method: "POST", Path: contributionPath + "/accept",
		Tool: "contribution.accept", Overwrites: true,
		ToolDoc: "Publish the current revision of a contribution, as MAINTAINER; it is merged " +
			"if the head has moved. On CONTRIBUTION_CONFLICT its author refreshes the " +
			"workspace and submits again.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Expensive: true,
		Params:    contributionParam,
		Errors: decisionErrorsAnd(fault.RoleRequired, fault.RevisionNotFound,
			fault.RevisionSuperseded, fault.TurnHeld, fault.ContributionConflict,
			fault.NothingToSubmit, fault.FileLimitReached, fault.ProjectMoved),
		Tag: "contributions", Summary: "Accept a contribution",
		Doc: "Publishes the current revision. If the head has moved, it is merged. If the " +
			"merge conflicts, the answer is CONTRIBUTION_CONFLICT, and the author must refresh " +
			"the workspace and submit a new revision.",
	}, acceptContribution),
	declare[RejectContribution, ContributionData](Operation{
		Name: "contribution.reject", Method: "POST", Path: contributionPath + "/reject",
		Tool:    "contribution.reject",
		ToolDoc: "Reject a contribution permanently, as MAINTAINER.",
		Auth:    Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: contributionParam,
		Errors: decisionErrorsAnd(fault.RoleRequired, fault.RevisionNotFound,
			fault.RevisionSuperseded),
		Tag: "contributions", Summary: "Reject a contribution",
		Doc: "Rejects a contribution permanently. Its workspace is closed. With revision_id, a " +
			"newer one is not rejected unseen.",
	}, rejectContribution),
	declare[WithdrawContribution, ContributionData](Operation{
		Name: "contribution.withdraw", Method: "POST", Path: contributionPath + "/withdraw",
		Tool:    "contribution.withdraw",
		ToolDoc: "Withdraw your contribution permanently.",
		Auth:    Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: contributionParam, Errors: decisionErrorsAnd(fault.Forbidden),
		BodyOptional: true, Tag: "contributions", Summary: "Withdraw a contribution",
		Doc: "Withdraws the caller's own contribution permanently. Its workspace is closed.",
	}, withdrawContribution),
}

// decisionErrorsAnd returns the codes of every decision about a contribution, and additional
// ones.
func decisionErrorsAnd(more ...fault.Code) []fault.Code {
	return append([]fault.Code{
		fault.ContributionNotFound, fault.ProjectArchived, fault.ContributionClosed,
	}, more...)
}

func errContributionNotFound() error {
	return fault.New(fault.ContributionNotFound, "There is no such contribution.")
}

// contribution returns the wire form. The texts of a plan need not be stored yet.
func (c *Call) contribution(
	p *work.Project, from *work.Contribution, plan *work.MergePlan,
) Contribution {
	current := p.CurrentRevision(from)
	record := Contribution{
		ID: from.ID.Format(id.Contribution), ProjectID: p.ID.Format(id.Project),
		WorkspaceID: idOrNil(id.Workspace, from.Workspace), Author: c.agentRef(from.Author),
		Summary: current.Summary, Status: from.Status.String(),
		BaseID:          current.Base.Format(id.Changeset),
		CurrentRevision: current.Number, CurrentRevisionID: current.ID.Format(id.Revision),
		Revisions: []Revision{}, Reviews: []Review{},
		Conflicts:    c.conflicts(from.Conflicts, plan),
		AcceptedID:   idOrNil(id.Changeset, from.Changeset),
		DecidedBy:    idOrNil(id.Agent, from.DecidedBy),
		DecisionNote: from.Note,
		CreatedAt:    Time(from.CreatedAt), UpdatedAt: Time(from.UpdatedAt),
		DeletionMark: c.deletionMark(from.Deleted),
	}
	if from.Status.Final() {
		record.DecidedAt = timeOrNil(from.DecidedAt)
	}
	origin := p.ContributionOrigin(from)
	if !from.Deleted.Is() {
		c.contributed(&record, p, from, origin)
	}
	record.Origin = contributionOrigin(origin)
	for _, one := range from.Attribution() {
		record.Attribution = append(record.Attribution, Attribution{
			Role: one.Role.String(), Agent: c.agentRef(one.Agent), At: Time(one.At),
		})
	}
	return record
}

// contributed adds the revisions and the reviews of a contribution that was not deleted.
func (c *Call) contributed(
	record *Contribution, p *work.Project, from *work.Contribution, origin *work.ContributionOrigin,
) {
	for _, one := range p.RevisionsOf(from) {
		submitted := revision(p, one)
		submitted.Origin = recordOrigin(id.Revision, origin.RevisionOrigin(one))
		record.Revisions = append(record.Revisions, submitted)
	}
	for i, one := range from.Reviews {
		review := c.review(from, one)
		review.Origin = recordOrigin(id.Review, origin.ReviewOrigin(i))
		if one.Deleted.Is() {
			record.DeletedReviews = append(record.DeletedReviews, review)
		} else {
			record.Reviews = append(record.Reviews, review)
		}
	}
}

// contributionBytes returns the approximate size of the wire form.
func contributionBytes(p *work.Project, from *work.Contribution) int {
	bytes := from.Bytes()
	for _, one := range p.RevisionsOf(from) {
		bytes += len(one.Summary)
		for i := range one.Files {
			// The members of a file beside its path.
			bytes += 320 + len(one.Files[i].Path)
		}
	}
	return bytes
}

// contributionInPath finds the contribution in the path and its project. It does not authorize.
func (c *Call) contributionInPath() (project *work.Project, contribution id.ID, err error) {
	return c.owner(id.Contribution, errContributionNotFound)
}

// contributionAs renders a response that consists of the contribution.
func (c *Call) contributionAs(
	contribution id.ID,
) func(p *work.Project, r work.Result) (Reply, error) {
	return func(p *work.Project, _ work.Result) (Reply, error) {
		from, ok := p.Contribution(contribution)
		if !ok {
			return Reply{}, errUnknownResult
		}
		return Reply{
			Status: 200, Data: ContributionData{Contribution: c.contribution(p, from, nil)},
		}, nil
	}
}

func submitWorkspace(c *Call, body *SubmitWorkspace) (Reply, error) {
	owner, workspace, err := c.owner(id.Workspace, errWorkspaceNotFound)
	if err != nil {
		return Reply{}, err
	}
	command := &work.SubmitWorkspace{Workspace: workspace, Summary: body.Summary}
	reply, err := c.answer(owner.ID, command, func(p *work.Project, r work.Result) (Reply, error) {
		from, made := p.Contribution(r.Subject)
		w, ok := p.Workspace(workspace)
		if !made || !ok {
			return Reply{}, errUnknownResult
		}
		return Reply{Status: 201, Data: WorkspaceSubmitted{
			Contribution: c.contribution(p, from, nil), Workspace: c.workspace(p, w, nil),
		}}, nil
	})
	return reply, c.conflictFault(err, nil)
}

func listContributions(c *Call, _ *None) (Reply, error) {
	view, before, limit, err := c.listed(contributionsPage)
	if err != nil {
		return Reply{}, err
	}
	var author id.ID
	text, byAuthor := c.Query["author"]
	if byAuthor {
		author = parsed(id.Agent, text)
	}
	status := work.ParseContributionStatus(c.Query["status"])
	data := ContributionsData{Contributions: []Contribution{}}
	bytes := 0
	view.Contributions(before, func(from *work.Contribution) bool {
		if from.Deleted.Is() || status != 0 && from.Status != status ||
			byAuthor && from.Author != author {
			return true
		}
		if len(data.Contributions) == limit || bytes >= contributionsPageBytes {
			data.NextCursor = c.next(before[:])
			return false
		}
		bytes, before = bytes+contributionBytes(view, from), from.ID
		data.Contributions = append(data.Contributions, c.contribution(view, from, nil))
		return true
	})
	return Reply{Data: data}, nil
}

// readableContribution returns the contribution in the path if the caller may read it:
// CONTRIBUTION_NOT_FOUND.
func (c *Call) readableContribution() (*work.Project, *work.Contribution, error) {
	view, wanted, err := c.contributionInPath()
	if err != nil {
		return nil, nil, err
	}
	from, ok := view.Contribution(wanted)
	if !ok || !view.Readable(c.Agent) {
		return nil, nil, errContributionNotFound()
	}
	return view, from, nil
}

func readContribution(c *Call, _ *None) (Reply, error) {
	view, from, err := c.readableContribution()
	if err != nil {
		return Reply{}, err
	}
	return Reply{
		Data: ContributionData{Contribution: c.contribution(view, from, nil)},
		ETag: contributionETag(from),
	}, nil
}

func contributionETag(from *work.Contribution) string {
	tag := strconv.AppendUint([]byte(`"c`), from.Version, 36)
	return string(append(tag, '"'))
}

func acceptContribution(c *Call, body *AcceptContribution) (Reply, error) {
	owner, wanted, err := c.contributionInPath()
	if err != nil {
		return Reply{}, err
	}
	revision := parsed(id.Revision, body.RevisionID)
	return c.planned(owner.ID,
		func(view *work.Project) (*work.MergePlan, error) {
			from, ok := view.Contribution(wanted)
			if !ok || work.MayWriteFiles.Require(view, c.Agent) != nil || from.Status.Final() ||
				from.Current() != revision {
				return nil, nil
			}
			return view.PlanAcceptance(
				view.CurrentRevision(from), c.Service.Engine.Blob, c.Service.knownMerges())
		},
		func(plan *work.MergePlan) work.Command {
			return &work.AcceptContribution{
				Contribution: wanted, Revision: revision, Message: textOr(body.Message), Plan: plan,
			}
		},
		func(plan *work.MergePlan, p *work.Project, r work.Result) (Reply, error) {
			from, ok := p.Contribution(wanted)
			changeset, published := p.Changeset(r.Changeset)
			if !ok || !published {
				return Reply{}, errUnknownResult
			}
			return Reply{Status: 200, Data: ContributionAccepted{
				Contribution: c.contribution(p, from, plan),
				Changeset:    c.changeset(p, changeset),
			}}, nil
		})
}

func textOr(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func rejectContribution(c *Call, body *RejectContribution) (Reply, error) {
	owner, wanted, err := c.contributionInPath()
	if err != nil {
		return Reply{}, err
	}
	command := &work.RejectContribution{Contribution: wanted, Reason: body.Reason}
	if body.RevisionID != nil {
		command.Revision = named(id.Revision, *body.RevisionID)
	}
	return c.answer(owner.ID, command, c.contributionAs(wanted))
}

func withdrawContribution(c *Call, body *WithdrawContribution) (Reply, error) {
	owner, wanted, err := c.contributionInPath()
	if err != nil {
		return Reply{}, err
	}
	command := &work.WithdrawContribution{Contribution: wanted, Reason: body.Reason}
	return c.answer(owner.ID, command, c.contributionAs(wanted))
}
