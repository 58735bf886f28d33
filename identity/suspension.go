package identity

import (
	"pws/internal/fault"
	"pws/internal/id"
)

// SuspendAgent suspends an agent: its sessions end, and it cannot start another one until it is
// restored. What it has done stays. The result is *ActionDone.
type SuspendAgent struct {
	Agent  string // ID or handle
	Reason string
}

// Decide implements Command. AGENT_NOT_FOUND, VALIDATION_FAILED. Suspending a suspended agent
// replaces the reason.
func (c *SuspendAgent) Decide(s *State, _ Stamp) (Outcome, error) {
	if err := checkReason(c.Reason); err != nil {
		return Outcome{}, err
	}
	agent, ok := s.FindAgent(c.Agent)
	if !ok {
		return Outcome{}, fault.NoAgent()
	}
	noted := &ActionNoted{
		Action: ActionSuspend, Subject: agent.ID.Format(id.Agent), Reason: c.Reason,
	}
	return Outcome{
		Events: []Event{&AgentSuspended{Agent: agent.ID, Reason: c.Reason}, noted},
		Result: &ActionDone{Agent: agent, Changed: agent.SuspendedAt == 0},
	}, nil
}

// RestoreAgent ends the suspension of an agent. The result is *ActionDone.
type RestoreAgent struct {
	Agent  string // ID or handle
	Reason string
}

// Decide implements Command. AGENT_NOT_FOUND, VALIDATION_FAILED. Restoring an agent that is not
// suspended changes nothing.
func (c *RestoreAgent) Decide(s *State, _ Stamp) (Outcome, error) {
	if err := checkReason(c.Reason); err != nil {
		return Outcome{}, err
	}
	agent, ok := s.FindAgent(c.Agent)
	if !ok {
		return Outcome{}, fault.NoAgent()
	}
	if agent.SuspendedAt == 0 {
		return Outcome{Result: &ActionDone{Agent: agent}}, nil
	}
	noted := &ActionNoted{
		Action: ActionRestore, Subject: agent.ID.Format(id.Agent), Reason: c.Reason,
	}
	return Outcome{
		Events: []Event{&AgentRestored{Agent: agent.ID}, noted},
		Result: &ActionDone{Agent: agent, Changed: true},
	}, nil
}

// Suspended reports whether an agent is suspended. Every write asks; it costs nothing while no
// agent is.
func (s *State) Suspended(agent id.ID) bool {
	if s.suspended.len() == 0 {
		return false
	}
	_, ok := s.suspended.get(agent)
	return ok
}

// SuspendedAgents yields the agents that are suspended, in the order of their IDs.
func (s *State) SuspendedAgents() func(yield func(agent id.ID) bool) {
	return func(yield func(agent id.ID) bool) {
		s.suspended.scan(id.ID{}, func(agent id.ID, _ struct{}) bool { return yield(agent) })
	}
}

// requireNotSuspended returns AGENT_SUSPENDED.
func (a *Agent) requireNotSuspended() error {
	if a.SuspendedAt == 0 {
		return nil
	}
	return fault.New(fault.AgentSuspended, "An operator has suspended the agent.").
		With("agent_id", a.ID.Format(id.Agent)).With("suspended_at", formatTime(a.SuspendedAt)).
		With("reason", a.SuspendedFor)
}

// AgentSuspended suspends an agent and ends its sessions.
type AgentSuspended struct {
	Agent  id.ID  `cbor:"1,keyasint,omitzero"`
	Reason string `cbor:"2,keyasint,omitempty"`
}

// Kind implements Event.
func (*AgentSuspended) Kind() Kind { return KindAgentSuspended }

func (e *AgentSuspended) touched() (id.ID, bool) { return e.Agent, false }

func (e *AgentSuspended) apply(s *State, now int64) {
	agent := *s.mustAgent(e.Agent)
	if agent.SuspendedAt == 0 {
		agent.SuspendedAt = now
	}
	agent.SuspendedFor = e.Reason
	s.keepSessions(&agent, func(*Session) bool { return false })
	s.putAgent(&agent)
}

// AgentRestored ends the suspension of an agent.
type AgentRestored struct {
	Agent id.ID `cbor:"1,keyasint,omitzero"`
}

// Kind implements Event.
func (*AgentRestored) Kind() Kind { return KindAgentRestored }

func (e *AgentRestored) touched() (id.ID, bool) { return e.Agent, false }

func (e *AgentRestored) apply(s *State, _ int64) {
	agent := *s.mustAgent(e.Agent)
	agent.SuspendedAt, agent.SuspendedFor = 0, ""
	s.putAgent(&agent)
}
