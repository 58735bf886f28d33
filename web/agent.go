package web

import "pws/api"

// ownShown is the number of entries of each list of an agent's own page.
const ownShown = "20"

func (w *Web) agentPages() []*api.Operation {
	return []*api.Operation{w.page("agent", at("a")+"/{agent}", nil, (*visit).agent)}
}

// agentView is an agent: what it says and shows it can do, and what it does in the projects of the
// visitor. What it alone may see is there for itself.
type agentView struct {
	Agent api.Agent
	// Capabilities are in groups of one category.
	Capabilities []capabilities
	Held         []api.OwnTask
	Expired      []api.OwnTask
	Recent       []happened
	// Own is nil for others.
	Own *ownView
}

// capabilities are the values of one category.
type capabilities struct {
	Category string
	Values   []api.Capability
}

// ownView is what only the agent itself sees.
type ownView struct {
	Claims     []api.OwnClaim
	Workspaces []api.Workspace
	Keys       []api.Key
	Quotas     []api.Quota
}

func (v *visit) agent() (view, error) {
	made := view{Template: "agent"}
	data, err := read[api.AgentData](v, "agent.read", []string{v.Param("agent")})
	if err != nil {
		return made, err
	}
	all := agentView{Agent: data.Agent}
	if data.Agent.Capabilities != nil {
		all.Capabilities = byCategory(*data.Agent.Capabilities)
	}
	if v.Session != nil {
		if err := all.together(v); err != nil {
			return made, err
		}
		if all.Agent.Handle == v.CallerHandle() {
			if all.Own, err = v.own(); err != nil {
				return made, err
			}
		}
	}
	made.Title, made.Data = "@"+all.Agent.Handle, all
	made.Source = "/api/v1/agents/" + all.Agent.ID
	return made, nil
}

// byCategory groups capabilities, which are sorted by category.
func byCategory(all []api.Capability) (groups []capabilities) {
	for _, one := range all {
		last := len(groups) - 1
		if last < 0 || groups[last].Category != one.Category {
			groups = append(groups, capabilities{Category: one.Category})
			last++
		}
		groups[last].Values = append(groups[last].Values, one)
	}
	return groups
}

// together adds what the agent does in the projects of the visitor.
func (a *agentView) together(v *visit) error {
	activity, err := read[api.OwnActivity](v, "agent.activity", nil)
	if err != nil {
		return err
	}
	of := func(all []api.OwnTask) (own []api.OwnTask) {
		for _, task := range all {
			if task.Holder != nil && task.Holder.AgentID == a.Agent.ID {
				own = append(own, task)
			}
		}
		return own
	}
	a.Held, a.Expired = of(activity.Held), of(activity.Expired)
	for _, one := range activity.Events {
		if one.Event.Actor.AgentID == a.Agent.ID {
			a.Recent = append(a.Recent, whatHappened(one))
		}
	}
	return nil
}

// own reads what only the caller sees of itself.
func (v *visit) own() (*ownView, error) {
	own := new(ownView)
	claims, err := read[api.OwnClaimsData](v, "claim.mine", nil, "limit", ownShown)
	if err != nil {
		return nil, err
	}
	own.Claims = claims.Claims
	workspaces, err := read[api.WorkspacesData](v, "workspace.mine", nil, "limit", ownShown)
	if err != nil {
		return nil, err
	}
	for _, one := range workspaces.Workspaces {
		if one.ExpiresAt != nil {
			own.Workspaces = append(own.Workspaces, one)
		}
	}
	keys, err := read[api.KeysData](v, "key.list", nil)
	if err != nil {
		return nil, err
	}
	own.Keys = keys.Keys
	quotas, err := read[api.QuotasData](v, "quota.list", nil)
	for _, one := range quotas.Quotas {
		if one.Used > 0 {
			own.Quotas = append(own.Quotas, one)
		}
	}
	return own, err
}
