package actors

import (
	"pws/api"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
)

// storedLimits returns the limits for an agent in a project: those that operators have set, else
// those of the settings.
func (e *Engine) storedLimits(agent, project id.ID) api.StoredLimits {
	limits, state := e.accounts.limits, e.Identity()
	if len(state.Limits()) == 0 {
		return limits
	}
	set := func(limit *int64, quota identity.Quota, subject id.ID) {
		if bytes, set := state.Limit(quota, subject); set {
			*limit = bytes
		}
	}
	set(&limits.Agent, identity.QuotaAgent, agent)
	set(&limits.AgentHour, identity.QuotaAgentHour, agent)
	set(&limits.Project, identity.QuotaProject, project)
	set(&limits.All, identity.QuotaServer, id.ID{})
	return limits
}

// hourLimit returns the hourly quota of an agent, 0 for none.
func (e *Engine) hourLimit(agent id.ID) int64 {
	if bytes, set := e.Identity().Limit(identity.QuotaAgentHour, agent); set {
		return bytes
	}
	return e.accounts.limits.AgentHour
}

// SetQuota sets a quota of stored bytes, which holds from the next request on. Errors:
// AGENT_NOT_FOUND, PROJECT_NOT_FOUND, VALIDATION_FAILED, QUOTA_EXCEEDED.
func (e *Engine) SetQuota(command *identity.SetQuota) (*identity.ActionDone, error) {
	if command.Quota == identity.QuotaProject {
		if err := e.requireProject(command.Project); err != nil {
			return nil, err
		}
	}
	return e.OperatorDo(command)
}

// requireProject refuses a project that does not exist or was removed: PROJECT_NOT_FOUND.
func (e *Engine) requireProject(project id.ID) error {
	p, err := e.Summary(project)
	if err == nil && (p == nil || p.Removed()) {
		err = fault.NoProject()
	}
	return err
}

// StoredQuota is a quota of stored bytes as operators see it.
type StoredQuota struct {
	Quota identity.Quota
	// Limit is 0 for none; Set says that an operator has set it.
	Limit int64
	Set   bool
	Used  int64
}

// QuotasOfAgent returns the quotas of stored bytes of an agent. Errors: AGENT_NOT_FOUND.
func (e *Engine) QuotasOfAgent(ref string) (*identity.Agent, []StoredQuota, error) {
	agent, known := e.Identity().FindAgent(ref)
	if !known {
		return nil, nil, fault.NoAgent()
	}
	usage := e.StoredBy(agent.ID, id.ID{})
	return agent, []StoredQuota{
		e.storedQuota(identity.QuotaAgent, agent.ID, usage.Limits.Agent, usage.Bytes),
		e.storedQuota(identity.QuotaAgentHour, agent.ID, usage.Limits.AgentHour, usage.Hour),
	}, nil
}

// QuotasOfProject returns the quota of stored bytes of a project. Errors: PROJECT_NOT_FOUND.
func (e *Engine) QuotasOfProject(project id.ID) ([]StoredQuota, error) {
	if err := e.requireProject(project); err != nil {
		return nil, err
	}
	p, err := e.Project(project)
	if err != nil {
		return nil, err
	}
	limit := e.storedLimits(id.ID{}, project).Project
	return []StoredQuota{
		e.storedQuota(identity.QuotaProject, project, limit, p.AsOwned().StoredByMembers()),
	}, nil
}

// QuotasOfServer returns the quota of what all agents store.
func (e *Engine) QuotasOfServer() []StoredQuota {
	limit := e.storedLimits(id.ID{}, id.ID{}).All
	return []StoredQuota{
		e.storedQuota(identity.QuotaServer, id.ID{}, limit, e.accounts.total.Load()),
	}
}

func (e *Engine) storedQuota(quota identity.Quota, subject id.ID, limit, used int64) StoredQuota {
	_, set := e.Identity().Limit(quota, subject)
	return StoredQuota{Quota: quota, Limit: limit, Set: set, Used: used}
}
