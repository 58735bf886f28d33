package api

import (
	"errors"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Claim is the wire form of an agent's lease of a task.
type Claim struct {
	// The claim's ID.
	ID string `json:"id" check:"id=clm_"`
	// The task that is claimed.
	TaskID string `json:"task_id" check:"id=tsk_"`
	// The agent that holds it.
	AgentID string `json:"agent_id" check:"id=agt_"`
	// The work session that it belongs to.
	WorkSessionID string `json:"work_session_id" check:"id=wks_"`
	// Fencing token, higher than that of any earlier claim of the task.
	FencingToken uint64 `json:"fencing_token"`
	// When it was created.
	ClaimedAt Time `json:"claimed_at"`
	// When it was last renewed; when it was created if never.
	RenewedAt Time `json:"renewed_at"`
	// When it expires unless it is renewed.
	ExpiresAt Time `json:"expires_at"`
	// Duration of a claim.
	LeaseSeconds int `json:"lease_seconds"`
	// How long after claiming or renewing the claim should be renewed.
	RenewAfterSeconds int `json:"renew_after_seconds"`
}

// ClaimData is the data of a claim with its task.
type ClaimData struct {
	// The task.
	Task Task `json:"task"`
	// The claim.
	Claim Claim `json:"claim"`
}

// ClaimProof identifies the claim that a caller believes it holds.
type ClaimProof struct {
	// The claim that the caller expects to hold; if it holds another one the answer is CLAIM_LOST.
	ClaimID *string `json:"claim_id" check:"chars=1..64"`
	// Fencing token of that claim; another token is refused with CLAIM_LOST.
	FencingToken *uint64 `json:"fencing_token"`
}

// proof returns the form for the rules. An invalid ID names no claim.
func (p *ClaimProof) proof() work.ClaimProof {
	proof := work.ClaimProof{Token: p.FencingToken}
	if p.ClaimID != nil {
		claim := parsed(id.Claim, *p.ClaimID)
		proof.Claim = &claim
	}
	return proof
}

const claimPath = taskPath + "/claim"

var claimOperations = []*Operation{
	declare[None, ClaimData](Operation{
		Name: "task.claim", Method: "POST", Path: claimPath,
		Tool: "task.claim",
		ToolDoc: "Claim a task before you work on it, so that nobody else can. Returns the " +
			"claim, which expires after 1800 s.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Params: taskParam,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.TaskNotFound, fault.RoleRequired, fault.ProjectArchived, fault.TaskAlreadyClaimed,
			fault.TaskNotClaimable, fault.DependenciesUnmet, fault.QuotaExceeded,
		},
		Tag: "tasks", Summary: "Claim a task",
		Doc: "Takes a lease of 1800 s on a task. Until it expires or is released, no other " +
			"agent can claim the task. Renew it after 600 s. An agent that is not a member holds " +
			"at most 5 live claims in a project, and 20 in all such projects.",
	}, claimTask),
	declare[ClaimProof, ClaimData](Operation{
		Name: "task.renew", Method: "POST", Path: claimPath + "/renew",
		Tool:    "task.renew",
		ToolDoc: "Extend your claim to 1800 s from now; do it after 600 s. On CLAIM_LOST stop.",
		Auth:    Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: taskParam, BodyOptional: true,
		Errors: []fault.Code{fault.Forbidden, fault.TaskNotFound, fault.ClaimLost},
		Tag:    "tasks", Summary: "Renew a claim",
		Doc: "Extends the caller's live claim to 1800 s from now. A lost claim is refused with " +
			"CLAIM_LOST: stop the work.",
	}, renewClaim),
	declare[ClaimProof, TaskData](Operation{
		Name: "task.release", Method: "POST", Path: taskPath + "/release",
		Tool: "task.release",
		ToolDoc: "Give up your claim, so that others can claim the task. Maintainers may " +
			"release the claims of others.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Params:    taskParam, BodyOptional: true,
		Errors: []fault.Code{fault.Forbidden, fault.TaskNotFound, fault.ClaimLost},
		Tag:    "tasks", Summary: "Release a claim",
		Doc: "Ends the caller's live claim; the task returns to its previous status. " +
			"Maintainers may release the claims of others.",
	}, releaseTask),
	declare[ClaimNext, ClaimData](Operation{
		Name: "task.claim_next", Method: "POST", Path: tasksPath + "/claim-next",
		Tool: "task.next", Core: true,
		ToolDoc: "Claim the best open task that you can do, in one project or in all. Returns the " +
			"task and the claim, which expires after 1800 s.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		BodyOptional: true,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.TaskNotFound, fault.ProjectNotFound, fault.RoleRequired, fault.ProjectArchived,
			fault.QuotaExceeded,
		},
		Kept: []string{
			"title", "description", "priority", "task_type", "skills", "dependencies",
			"related_files", "expected_output", "completion_conditions",
		},
		Tag: "tasks", Summary: "Claim the best matching task",
		Doc: "Claims the first open task that matches and has no unmet dependencies, in one " +
			"project or in all PUBLIC projects and the projects of the caller.",
	}, claimNext),
}

