package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// Block is an agent that may read a project like any other and may not write anything in it.
type Block struct {
	Agent  id.ID  `cbor:"1,keyasint"`
	Reason string `cbor:"2,keyasint,omitempty"`
	// By blocked the agent, At in Unix milliseconds.
	By id.ID `cbor:"3,keyasint"`
	At int64 `cbor:"4,keyasint"`
}

// Blocks returns the blocked agents in the order in which they were blocked. Callers must not
// modify the slice.
func (p *Project) Blocks() []Block { return p.saved.Blocks }

// Block finds the block of an agent.
func (p *Project) Block(agent id.ID) (Block, bool) {
	at := slices.IndexFunc(p.saved.Blocks, func(b Block) bool { return b.Agent == agent })
	if at < 0 {
		return Block{}, false
	}
	return p.saved.Blocks[at], true
}

// ReasonBlocked is the reason in the details of a refusal for a blocked agent.
const ReasonBlocked = "BLOCKED"

// RequireNotBlocked returns FORBIDDEN for a blocked agent.
func (p *Project) RequireNotBlocked(agent id.ID) error {
	if _, blocked := p.Block(agent); blocked {
		return fault.New(fault.Forbidden,
			"The owner or a maintainer has blocked the caller from writing in the project.").
			With("reason", ReasonBlocked)
	}
	return nil
}

// BlockAgent blocks an agent. Its claims and its turn end, tasks that it has finished and no member
// has confirmed are OPEN again, and its open workspaces are closed.
type BlockAgent struct {
	Agent  id.ID
	Reason string
}

// Authorize accepts maintainers and the owner.
func (c *BlockAgent) Authorize(p *Project, agent id.ID) error {
	return MayModerate.Require(p, agent)
}

// Decide returns PROJECT_ARCHIVED, MEMBER_EXISTS for members, and QUOTA_EXCEEDED. Blocking a
// blocked agent changes nothing. A former member may hold more claims than OrderEventsMax: the rest
// expire, because a blocked agent cannot renew them. So unconfirmed results beyond that stay.
func (c *BlockAgent) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	if role := p.RoleOf(c.Agent); role != NoRole {
		return Decision{}, fault.New(fault.MemberExists,
			"Members cannot be blocked. Remove the membership first.").With("role", role.String())
	}
	result := Result{Subject: c.Agent}
	if _, blocked := p.Block(c.Agent); blocked {
		return Decision{Result: result}, nil
	}
	if len(p.saved.Blocks) >= BlocksMax {
		return Decision{}, errQuota("blocks", BlocksMax)
	}
	events := p.withReleases([]Event{&AgentBlocked{Agent: c.Agent, Reason: c.Reason}},
		func(holder id.ID) bool { return holder == c.Agent })
	events = p.withReopened(events, c.Agent)
	for _, one := range p.openWorkspaces {
		if w, _ := p.Workspace(one); w.Agent == c.Agent {
			events = append(events, &WorkspaceEnded{
				Workspace: one, Expired: stamp.Now >= p.WorkspaceExpiry(w),
			})
		}
	}
	result.Created = true
	return Decision{Events: events, Result: result}, nil
}

// withReopened adds the events that open the tasks whose results of an agent await a member, also
// those whose claims the events end, until there are OrderEventsMax. The results stay with the
// tasks, as the agent's. In a COMMUNITY project no result awaits a member.
func (p *Project) withReopened(events []Event, agent id.ID) []Event {
	if !p.needsClaim(agent) {
		return events
	}
	reopen := func(t *Task) bool {
		if len(events) >= OrderEventsMax {
			return false
		}
		if t.Status == TaskInReview && t.WorkGuest == agent && (t.Claim == nil || t.heldBy(agent)) {
			events = append(events, &TaskUpdated{
				Task: t.ID, Change: TaskChange{Status: TaskOpen}, Guest: agent,
			})
		}
		return true
	}
	p.tasks().rest.scan(reopen)
	p.tasks().claimed.scan(reopen)
	return events
}

// AgentBlocked is the event of a blocked agent. Other events of the same command end its claims,
// open its unconfirmed tasks and close its workspaces.
type AgentBlocked struct {
	Agent  id.ID  `cbor:"1,keyasint"`
	Reason string `cbor:"2,keyasint,omitempty"`
}

func (e *AgentBlocked) apply(p *Project, at Moment) {
	p.saved.Blocks = append(slices.Clip(p.saved.Blocks), Block{
		Agent: e.Agent, Reason: e.Reason, By: at.Agent, At: at.Now,
	})
}

// UnblockAgent ends the block of an agent.
type UnblockAgent struct{ Agent id.ID }

// Authorize accepts maintainers and the owner.
func (c *UnblockAgent) Authorize(p *Project, agent id.ID) error {
	return MayModerate.Require(p, agent)
}

// Decide returns no error. It changes nothing if the agent is not blocked.
func (c *UnblockAgent) Decide(p *Project, _ Stamp) (Decision, error) {
	decision := Decision{Result: Result{Subject: c.Agent}}
	if _, blocked := p.Block(c.Agent); blocked {
		decision.Events = []Event{&AgentUnblocked{Agent: c.Agent}}
	}
	return decision, nil
}

// AgentUnblocked is the event of a block that ended.
type AgentUnblocked struct {
	Agent id.ID `cbor:"1,keyasint"`
}

func (e *AgentUnblocked) apply(p *Project, _ Moment) {
	p.saved.Blocks = slices.DeleteFunc(slices.Clone(p.saved.Blocks),
		func(b Block) bool { return b.Agent == e.Agent })
	if len(p.saved.Blocks) == 0 {
		p.saved.Blocks = nil
	}
}
