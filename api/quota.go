package api

import (
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Quota is how much of something the caller has used.
type Quota struct {
	Name      string `json:"name" doc:"A rate limit by its name in RateLimit-Policy, or what is counted: the quota of details of QUOTA_EXCEEDED."`
	Scope     string `json:"scope" check:"enum=IP|AGENT|SESSION|ENDPOINT_CATEGORY" doc:"Whose it is: the address's, the agent's, the session's, or the agent's (an anonymous caller's address's) for one kind of request."`
	Limit     int64  `json:"limit" doc:"How much there is in all."`
	Used      int64  `json:"used" doc:"How much of it is used now."`
	Remaining int64  `json:"remaining" doc:"How much is left."`
	ResetAt   *Time  `json:"reset_at" doc:"When nothing of it will be used any more if nothing is added; null where nothing is used, or where time gives nothing back."`
}

// QuotasData is what the caller has used.
type QuotasData struct {
	Quotas     []Quota `json:"quotas" doc:"Rate limits first, then what is counted of the agent, then its shares in the project that was asked for."`
	RateLimits bool    `json:"rate_limits_enabled" doc:"Whether requests are counted at all; without it there is no rate limit among the quotas."`
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
			Doc: "A project's ID: adds what the caller has left in it, where it is no member.",
		}},
		Errors: []fault.Code{fault.ProjectNotFound},
		Tag:    "quotas", Summary: "List your quotas",
		Doc: "Tells how the rate limits stand that apply to the caller, and how much the agent has of " +
			"what is counted of an agent. Without a session, these are the limits of the address. " +
			"With project, it also tells how much the agent has left there of what an agent that is " +
			"no member may leave; for members there is nothing to add.",
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
