package work

import (
	"strconv"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
)

// Role is the role of a member. A higher role includes all permissions of the lower ones.
type Role uint8

// The roles. NoRole applies to every agent that is not a member.
const (
	NoRole Role = iota
	Reader
	Contributor
	Maintainer
	Owner
)

var roleNames = [...]string{"", "READER", "CONTRIBUTOR", "MAINTAINER", "OWNER"}

// String is the name on the wire.
func (r Role) String() string { return roleNames[r] }

// ParseRole reads the name on the wire.
func ParseRole(name string) (Role, bool) {
	for i, known := range roleNames {
		if i > 0 && known == name {
			return Role(i), true
		}
	}
	return NoRole, false
}

// Member is one agent of a project.
type Member struct {
	Agent   id.ID `cbor:"1,keyasint"`
	Role    Role  `cbor:"2,keyasint"`
	AddedBy id.ID `cbor:"3,keyasint"`
	// AddedAt is Unix milliseconds.
	AddedAt int64 `cbor:"4,keyasint"`
}

// Members returns the members in the order in which they joined. Callers must not modify the
// slice.
func (p *Project) Members() []Member { return p.saved.Members }

// Member finds a member.
func (p *Project) Member(agent id.ID) (Member, bool) {
	for _, member := range p.saved.Members {
		if member.Agent == agent {
			return member, true
		}
	}
	return Member{}, false
}

// RoleOf returns the role of an agent, NoRole for an anonymous caller.
func (p *Project) RoleOf(agent id.ID) Role {
	if agent.IsZero() {
		return NoRole
	}
	member, _ := p.Member(agent)
	return member.Role
}

// IsMember reports whether an agent has a role; an anonymous caller has none.
func (p *Project) IsMember(agent id.ID) bool { return p.RoleOf(agent) != NoRole }

// Readable reports whether an agent, or an anonymous caller, can see the project at all.
func (p *Project) Readable(agent id.ID) bool {
	return p.Visibility != Private || p.IsMember(agent)
}

// readableOr returns the given error if the project is hidden from the caller.
func readableOr(p *Project, agent id.ID, otherwise error) error {
	return MayRead.requireOr(p, agent, otherwise)
}

func errQuota(quota string, limit int) *fault.Error {
	message := "The project has reached this quota."
	if strings.Contains(quota, "_of_agent") {
		message = "The agent has reached this quota."
	}
	return fault.New(fault.QuotaExceeded, message).With("quota", quota).With("limit", limit)
}

func indexed(field string, at int) string { return field + "[" + strconv.Itoa(at) + "]" }

// requireActive checks that the project is not archived: PROJECT_ARCHIVED.
func requireActive(p *Project) error {
	if p.Status == Archived {
		return fault.New(fault.ProjectArchived, "The project is archived and does not accept changes.")
	}
	return nil
}

// AddMember adds an agent to the members. It ends a block of the agent.
type AddMember struct {
	Agent id.ID
	Role  Role
}

// Authorize accepts only the owner.
func (c *AddMember) Authorize(p *Project, agent id.ID) error {
	return MayAdminister.Require(p, agent)
}

// Decide returns MEMBER_EXISTS, QUOTA_EXCEEDED and PROJECT_ARCHIVED. It returns
// VALIDATION_FAILED for the role OWNER, because a project has exactly one owner.
func (c *AddMember) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	if err := requireUnmoderated(p); err != nil {
		return Decision{}, err
	}
	if c.Role == Owner || c.Role == NoRole {
		return Decision{}, fault.Invalid(fault.Field{
			Field: "role", Problem: "must be MAINTAINER, CONTRIBUTOR or READER",
		})
	}
	if member, ok := p.Member(c.Agent); ok {
		return Decision{}, fault.New(fault.MemberExists, "The agent is already a member.").
			With("role", member.Role.String())
	}
	if len(p.saved.Members) >= MembersMax {
		return Decision{}, errQuota("members", MembersMax)
	}
	member := Member{Agent: c.Agent, Role: c.Role, AddedBy: stamp.Agent, AddedAt: stamp.Now}
	events := []Event{&MemberAdded{Member: member}}
	if _, blocked := p.Block(c.Agent); blocked {
		events = []Event{&AgentUnblocked{Agent: c.Agent}, events[0]}
	}
	return Decision{Events: events, Result: Result{Created: true, Subject: c.Agent}}, nil
}

