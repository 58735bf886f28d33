package work

import (
	"pws/internal/fault"
	"pws/internal/id"
)

// limited reports whether an agent may change only the progress of a task: it holds the claim, and
// nothing else permits it to write tasks.
func (p *Project) limited(t *Task, agent id.ID) bool {
	return t.heldBy(agent) && p.needsClaim(agent)
}

// needsClaim reports whether only a claim permits an agent to write tasks and handoffs: it is not a
// member, and has no other permission to work.
func (p *Project) needsClaim(agent id.ID) bool {
	return !p.IsMember(agent) && MayWork.Require(p, agent) != nil
}

// progress returns the part of a change that a limited holder may make: the status unless it
// cancels the task, the blocker and the result. It may change nothing that is not listed here.
func (c TaskChange) progress() TaskChange {
	progress := TaskChange{Blocked: c.Blocked, Result: c.Result}
	switch c.Status {
	case TaskOpen, TaskInProgress, TaskBlocked, TaskInReview, TaskDone:
		progress.Status = c.Status
	}
	return progress
}

// requireProgress checks that a change is one of progress alone: ROLE_REQUIRED with the other
// fields.
func (c *UpdateTask) requireProgress() error {
	change := &c.Change
	if *change == change.progress() {
		return nil
	}
	var fields []fault.Field
	for _, one := range [...]struct {
		name string
		sent bool
	}{
		{"title", change.Title != nil},
		{"description", change.Description != nil},
		{"priority", change.Priority != 0},
		{"task_type", change.Type != nil},
		{"skills", change.Skills != nil},
		{"dependencies", change.Dependencies != nil},
		{"related_files", change.RelatedFiles != nil},
		{"expected_output", change.ExpectedOutput != nil},
		{"completion_conditions", change.Conditions != nil},
		{"parent_task_id", change.Parent != nil},
		{"status", change.Status == TaskCancelled},
	} {
		if one.sent {
			fields = append(fields, fault.Field{
				Field: c.Field + one.name, Problem: "needs the role CONTRIBUTOR",
			})
		}
	}
	return fault.New(fault.RoleRequired, "A holder that is not a member may change only status, "+
		"blocked and result, and may not cancel the task.").
		With("required", Contributor.String()).With("role", nil).With("fields", fields)
}

// reported returns the change as that of a holder who is not a member: DONE becomes IN_REVIEW,
// until a member confirms it. The second result says whether it was DONE.
func (c TaskChange) reported() (TaskChange, bool) {
	if c.Status != TaskDone {
		return c, false
	}
	c.Status = TaskInReview
	return c, true
}

// awaitsMember reports whether an agent that is not a member has finished the task, and no member
// has confirmed it.
func (t *Task) awaitsMember() bool {
	return t.Status == TaskInReview && t.Claim == nil && !t.WorkGuest.IsZero()
}

// signed sets who wrote the changed parts of a task; the agent is zero for a member.
func (t *Task) signed(before *Task, guest id.ID) {
	if !t.sameSpec(before) {
		t.SpecGuest = guest
	}
	if !t.sameWork(before) {
		t.WorkGuest = guest
	}
}

// guest returns an agent that is not a member, the zero ID for a member.
func (p *Project) guest(agent id.ID) id.ID {
	if p.IsMember(agent) {
		return id.ID{}
	}
	return agent
}

// countTask counts a task and its texts, or removes them from the counts if times is -1. Texts that
// members wrote are counted for no agent.
func (p *Project) countTask(t *Task, times int) {
	p.texts += times * t.Bytes()
	p.awayBytes += times * t.Texts().Bytes()
	p.countUsage(t.CreatedBy, quotaTasks, times)
	if t.awaitsMember() {
		p.countUsage(t.WorkGuest, quotaUnconfirmed, times)
	}
	if !t.SpecGuest.IsZero() {
		p.countUsage(t.SpecGuest, quotaTexts, times*t.Spec.bytes())
	}
	if !t.WorkGuest.IsZero() {
		p.countUsage(t.WorkGuest, quotaTexts, times*t.workBytes())
	}
}

// textsOf returns the size of the texts of a task that count for an agent: those that it wrote
// last, or all that members wrote last if the agent is zero.
func (t *Task) textsOf(guest id.ID) (size int) {
	if t.SpecGuest == guest {
		size += t.Spec.bytes()
	}
	if t.WorkGuest == guest {
		size += t.workBytes()
	}
	return size
}

// requireTaskTexts checks the limit for the texts of a changed task: QUOTA_EXCEEDED.
func (p *Project) requireTaskTexts(t, next *Task, agent id.ID) error {
	guest := p.guest(agent)
	return p.requireQuota(agent, quotaTexts, next.textsOf(guest)-t.textsOf(guest))
}

// claimsOf returns the number of claims that an agent holds in a project. Expired ones were removed
// before.
func (p *Project) claimsOf(agent id.ID) (count int) {
	p.tasks().claimed.scan(func(t *Task) bool {
		if t.heldBy(agent) {
			count++
		}
		return true
	})
	return count
}

// requireClaimQuota checks the limits for another claim of an agent that is not a member, those of
// live claims and that of unconfirmed results: QUOTA_EXCEEDED. Elsewhere is the number of claims
// that it holds in other projects of which it is not a member.
func (p *Project) requireClaimQuota(agent id.ID, elsewhere int) error {
	if p.IsMember(agent) {
		return nil
	}
	here := p.claimsOf(agent)
	switch {
	case here >= GuestClaimsMax:
		return errQuota(QuotaClaimsInProject, GuestClaimsMax)
	case here+elsewhere >= GuestClaimsInAllMax:
		return errQuota(QuotaClaimsInAll, GuestClaimsInAllMax)
	}
	if !p.needsClaim(agent) {
		return nil
	}
	// DONE ends the claim of a guest. Without this limit one guest could take all open tasks.
	return p.requireQuota(agent, quotaUnconfirmed, 1)
}

// The names of the quotas of live claims.
const (
	QuotaClaimsInProject = "claims_of_agent"
	QuotaClaimsInAll     = "claims_of_agent_in_all_projects"
)
