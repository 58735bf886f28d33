package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// Claim is an agent's lease of a task. It expires by comparison with the current time alone.
type Claim struct {
	ID          id.ID `cbor:"1,keyasint"`
	Agent       id.ID `cbor:"2,keyasint"`
	WorkSession id.ID `cbor:"3,keyasint"`
	// Token is the fencing token. It is higher than the token of any earlier claim of the task.
	Token uint64 `cbor:"4,keyasint"`
	// ClaimedAt, RenewedAt and ExpiresAt are Unix milliseconds.
	ClaimedAt int64 `cbor:"5,keyasint"`
	RenewedAt int64 `cbor:"6,keyasint"`
	ExpiresAt int64 `cbor:"7,keyasint"`
	// Before is the status that the task returns to when the claim ends.
	Before TaskStatus `cbor:"8,keyasint"`
	// EndsBlock is set if the status BLOCKED ends with the claim.
	EndsBlock bool `cbor:"9,keyasint,omitempty"`
}

// renewed returns the claim with a new end; times are Unix milliseconds.
func (c *Claim) renewed(now, expiresAt int64) *Claim {
	next := *c
	next.RenewedAt, next.ExpiresAt = now, expiresAt
	return &next
}

// endingBlock returns the claim with another value of EndsBlock.
func (c *Claim) endingBlock(ends bool) *Claim {
	if c == nil || c.EndsBlock == ends {
		return c
	}
	next := *c
	next.EndsBlock = ends
	return &next
}

// heldBy reports whether an agent holds the claim of a task, which was read by At.
func (t *Task) heldBy(agent id.ID) bool { return t.Claim != nil && t.Claim.Agent == agent }

// onceHeldBy reports whether an agent is among those who made the newest claims of a task.
func (t *Task) onceHeldBy(agent id.ID) bool {
	return !agent.IsZero() && slices.Contains(t.Holders, agent)
}

// lastHeldBy reports whether an agent made the newest claim of a task.
func (t *Task) lastHeldBy(agent id.ID) bool {
	return len(t.Holders) > 0 && t.Holders[len(t.Holders)-1] == agent
}

// withHolder returns the list with an agent at its end, each agent once. The oldest is dropped
// if the list is full.
func withHolder(holders []id.ID, agent id.ID) []id.ID {
	next := make([]id.ID, 0, len(holders)+1)
	for _, one := range holders {
		if one != agent {
			next = append(next, one)
		}
	}
	next = append(next, agent)
	return next[max(0, len(next)-taskHoldersMax):]
}

// ClaimProof identifies the claim that a caller believes it holds; nil checks nothing.
type ClaimProof struct {
	Claim *id.ID
	Token *uint64
}

// require returns CLAIM_LOST if a claim was given that has ended or belongs to another agent.
func (proof ClaimProof) require(t *Task, agent id.ID) error {
	if proof.Claim == nil && proof.Token == nil {
		return nil
	}
	if !t.heldBy(agent) || proof.Claim != nil && *proof.Claim != t.Claim.ID ||
		proof.Token != nil && *proof.Token != t.Claim.Token {
		return errClaimLost(t)
	}
	return nil
}

func errClaimLost(t *Task) error {
	return fault.New(fault.ClaimLost,
		"The claim has expired, was released, or belongs to another agent.").
		With("task_id", t.ID.Format(id.Task))
}

// errTaskClaimed returns TASK_ALREADY_CLAIMED with the holder's ID and the end of its claim in
// Unix milliseconds.
func errTaskClaimed(t *Task) error {
	return fault.New(fault.TaskAlreadyClaimed, "The task has a live claim.").
		With("holder", t.Claim.Agent.Format(id.Agent)).With("expires_at", t.Claim.ExpiresAt)
}

// ClaimTask claims a task.
type ClaimTask struct {
	Task id.ID
	// Elsewhere is the number of live claims that the caller holds in other projects of which it is
	// not a member.
	Elsewhere int
}

// Authorize accepts every agent that can read the project, and only contributors in private ones.
func (c *ClaimTask) Authorize(p *Project, agent id.ID) error {
	return MayClaim.requireOr(p, agent, errTaskNotFound())
}

// Decide returns TASK_NOT_FOUND, PROJECT_ARCHIVED, TASK_ALREADY_CLAIMED, TASK_NOT_CLAIMABLE,
// DEPENDENCIES_UNMET and QUOTA_EXCEEDED.
func (c *ClaimTask) Decide(p *Project, stamp Stamp) (Decision, error) {
	t, ok := p.task(c.Task)
	if !ok {
		return Decision{}, errTaskNotFound()
	}
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	if err := requireClaimable(p, t); err != nil {
		return Decision{}, err
	}
	if err := p.requireClaimQuota(stamp.Agent, c.Elsewhere); err != nil {
		return Decision{}, err
	}
	return decideClaim(p, t, stamp), nil
}

