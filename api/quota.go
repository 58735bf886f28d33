package api

import (
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Quota is how much of something the caller has used.
type Quota struct {
	Name      string `json:"name" doc:"Name of the rate limit as in RateLimit-Policy, or of the quota as in details.quota of QUOTA_EXCEEDED."`
	Scope     string `json:"scope" check:"enum=IP|AGENT|SESSION|ENDPOINT_CATEGORY" doc:"What it is counted by: the address, the agent, the session, or for one category of requests the agent (the address of an anonymous caller)."`
	Limit     int64  `json:"limit" doc:"The limit."`
	Used      int64  `json:"used" doc:"How much is used."`
	Remaining int64  `json:"remaining" doc:"How much is left."`
	ResetAt   *Time  `json:"reset_at" doc:"When all of it is available again without further use; null if nothing is used, or if it does not reset with time."`
}

// QuotasData is what the caller has used.
type QuotasData struct {
	Quotas     []Quota `json:"quotas" doc:"Rate limits, then quotas of the agent, then its quotas in the requested project."`
	RateLimits bool    `json:"rate_limits_enabled" doc:"Whether rate limits are enforced; if not, the quotas have none."`
}

// RateLevel is how a rate limit stands for a caller.
type RateLevel struct {
	RateLimit
	Remaining int64
	// ResetAt is when the whole quota is there again, in Unix milliseconds.
	ResetAt int64
}

// Meter tells how the rate limits stand for the caller of a request, that request included.
type Meter interface {
	RateLevels() []RateLevel
}

var quotaOperations = []*Operation{
	declare[None, QuotasData](Operation{
		Name: "quota.list", Method: "GET", Path: "/api/v1/quotas",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200},
		Query: []Param{{
			Name: "project", Check: "chars=1..40",
			Doc: "A project's ID: adds the quotas of the caller in it, if it is not a member.",
		}},
		Errors: []fault.Code{fault.ProjectNotFound},
		Tag:    "quotas", Summary: "List your quotas",
		Doc: "Returns the rate limits and quotas of the caller, with their use. Without a " +
			"session these are the limits of the address. With project, it also returns the " +
			"quotas for agents that are not members of that project; members have none there.",
	}, listQuotas),
}

func listQuotas(c *Call, _ *None) (Reply, error) {
	shares, err := c.shares()
	if err != nil {
		return Reply{}, err
	}
	data := QuotasData{Quotas: []Quota{}, RateLimits: len(c.Service.Config.Limits) > 0}
	if c.Meter != nil {
		for _, level := range c.Meter.RateLevels() {
			quota := Quota{
				Name: level.Name, Scope: level.Scope, Limit: int64(level.Quota),
				Remaining: level.Remaining, Used: int64(level.Quota) - level.Remaining,
			}
			if quota.Used > 0 {
				quota.ResetAt = timeOrNil(level.ResetAt)
			}
			data.Quotas = append(data.Quotas, quota)
		}
	}
	if !c.Agent.IsZero() {
		data.Quotas = append(data.Quotas, c.stock()...)
	}
	data.Quotas = append(data.Quotas, shares...)
	return Reply{Data: data}, nil
}

// stock is what is counted of the calling agent, whatever it does: how much it has at one time.
func (c *Call) stock() []Quota {
	state := c.Service.Engine.Identity()
	agent, ok := state.Agent(c.Agent)
	if !ok {
		return nil
	}
	active, live, liveUntil := 0, 0, int64(0)
	for _, key := range agent.Keys() {
		if key.Active() {
			active++
		}
	}
	for _, session := range agent.Sessions() {
		if session.ExpiresAt > c.Now {
			live, liveUntil = live+1, max(liveUntil, session.ExpiresAt)
		}
	}
	of := func(name string, used, limit int) Quota {
		return Quota{
			Name: name, Scope: scopeAgent, Limit: int64(limit), Used: int64(used),
			Remaining: int64(max(0, limit-used)),
		}
	}
	sessions := of("sessions", live, identity.SessionsLiveMax)
	sessions.ResetAt = timeOrNil(liveUntil)
	return []Quota{
		of("active_keys", active, identity.KeysActiveMax),
		of("keys", len(agent.Keys()), identity.KeysMax),
		sessions,
		of("reports", state.OpenReports(agent.ID), identity.ReportsPerAgentMax),
		of("watches", len(c.Service.Engine.Watched(agent.ID)), work.WatchesMax),
	}
}

// shares are what the caller has left in the project that it asks for, none where it asks for none:
// PROJECT_NOT_FOUND.
func (c *Call) shares() (quotas []Quota, err error) {
	text, sent := c.Query["project"]
	if !sent {
		return nil, nil
	}
	project, _ := id.Parse(id.Project, text)
	view, err := c.entity(work.EntityProject, project)
	if err != nil {
		return nil, err
	}
	for _, share := range view.Shares(c.Agent, c.Now) {
		quota := Quota{
			Name: share.Quota, Scope: scopeAgent, Limit: int64(share.Limit),
			Used: int64(share.Used), Remaining: int64(max(0, share.Limit-share.Used)),
		}
		if quota.Used > 0 {
			quota.ResetAt = timeOrNil(share.ResetAt)
		}
		quotas = append(quotas, quota)
	}
	return quotas, nil
}

// scopeAgent is the scope of what is counted of an agent.
const scopeAgent = "AGENT"
