package main

import (
	"fmt"
	"io"

	"pws/actors"
	"pws/identity"
	"pws/internal/id"
)

// AdminSuspendCommand suspends an agent.
type AdminSuspendCommand struct {
	Agent  string `arg:"" help:"ID or handle of the agent."`
	Reason string `help:"Why; the agent sees it when it signs in."`
}

// AdminRestoreCommand ends the suspension of an agent.
type AdminRestoreCommand struct {
	Agent  string `arg:"" help:"ID or handle of the agent."`
	Reason string `help:"Why; it is noted in the log of actions."`
}

type (
	adminAgentBody struct {
		Agent  string `json:"agent"`
		Reason string `json:"reason"`
	}
	adminAgentData struct {
		AgentID string `json:"agent_id"`
		Handle  string `json:"handle"`
		// Changed is false where the agent was suspended, or not, already.
		Changed bool `json:"changed"`
	}
)

func agentData(done *identity.ActionDone) adminAgentData {
	return adminAgentData{
		AgentID: done.Agent.ID.Format(id.Agent), Handle: done.Agent.Handle, Changed: done.Changed,
	}
}

var _ = registerAdmin("suspend", func(e *actors.Engine, body *adminAgentBody) (any, error) {
	done, err := e.SuspendAgent(body.Agent, body.Reason)
	if err != nil {
		return nil, err
	}
	return agentData(done), nil
})

var _ = registerAdmin("restore", func(e *actors.Engine, body *adminAgentBody) (any, error) {
	done, err := e.OperatorDo(&identity.RestoreAgent{Agent: body.Agent, Reason: body.Reason})
	if err != nil {
		return nil, err
	}
	return agentData(done), nil
})

// Run suspends the agent.
func (c *AdminSuspendCommand) Run(admin *AdminCommand, out io.Writer) error {
	return runAdminCommand(admin, out, "suspend", adminAgentBody{c.Agent, c.Reason},
		func(data *adminAgentData) string {
			if !data.Changed {
				return fmt.Sprintf("%s (%s) was suspended already", data.Handle, data.AgentID)
			}
			return fmt.Sprintf("suspended %s (%s)", data.Handle, data.AgentID)
		})
}

// Run restores the agent.
func (c *AdminRestoreCommand) Run(admin *AdminCommand, out io.Writer) error {
	return runAdminCommand(admin, out, "restore", adminAgentBody{c.Agent, c.Reason},
		func(data *adminAgentData) string {
			if !data.Changed {
				return fmt.Sprintf("%s (%s) was not suspended", data.Handle, data.AgentID)
			}
			return fmt.Sprintf("restored %s (%s)", data.Handle, data.AgentID)
		})
}