func requireClaimable(p *Project, t *Task) error {
	if t.Claim != nil {
		return errTaskClaimed(t)
	}
	if t.Status.Final() || t.Status == TaskBlocked {
		return fault.New(fault.TaskNotClaimable, "A task of this status cannot be claimed.").
			With("status", t.Status.String())
	}
	if unmet := p.Unmet(t); len(unmet) > 0 {
		names := make([]string, len(unmet))
		for i, one := range unmet {
			names[i] = one.Format(id.Task)
		}
		return fault.New(fault.DependenciesUnmet, "The task depends on tasks that are not done.").
			With("unmet", names)
	}
	return nil
}

func decideClaim(p *Project, t *Task, stamp Stamp) Decision {
	claimed := &TaskClaimed{
		Task: t.ID, Claim: stamp.ID(0), Token: t.Token + 1, WorkSession: p.sessionOf(stamp),
		ExpiresAt: stamp.Now + LeaseSeconds*1000,
	}
	return Decision{Events: []Event{claimed}, Result: Result{Created: true, Subject: t.ID}}
}

// ClaimNext claims the first open task that matches.
type ClaimNext struct {
	// Skills are the skills of the caller: a task matches if it needs no others. Nil matches all
	// tasks.
	Skills []string
	// Type is the requested task type, empty for any.
	Type string
	// Elsewhere is the number of live claims that the caller holds in other projects of which it is
	// not a member.
	Elsewhere int

	// skills is the set of the Skills, made for the first task that requires some.
	skills map[string]bool
}

// Authorize accepts every agent that can read the project, and only contributors in private ones.
func (c *ClaimNext) Authorize(p *Project, agent id.ID) error {
	return MayClaim.Require(p, agent)
}

// Decide returns PROJECT_ARCHIVED, TASK_NOT_FOUND if no task matches, and QUOTA_EXCEEDED.
func (c *ClaimNext) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	var best *Task
	p.tasks().open.scan(func(t *Task) bool {
		if c.Fits(t) && !p.Waits(t) {
			best = t
		}
		return best == nil
	})
	if best == nil {
		return Decision{}, fault.New(fault.TaskNotFound, "No open task matches.")
	}
	if err := p.requireClaimQuota(stamp.Agent, c.Elsewhere); err != nil {
		return Decision{}, err
	}
	return decideClaim(p, best, stamp), nil
}

// Fits reports whether the caller has all skills that a task requires.
func (c *ClaimNext) Fits(t *Task) bool {
	if c.Type != "" && t.Spec.Type != c.Type {
		return false
	}
	if c.Skills == nil || len(t.Spec.Skills) == 0 {
		return true
	}
	if c.skills == nil {
		c.skills = make(map[string]bool, len(c.Skills))
		for _, skill := range c.Skills {
			c.skills[skill] = true
		}
	}
	return !slices.ContainsFunc(t.Spec.Skills, func(skill string) bool { return !c.skills[skill] })
}

// TaskClaimed is the event of a new claim.
type TaskClaimed struct {
	Task        id.ID  `cbor:"1,keyasint"`
	Claim       id.ID  `cbor:"2,keyasint"`
	Token       uint64 `cbor:"3,keyasint"`
	WorkSession id.ID  `cbor:"4,keyasint"`
	ExpiresAt   int64  `cbor:"5,keyasint"`
}

func (e *TaskClaimed) apply(p *Project, at Moment) {
	next := *p.mustTask(e.Task)
	next.Claim = &Claim{
		ID: e.Claim, Agent: at.Agent, WorkSession: e.WorkSession, Token: e.Token,
		ClaimedAt: at.Now, RenewedAt: at.Now, ExpiresAt: e.ExpiresAt, Before: next.Status,
	}
	next.Status = TaskInProgress
	next.Token, next.Holders = e.Token, withHolder(next.Holders, at.Agent)
	next.Version++
	next.UpdatedAt = at.Now
	p.putTask(&next)
	p.touch(at, 0, e.Task)
}

// RenewClaim extends a claim.
type RenewClaim struct {
	Task  id.ID
	Proof ClaimProof
}

// Authorize accepts every agent that may see the project; Decide checks the claim.
func (c *RenewClaim) Authorize(p *Project, agent id.ID) error {
	return readableOr(p, agent, errTaskNotFound())
}

