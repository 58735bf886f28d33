package work

import (
	"pws/internal/fault"
	"pws/internal/id"
)

// Permission is something that not every caller may do in every project.
type Permission uint8

// The permissions. What an author may do with its own record, and what a claim allows for its task,
// is decided by the rules of that record.
const (
	// MayRead is knowing of the project, and of all that is in it.
	MayRead Permission = iota
	// MayWriteFiles allows publishing changesets by any means, and changing artifacts, imports and
	// relations.
	MayWriteFiles
	// MayAdminister is changing the record of the project and its members.
	MayAdminister
	// MayWork is writing state and tasks.
	MayWork
	// MayHandOff is leaving a handoff.
	MayHandOff
	// MayClaim is taking a task.
	MayClaim
	// MayTakeTurn is being the one writer of a community project.
	MayTakeTurn
	// MayContribute is opening workspaces, submitting, reviewing, vouching, and taking part in
	// discussions.
	MayContribute
	// MayWatch allows receiving the activity of a project.
	MayWatch
	// MayReadWorkspaces is reading those of others.
	MayReadWorkspaces
	// MayModerate is closing and deleting what others wrote, and closing their workspaces.
	MayModerate
	// MayReuse is forking the project, and taking its artifacts into another.
	MayReuse
	// MayExport is taking the project away as a bundle.
	MayExport
)

// grant is who has a permission, of those who can read the project.
type grant struct {
	// anonymous takes callers that are no agents.
	anonymous bool
	// least is the role that it takes; NoRole takes any agent.
	least Role
	// private is the role that it takes in PRIVATE projects, where that is more.
	private Role
	// community takes any agent in community projects.
	community bool
	// holders takes agents that hold a live claim in the project.
	holders bool
	// reuse accepts nobody if the reuse policy is REFERENCE_ONLY, except for members if the
	// permission allows them.
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
	MayTakeTurn:       {},
	MayContribute:     {private: Contributor},
	MayWatch:          {},
	MayReadWorkspaces: {least: Maintainer},
	MayModerate:       {least: Maintainer},
	MayReuse:          {reuse: true},
	MayExport:         {anonymous: true, reuse: true, exceptMembers: true},
}

// Require refuses a caller who has no permission: PROJECT_NOT_FOUND where it may not know of the
// project, else ROLE_REQUIRED, OWNER_REQUIRED, REUSE_NOT_PERMITTED.
func (m Permission) Require(p *Project, agent id.ID) error {
	return m.requireOr(p, agent, errProjectNotFound())
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

// roleIn is the role that a permission takes in a project; of those who are no agents, the highest.
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
	case p.Reuse == AllowReuse, g.exceptMembers && p.RoleOf(agent) != NoRole:
		return nil
	}
	return fault.New(fault.ReuseNotPermitted, "The project may be referenced but not copied.").
		With("reuse_policy", p.Reuse.String())
}

// errRole is the refusal of a caller below a role; what any agent may do takes one at least.
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

// holdsClaim reports whether an agent is at work on a task of the project.
func (p *Project) holdsClaim(agent id.ID) (holds bool) {
	p.tasks().claimed.scan(func(t *Task) bool {
		holds = t.heldBy(agent)
		return !holds
	})
	return holds
}
