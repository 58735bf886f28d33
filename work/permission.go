package work

import (
	"pws/internal/fault"
	"pws/internal/id"
)

// Permission is the permission to do something in a project.
type Permission uint8

// The permissions. The rules of each record decide what its author may do with it, and what the
// holder of a claim may do with the task.
const (
	// MayRead allows seeing the project and everything in it.
	MayRead Permission = iota
	// MayWriteFiles allows publishing changesets by any means, and changing artifacts, imports and
	// relations.
	MayWriteFiles
	// MayAdminister allows changing the record of the project and its members.
	MayAdminister
	// MayWork allows writing state and tasks.
	MayWork
	// MayHandOff allows creating a handoff.
	MayHandOff
	// MayClaim allows claiming a task.
	MayClaim
	// MayTakeTurn allows taking the turn of a community project.
	MayTakeTurn
	// MayContribute allows opening workspaces, submitting, reviewing, recording verifications,
	// and taking part in discussions.
	MayContribute
	// MayWatch allows receiving the activity of a project.
	MayWatch
	// MayReadWorkspaces allows reading the workspaces of others.
	MayReadWorkspaces
	// MayModerate allows closing and deleting the texts of others, and closing their workspaces.
	MayModerate
	// MayReuse allows forking the project and importing its artifacts into another one.
	MayReuse
	// MayExport allows copying the project as a bundle or an archive.
	MayExport
)

// grant says which of the agents that can read a project have a permission.
type grant struct {
	// anonymous accepts callers that are not agents.
	anonymous bool
	// least is the minimum role; NoRole accepts any agent.
	least Role
	// private is the minimum role in PRIVATE projects, if that is higher.
	private Role
	// community accepts any agent in community projects.
	community bool
	// holders accepts agents that hold a live claim in the project.
	holders bool
	// reuse accepts nobody if the reuse policy is REFERENCE_ONLY; exceptMembers still accepts
	// members.
	reuse, exceptMembers bool
}

// grants is the only place that decides permissions. Every command checks in this order: first
// whether the caller may see the project at all.
var grants = [...]grant{
	MayRead:           {anonymous: true},
	MayWriteFiles:     {least: Maintainer},
	MayAdminister:     {least: Owner},
	MayWork:           {least: Contributor, community: true},
	MayHandOff:        {least: Contributor, community: true, holders: true},
	MayClaim:          {private: Contributor},
	MayTakeTurn:       {private: Contributor},
	MayContribute:     {private: Contributor},
	MayWatch:          {},
	MayReadWorkspaces: {least: Maintainer},
	MayModerate:       {least: Maintainer},
	MayReuse:          {reuse: true},
	MayExport:         {anonymous: true, reuse: true, exceptMembers: true},
}

// Require checks that a caller has the permission. It returns PROJECT_NOT_FOUND if the caller
// may not see the project, else ROLE_REQUIRED, OWNER_REQUIRED, REUSE_NOT_PERMITTED.
func (m Permission) Require(p *Project, agent id.ID) error {
	return m.requireOr(p, agent, fault.NoProject())
}

// requireOr is Require with a custom error for a project that the caller may not see, so that a
// hidden record is indistinguishable from an ID that never existed.
func (m Permission) requireOr(p *Project, agent id.ID, unknown error) error {
	if p == nil || !p.Readable(agent) {
		return unknown
	}
	if grant := &grants[m]; grant.reuse {
		return grant.requireReuse(p, agent)
	} else if !grant.takes(p, agent) {
		return errRole(grant.roleIn(p, agent), p.RoleOf(agent))
	}
	return nil
}

func (g *grant) takes(p *Project, agent id.ID) bool {
	if agent.IsZero() {
		return g.anonymous
	}
	return p.RoleOf(agent) >= g.roleIn(p, agent) || g.community && p.Kind == Community ||
		g.holders && p.holdsClaim(agent)
}

// roleIn returns the minimum role in a project; anonymous callers are treated as in a PRIVATE
// one.
func (g *grant) roleIn(p *Project, agent id.ID) Role {
	if p.Visibility == Private || agent.IsZero() {
		return max(g.least, g.private)
	}
	return g.least
}

func (g *grant) requireReuse(p *Project, agent id.ID) error {
	switch {
	case !g.anonymous && agent.IsZero():
		return errRole(Reader, NoRole)
	case p.saved.Moderation != nil && !g.exceptMembers:
		return fault.New(fault.ReuseNotPermitted,
			"An operator of the service has hidden the project.").
			With("reuse_policy", p.Reuse.String())
	case p.Reuse == AllowReuse, g.exceptMembers && p.IsMember(agent):
		return nil
	}
	return fault.New(fault.ReuseNotPermitted, "The project may be referenced but not copied.").
		With("reuse_policy", p.Reuse.String())
}

// errRole is the error for a caller below a role. A permission for any agent is reported as
// READER.
func errRole(least, role Role) error {
	if least == Owner {
		return fault.New(fault.OwnerRequired, "Only the owner of the project may do this.")
	}
	return fault.New(fault.RoleRequired, "This needs a higher role in the project.").
		With("required", max(least, Reader).String()).With("role", nullable(role.String()))
}

func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// holdsClaim reports whether an agent holds a claim in the project.
func (p *Project) holdsClaim(agent id.ID) (holds bool) {
	p.tasks().claimed.scan(func(t *Task) bool {
		holds = t.heldBy(agent)
		return !holds
	})
	return holds
}