// Decide returns TASK_NOT_FOUND, and CLAIM_LOST if the caller does not hold the claim.
func (c *RenewClaim) Decide(p *Project, stamp Stamp) (Decision, error) {
	t, ok := p.task(c.Task)
	if !ok {
		return Decision{}, errTaskNotFound()
	}
	if err := c.Proof.require(t, stamp.Agent); err != nil {
		return Decision{}, err
	}
	if !t.heldBy(stamp.Agent) {
		return Decision{}, errClaimLost(t)
	}
	return Decision{Events: []Event{renewal(t, stamp)}, Result: Result{Subject: t.ID}}, nil
}

// renewal returns the event that extends the claim of a task.
func renewal(t *Task, stamp Stamp) *ClaimRenewed {
	return &ClaimRenewed{Task: t.ID, ExpiresAt: stamp.Now + LeaseSeconds*1000}
}

// ClaimRenewed is the event of a claim that was extended.
type ClaimRenewed struct {
	Task      id.ID `cbor:"1,keyasint"`
	ExpiresAt int64 `cbor:"2,keyasint"`
}

func (e *ClaimRenewed) apply(p *Project, at Moment) {
	next := *p.mustTask(e.Task)
	next.Claim = next.Claim.renewed(at.Now, e.ExpiresAt)
	next.Version++
	next.UpdatedAt = at.Now
	p.putTask(&next)
}

// ReleaseTask releases a claim. Maintainers may release the claims of others.
type ReleaseTask struct {
	Task  id.ID
	Proof ClaimProof
}

// Authorize accepts every agent that may see the project; Decide checks the claim.
func (c *ReleaseTask) Authorize(p *Project, agent id.ID) error {
	return readableOr(p, agent, errTaskNotFound())
}

// Decide returns TASK_NOT_FOUND, and CLAIM_LOST if there is no claim or another agent holds it.
func (c *ReleaseTask) Decide(p *Project, stamp Stamp) (Decision, error) {
	t, ok := p.task(c.Task)
	if !ok {
		return Decision{}, errTaskNotFound()
	}
	if err := c.Proof.require(t, stamp.Agent); err != nil {
		return Decision{}, err
	}
	if t.Claim == nil || !t.heldBy(stamp.Agent) && p.RoleOf(stamp.Agent) < Maintainer {
		return Decision{}, errClaimLost(t)
	}
	released := &TaskReleased{Task: t.ID, Token: t.Token}
	return Decision{Events: []Event{released}, Result: Result{Subject: t.ID}}, nil
}

// TaskReleased is the event of a claim that was released.
type TaskReleased struct {
	Task id.ID `cbor:"1,keyasint"`
	// Token is the token of the claim.
	Token uint64 `cbor:"2,keyasint"`
}

func (e *TaskReleased) apply(p *Project, at Moment) {
	p.putTask(p.mustTask(e.Task).freed(at.Now))
	p.touch(at, 0, e.Task)
}

// ExpireClaims records the claims that have expired, so that watchers see the end of a claim. No
// rule depends on it.
type ExpireClaims struct{}

// Authorize accepts the service itself, which is not an agent.
func (c *ExpireClaims) Authorize(p *Project, agent id.ID) error {
	if p == nil || !agent.IsZero() {
		return fault.NoProject()
	}
	return nil
}

// Decide returns no events: package function Decide records expired claims for every command.
func (c *ExpireClaims) Decide(*Project, Stamp) (Decision, error) { return Decision{}, nil }

// TaskClaimExpired is the event of an expired claim. It is recorded some time after the expiry.
type TaskClaimExpired struct {
	Task id.ID `cbor:"1,keyasint"`
	// Agent held the claim with this token.
	Agent id.ID  `cbor:"2,keyasint"`
	Token uint64 `cbor:"3,keyasint"`
}

func (e *TaskClaimExpired) apply(p *Project, _ Moment) {
	t := p.mustTask(e.Task)
	p.putTask(t.freed(t.Claim.ExpiresAt))
}

// expireClaims returns the project without expired claims, and the events that record their expiry.
func expireClaims(p *Project, stamp Stamp) (*Project, []Event) {
	if p == nil {
		return nil, nil
	}
	if first := p.NextExpiry(); first == 0 || first > stamp.Now {
		return p, nil
	}
	var expired []Event
	p.over(stamp.Now, func(t *Task) {
		expired = append(expired, &TaskClaimExpired{
			Task: t.ID, Agent: t.Claim.Agent, Token: t.Claim.Token,
		})
	})
	next := p.Clone()
	for _, event := range expired {
		next.Apply(event, Moment{Now: stamp.Now})
	}
	return next, expired
}
