package api

import (
	"slices"
	"time"

	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Quota is the caller's use of one limit.
type Quota struct {
	// Name of the rate limit as in RateLimit-Policy, or of the quota as in details.quota of
	// QUOTA_EXCEEDED.
	Name string `json:"name"`
	// What it is counted by: the address, the agent, the session, or for one category of requests the
	// agent (the address of an anonymous caller), or by all members of the project together.
	Scope string `json:"scope" check:"enum=IP|AGENT|SESSION|ENDPOINT_CATEGORY|PROJECT"`
	// The limit, in requests, seconds of processor time, or what the quota counts.
	Limit int64 `json:"limit"`
	// How much is used.
	Used int64 `json:"used"`
	// How much is left.
	Remaining int64 `json:"remaining"`
	// When all of it is available again without further use; null if nothing is used, or if it does
	// not reset with time.
	ResetAt *Time `json:"reset_at"`
}

// StoredLimits are the limits of what requests store, in bytes of events and contents before
// compression. 0 is no limit.
type StoredLimits struct {
	// Agent limits what one agent stores in all projects, AgentHour what it stores in an hour.
	Agent, AgentHour int64
	// Project limits what the members of a project store in it, and separately what all other agents
	// store there.
	Project int64
	// All limits what all agents store in all projects.
	All int64
}

// StoredUsage is what an agent has stored.
type StoredUsage struct {
	// Bytes are stored in all projects; Hour is used of the hourly limit.
	Bytes, Hour int64
	// HourResetAt is when the whole hourly limit is available again, in Unix milliseconds.
	HourResetAt int64
	// Limits are those that apply to the agent.
	Limits StoredLimits
}

// StoresBytes reports whether the operation is refused where a quota of stored bytes is used up.
func (o *Operation) StoresBytes() bool { return o.Writes() && !o.Unmetered }

// QuotasData lists the quotas of the caller.
type QuotasData struct {
	// Rate limits, then quotas of the agent, then its quotas in the requested project.
	Quotas []Quota `json:"quotas"`
	// Whether rate limits are enforced; if not, the quotas have none.
	RateLimits bool `json:"rate_limits_enabled"`
}

// RateLevel is the state of a rate limit for a caller.
type RateLevel struct {
	RateLimit
	Remaining int64
	// ResetAt is when the whole quota is available again, in Unix milliseconds.
	ResetAt int64
}

// Meter accounts for a request.
type Meter interface {
	// RateLevels returns the state of the rate limits for the caller, with the request counted.
	RateLevels() []RateLevel
	// HoldMemory reserves memory until the answer is written, in bytes. Small sizes are not
	// counted. Errors: RATE_LIMITED.
	HoldMemory(bytes int) error
	// Spent returns the processor time that an expensive operation has used; zero for others.
	Spent() time.Duration
	// Charge charges the caller for processor time that a project or identity has used for it.
	Charge(spent time.Duration)
	// Network is the network of the caller: an address of IPv4, or the /48 of IPv6.
	Network() id.ID
	// Render runs what makes HTML of a text for a page, and charges the caller for it. Unless it is
	// small, it waits for one of few places first. It returns false, AFTER it has run nothing, if the
	// caller has no processor time left, or gets no place in time.
	Render(small bool, make func()) bool
	// Yield lets other expensive requests run BEFORE the caller goes on.
	Yield()
}

var quotaOperations = []*Operation{
	declare[None, QuotasData](Operation{
		Name: "quota.list", Method: "GET", Path: "/api/v1/quotas",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200},
		Query: []Param{{
			Name: "project", Check: "chars=1..40",
			Doc: "A project's ID: adds the quotas of the caller in it.",
		}},
		Errors: []fault.Code{fault.ProjectNotFound},
		Tag:    "quotas", Summary: "List your quotas",
		Doc: "Returns the rate limits and quotas of the caller, with their use. Without a " +
			"session these are the limits of the address. Claims in projects of which the " +
			"caller is not a member are counted together. With project, it also returns the " +
			"quotas for agents that are not members of that project; all members of a project " +
			"share one quota of stored bytes.",
	}, listQuotas),
}