// ChangeMember changes the role of a member; the role OWNER transfers the project.
type ChangeMember struct {
	Agent id.ID
	Role  Role
}

// Authorize accepts only the owner.
func (c *ChangeMember) Authorize(p *Project, agent id.ID) error {
	return MayAdminister.Require(p, agent)
}

// Decide returns MEMBER_NOT_FOUND, PROJECT_ARCHIVED, and FORBIDDEN for an owner who would leave
// the project without an owner.
func (c *ChangeMember) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	member, ok := p.Member(c.Agent)
	if !ok {
		return Decision{}, fault.New(fault.MemberNotFound, "The agent is not a member.")
	}
	result := Result{Subject: c.Agent}
	if member.Role == c.Role {
		return Decision{Result: result}, nil
	}
	if member.Role == Owner {
		return Decision{}, fault.New(fault.Forbidden,
			"An owner steps down by giving the role OWNER to another member.")
	}
	events := []Event{&MemberChanged{Agent: c.Agent, Role: c.Role, By: stamp.Agent}}
	if p.Visibility == Private && c.Role < Contributor {
		events = append(events, p.endsOfAgent(c.Agent, stamp)...)
	}
	return Decision{Events: events, Result: result}, nil
}

// RemoveMember ends a membership.
type RemoveMember struct{ Agent id.ID }

// Authorize accepts the owner, and members for themselves.
func (c *RemoveMember) Authorize(p *Project, agent id.ID) error {
	if err := MayRead.Require(p, agent); err != nil {
		return err
	}
	if agent == c.Agent && p.IsMember(agent) {
		return nil
	}
	return MayAdminister.Require(p, agent)
}

// Decide returns MEMBER_NOT_FOUND, and FORBIDDEN for the owner, who cannot leave.
func (c *RemoveMember) Decide(p *Project, stamp Stamp) (Decision, error) {
	member, ok := p.Member(c.Agent)
	if !ok {
		return Decision{}, fault.New(fault.MemberNotFound, "The agent is not a member.")
	}
	if member.Role == Owner {
		return Decision{}, fault.New(fault.Forbidden,
			"An owner cannot leave; the role OWNER must go to another member first.")
	}
	events := []Event{&MemberRemoved{Agent: c.Agent, By: stamp.Agent}}
	if p.Visibility == Private {
		events = append(events, p.endsOfAgent(c.Agent, stamp)...)
	} else {
		events = append(events, p.endsBeyondShare(c.Agent)...)
	}
	return Decision{Events: events, Result: Result{Subject: c.Agent}}, nil
}

// MemberAdded is the event of a new member.
type MemberAdded struct {
	Member Member `cbor:"1,keyasint"`
}

func (e *MemberAdded) apply(p *Project, _ Moment) {
	p.saved.Members = append(p.saved.Members[:len(p.saved.Members):len(p.saved.Members)], e.Member)
	p.Version++
}

// MemberChanged is the event of a changed role; a new owner makes the previous one MAINTAINER.
type MemberChanged struct {
	Agent id.ID `cbor:"1,keyasint"`
	Role  Role  `cbor:"2,keyasint"`
	By    id.ID `cbor:"3,keyasint"`
}

func (e *MemberChanged) apply(p *Project, _ Moment) {
	members := make([]Member, len(p.saved.Members))
	copy(members, p.saved.Members)
	for i := range members {
		switch {
		case members[i].Agent == e.Agent:
			members[i].Role = e.Role
		case e.Role == Owner && members[i].Role == Owner:
			members[i].Role = Maintainer
		}
	}
	if e.Role == Owner {
		p.Owner = e.Agent
	}
	p.saved.Members = members
	p.Version++
}

// MemberRemoved is the event of a membership that ended.
type MemberRemoved struct {
	Agent id.ID `cbor:"1,keyasint"`
	By    id.ID `cbor:"2,keyasint"`
}

func (e *MemberRemoved) apply(p *Project, _ Moment) {
	members := make([]Member, 0, len(p.saved.Members))
	for _, member := range p.saved.Members {
		if member.Agent != e.Agent {
			members = append(members, member)
		}
	}
	p.saved.Members = members
	p.Version++
}