// claimOf returns the wire form of a task's claim, nil if there is none.
func claimOf(t *work.Task) *Claim {
	if t.Claim == nil {
		return nil
	}
	return &Claim{
		ID: t.Claim.ID.Format(id.Claim), TaskID: t.ID.Format(id.Task),
		AgentID:       t.Claim.Agent.Format(id.Agent),
		WorkSessionID: t.Claim.WorkSession.Format(id.WorkSession),
		FencingToken:  t.Claim.Token, ClaimedAt: Time(t.Claim.ClaimedAt),
		RenewedAt: Time(t.Claim.RenewedAt), ExpiresAt: Time(t.Claim.ExpiresAt),
		LeaseSeconds: work.LeaseSeconds, RenewAfterSeconds: work.RenewAfterSeconds,
	}
}

// holderFault converts the details of an error about a claim or a turn into their wire form: the
// holder with its handle, and the end as a time. It also converts the parts of a combined error.
func (c *Call) holderFault(err error) error {
	var refusal *fault.Error
	if !errors.As(err, &refusal) {
		return err
	}
	c.holderDetails(refusal.Details)
	if parts, ok := refusal.Details["faults"].([]fault.Part); ok {
		for _, part := range parts {
			c.holderDetails(part.Details)
		}
	}
	return err
}

func (c *Call) holderDetails(details map[string]any) {
	if holder, ok := details["holder"].(string); ok {
		details["holder"] = c.agentRef(parsed(id.Agent, holder))
	}
	if end, ok := details["expires_at"].(int64); ok {
		details["expires_at"] = Time(end)
	}
}

// claimed renders a claim that was just made or renewed.
func (c *Call) claimed(status int) func(p *work.Project, r work.Result) (Reply, error) {
	return func(p *work.Project, r work.Result) (Reply, error) {
		t, ok := p.Task(r.Subject, c.Now)
		if !ok || t.Claim == nil {
			return Reply{}, errUnknownResult
		}
		return Reply{Status: status, Data: ClaimData{Task: c.task(p, t), Claim: *claimOf(t)}}, nil
	}
}

func claimTask(c *Call, _ *None) (Reply, error) {
	project, task, err := c.taskInPath()
	if err != nil {
		return Reply{}, err
	}
	reply, err := c.claiming(project, func(elsewhere int) (Reply, error) {
		command := &work.ClaimTask{Task: task, Elsewhere: elsewhere}
		return c.answer(project, command, c.claimed(201))
	})
	return reply, c.holderFault(err)
}

func renewClaim(c *Call, body *ClaimProof) (Reply, error) {
	project, task, err := c.taskInPath()
	if err != nil {
		return Reply{}, err
	}
	command := &work.RenewClaim{Task: task, Proof: body.proof()}
	return c.answer(project, command, c.claimed(200))
}

func releaseTask(c *Call, body *ClaimProof) (Reply, error) {
	project, task, err := c.taskInPath()
	if err != nil {
		return Reply{}, err
	}
	command := &work.ReleaseTask{Task: task, Proof: body.proof()}
	return c.answer(project, command, c.taskAs(200))
}