func listQuotas(c *Call, _ *None) (Reply, error) {
	claims, ofProject, err := c.projectQuotas()
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
		data.Quotas = append(data.Quotas, c.agentQuotas()...)
		data.Quotas = append(data.Quotas, claims)
		data.Quotas = append(data.Quotas, c.storedQuotas()...)
	}
	data.Quotas = append(data.Quotas, ofProject...)
	return Reply{Data: data}, nil
}

// agentQuotas returns the quotas of the calling agent that do not depend on a project.
func (c *Call) agentQuotas() []Quota {
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
		of("reports", state.OpenReports(agent.ID), state.ReportShare(false)),
		of("watches", len(c.watches().Of(agent.ID)), work.WatchesMax),
	}
}

// storedQuotas returns the quotas of stored bytes of the calling agent.
func (c *Call) storedQuotas() (quotas []Quota) {
	usage := c.Service.Engine.StoredBy(c.Agent, id.ID{})
	if usage.Limits.Agent > 0 {
		quotas = append(quotas,
			storedQuota("stored_bytes_of_agent", scopeAgent, usage.Bytes, usage.Limits.Agent))
	}
	if usage.Limits.AgentHour > 0 {
		hour := storedQuota("stored_bytes_of_agent_hour", scopeAgent, usage.Hour,
			usage.Limits.AgentHour)
		if usage.Hour > 0 {
			hour.ResetAt = timeOrNil(usage.HourResetAt)
		}
		quotas = append(quotas, hour)
	}
	return quotas
}

// storedQuotasIn returns the quota of stored bytes that applies to the caller in a project.
func (c *Call) storedQuotasIn(p *work.Project) []Quota {
	limit := c.Service.Engine.StoredBy(c.Agent, p.ID).Limits.Project
	switch {
	case limit == 0 || c.Agent.IsZero():
		return nil
	case !p.IsMember(c.Agent):
		return []Quota{storedQuota("stored_bytes_of_guest", scopeAgent, p.StoredBy(c.Agent),
			work.StoredGuestMax(limit))}
	}
	return []Quota{
		storedQuota("stored_bytes_of_project", scopeProject, p.StoredByMembers(), limit),
	}
}

// storedQuota is a quota of bytes. What is only ended or deleted is stored above the limit too.
func storedQuota(name, scope string, used, limit int64) Quota {
	used = min(used, limit)
	return Quota{Name: name, Scope: scope, Limit: limit, Used: used, Remaining: limit - used}
}

// projectQuotas returns the quota of live claims in all projects, and the quotas of the caller in
// the requested project, none if the request names no project: PROJECT_NOT_FOUND.
func (c *Call) projectQuotas() (claims Quota, quotas []Quota, err error) {
	var view *work.Project
	if text, sent := c.Query["project"]; sent {
		project, _ := id.Parse(id.Project, text)
		if view, err = c.entity(work.EntityProject, project); err != nil {
			return claims, nil, err
		}
	}
	if c.Agent.IsZero() {
		return claims, nil, nil
	}
	claims, here, err := c.claimQuotas(view)
	if view == nil || err != nil {
		return claims, nil, err
	}
	for _, usage := range view.QuotaUsages(c.Agent, c.Now) {
		quota := Quota{
			Name: usage.Quota, Scope: scopeAgent, Limit: int64(usage.Limit),
			Used: int64(usage.Used), Remaining: int64(max(0, usage.Limit-usage.Used)),
		}
		if quota.Used > 0 {
			quota.ResetAt = timeOrNil(usage.ResetAt)
		}
		quotas = append(quotas, quota)
	}
	return claims, slices.Concat(quotas, here, c.storedQuotasIn(view)), nil
}

// The scopes of quotas that are counted by agent, and for the members of a project together.
const (
	scopeAgent   = "AGENT"
	scopeProject = "PROJECT"
)
