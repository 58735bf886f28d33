package identity

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"pws/internal/fault"
	"pws/internal/id"
)

// Quota is a quota of stored bytes that operators can set.
type Quota uint8

// The quotas; the numbers are stored in events and never reused.
const (
	// QuotaAgent is what an agent may store, QuotaAgentHour what it may store in an hour.
	QuotaAgent Quota = iota + 1
	QuotaAgentHour
	// QuotaProject is what the members of a project may store in it.
	QuotaProject
	// QuotaServer is what all agents may store.
	QuotaServer
)

var quotaNames = [...]string{
	"", "stored_bytes_of_agent", "stored_bytes_of_agent_hour", "stored_bytes_of_project",
	"stored_bytes",
}

// String is the name as in details.quota of QUOTA_EXCEEDED.
func (q Quota) String() string { return quotaNames[q] }

func (q Quota) known() bool { return q > 0 && int(q) < len(quotaNames) }

// Limit is the limit that an operator has set for a quota of one agent, of one project or of the
// server.
type Limit struct {
	Quota Quota `cbor:"1,keyasint"`
	// Subject is the agent or the project, zero for the server.
	Subject id.ID `cbor:"2,keyasint,omitzero"`
	// Bytes is 0 where the operator has lifted the limit.
	Bytes int64 `cbor:"3,keyasint,omitempty"`
}

func compareLimits(a, b Limit) int {
	return cmp.Or(a.Subject.Compare(b.Subject), cmp.Compare(a.Quota, b.Quota))
}

// Limit returns the limit that operators have set for a quota of an agent, a project or, with the
// zero ID, the server. Every write asks; it costs nothing while none is set.
func (s *State) Limit(quota Quota, subject id.ID) (bytes int64, set bool) {
	if len(s.operator.limits) == 0 {
		return 0, false
	}
	wanted := Limit{Quota: quota, Subject: subject}
	at, set := slices.BinarySearchFunc(s.operator.limits, wanted, compareLimits)
	if !set {
		return 0, false
	}
	return s.operator.limits[at].Bytes, true
}

// Limits returns all limits that operators have set, by agent and project. The slice must not be
// modified.
func (s *State) Limits() []Limit { return s.operator.limits }

// SetQuota sets the limit of a quota, or removes it, so that the limit of the server's settings
// holds again. The result is *ActionDone.
type SetQuota struct {
	Quota Quota
	// Agent is the ID or handle of an agent, for its quotas.
	Agent string
	// Project is for QuotaProject; it has to exist.
	Project id.ID
	// Bytes is the limit, 0 for none. Default removes the limit instead.
	Bytes   int64
	Default bool
	Reason  string
}

// Decide implements Command. AGENT_NOT_FOUND, VALIDATION_FAILED, QUOTA_EXCEEDED. Setting what is
// set already changes nothing.
func (c *SetQuota) Decide(s *State, _ Stamp) (Outcome, error) {
	if err := CheckReason(c.Reason); err != nil {
		return Outcome{}, err
	}
	if c.Bytes < 0 {
		return Outcome{}, fault.Invalid(fault.Field{
			Field: "bytes", Problem: "must not be negative",
		})
	}
	result := &ActionDone{Changed: true}
	set := &QuotaSet{Quota: c.Quota, Subject: c.Project, Bytes: c.Bytes, Default: c.Default}
	name := ""
	switch c.Quota {
	case QuotaAgent, QuotaAgentHour:
		agent, ok := s.FindAgent(c.Agent)
		if !ok {
			return Outcome{}, fault.NoAgent()
		}
		result.Agent, set.Subject, name = agent, agent.ID, " "+agent.ID.Format(id.Agent)
	case QuotaProject:
		name = " " + c.Project.Format(id.Project)
	case QuotaServer:
		set.Subject = id.ID{}
	}
	before, was := s.Limit(c.Quota, set.Subject)
	if was != c.Default && (!was || before == c.Bytes) {
		result.Changed = false
		return Outcome{Result: result}, nil
	}
	if !was && len(s.operator.limits) >= LimitsMax {
		return Outcome{}, fault.New(fault.QuotaExceeded, "Too many quotas are set.").
			With("quota", "set_quotas").With("limit", LimitsMax)
	}
	noted := &ActionNoted{
		Action: ActionQuota, Subject: fmt.Sprintf("%s%s %s", c.Quota, name, c.limit()),
		Reason: c.Reason,
	}
	return Outcome{Events: []Event{set, noted}, Result: result}, nil
}

// limit is the limit as the log of actions has it.
func (c *SetQuota) limit() string {
	switch {
	case c.Default:
		return "default"
	case c.Bytes == 0:
		return "none"
	}
	return strconv.FormatInt(c.Bytes, 10)
}

// QuotaSet sets the limit of a quota, or removes it.
type QuotaSet struct {
	Quota   Quota `cbor:"1,keyasint,omitempty"`
	Subject id.ID `cbor:"2,keyasint,omitzero"`
	Bytes   int64 `cbor:"3,keyasint,omitempty"`
	// Default removes the limit.
	Default bool `cbor:"4,keyasint,omitempty"`
}

// Kind implements Event.
func (*QuotaSet) Kind() Kind { return KindQuotaSet }

func (*QuotaSet) touched() (id.ID, bool) { return id.ID{}, false }

func (*QuotaSet) touchesOperator() {}

func (e *QuotaSet) apply(s *State, _ int64) {
	if !e.Quota.known() || e.Bytes < 0 {
		panic(fmt.Sprintf("identity: quota %d of %d bytes", e.Quota, e.Bytes))
	}
	limit := Limit{Quota: e.Quota, Subject: e.Subject, Bytes: e.Bytes}
	s.changeOperator(func(next *operator) {
		at, was := slices.BinarySearchFunc(next.limits, limit, compareLimits)
		next.limits = slices.Clone(next.limits)
		switch {
		case e.Default && was:
			next.limits = slices.Delete(next.limits, at, at+1)
		case e.Default:
			panic(fmt.Sprintf("identity: quota %d is not set", e.Quota))
		case was:
			next.limits[at] = limit
		default:
			next.limits = slices.Insert(next.limits, at, limit)
		}
	})
}

// soundLimits checks limits that were saved.
func soundLimits(limits []Limit) error {
	for i, one := range limits {
		if !one.Quota.known() || one.Bytes < 0 || i > 0 && compareLimits(limits[i-1], one) >= 0 {
			return corrupt("limit %d of operators does not fit", i)
		}
	}
	return nil
}
