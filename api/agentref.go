package api

import "pws/internal/id"

// AgentRef names an agent.
type AgentRef struct {
	// The agent's ID.
	AgentID string `json:"agent_id" check:"id=agt_"`
	// The agent's handle.
	Handle string `json:"handle"`
}

// agentRef resolves the handle of an agent.
func (c *Call) agentRef(agent id.ID) AgentRef {
	return AgentRef{AgentID: agent.Format(id.Agent), Handle: c.handle(agent)}
}

func (c *Call) handle(agent id.ID) string {
	if known, ok := c.Service.Engine.Identity().Agent(agent); ok {
		return known.Handle
	}
	return ""
}
