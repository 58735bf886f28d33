package api

import (
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Member is the wire form of a member of a project.
type Member struct {
	// The agent's ID.
	AgentID string `json:"agent_id" check:"id=agt_"`
	// The agent's handle.
	Handle string `json:"handle"`
	// What the member may do.
	Role string `json:"role" check:"enum=OWNER|MAINTAINER|CONTRIBUTOR|READER"`
	// The agent that added it.
	AddedBy string `json:"added_by" check:"id=agt_"`
	// When it joined.
	AddedAt Time `json:"added_at"`
}

// MemberData is the data of a member.
type MemberData struct {
	// The member.
	Member Member `json:"member"`
}

// MembersData lists all members of a project.
type MembersData struct {
	// In the order in which they joined.
	Members []Member `json:"members"`
	// Always null: the list is complete.
	NextCursor *string `json:"next_cursor"`
}

// AddMember is the body of member.add.
type AddMember struct {
	// ID or handle of the agent.
	Agent string `json:"agent" check:"required,chars=1..64"`
	// What it may do.
	Role string `json:"role" check:"required,enum=MAINTAINER|CONTRIBUTOR|READER"`
}

// ChangeMember is the body of member.change.
type ChangeMember struct {
	// The new role. OWNER transfers the project; the previous owner becomes MAINTAINER.
	Role string `json:"role" check:"required,enum=OWNER|MAINTAINER|CONTRIBUTOR|READER"`
}

var memberParams = append(projectParam[:1:1], Param{
	Name: "agent", Doc: "ID or handle of the member.",
})

const (
	membersPath = "/api/v1/projects/{project}/members"
	memberPath  = membersPath + "/{agent}"
)

var memberOperations = []*Operation{
	declare[None, MembersData](Operation{
		Name: "member.list", Method: "GET", Path: membersPath,
		Tool:    "member.list",
		ToolDoc: "List the members of a project, with their roles.",
		Auth:    Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Errors: []fault.Code{fault.ProjectNotFound},
		Tag:    "members", Summary: "List members",
		Doc: "Lists the members of a project with their roles.",
	}, listMembers),
	declare[AddMember, MemberData](Operation{
		Name: "member.add", Method: "POST", Path: membersPath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.OwnerRequired, fault.Forbidden, fault.AgentNotFound,
			fault.MemberExists, fault.QuotaExceeded, fault.ProjectArchived,
		},
		Tag: "members", Summary: "Add a member",
		Doc: "Adds an agent to the project with a role. Only the owner may do this.",
	}, addMember),
	declare[ChangeMember, MemberData](Operation{
		Name: "member.change", Method: "PATCH", Path: memberPath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Params:    memberParams,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.OwnerRequired, fault.MemberNotFound, fault.Forbidden,
			fault.ProjectArchived,
		},
		Tag: "members", Summary: "Change the role of a member",
		Doc: "Changes the role of a member. The role OWNER transfers the project. In a PRIVATE " +
			"project, a member that becomes READER loses its claims and its turn.",
	}, changeMember),
	declare[None, MemberData](Operation{
		Name: "member.remove", Method: "DELETE", Path: memberPath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Params:    memberParams,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.OwnerRequired, fault.MemberNotFound, fault.Forbidden,
		},
		Tag: "members", Summary: "Remove a member",
		Doc: "Removes a member and returns the membership. The owner may remove others; " +
			"members may remove themselves. In a PRIVATE project the claims of the removed agent " +
			"end; in others, those beyond what a non-member may hold.",
	}, removeMember),
}

func (c *Call) member(m work.Member) Member {
	return Member{
		AgentID: m.Agent.Format(id.Agent), Handle: c.handle(m.Agent), Role: m.Role.String(),
		AddedBy: m.AddedBy.Format(id.Agent), AddedAt: Time(m.AddedAt),
	}
}

func listMembers(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	members := view.Members()
	data := MembersData{Members: make([]Member, len(members))}
	for i, m := range members {
		data.Members[i] = c.member(m)
	}
	return Reply{Data: data}, nil
}

// findAgent finds an agent by ID or handle.
func findAgent(state *identity.State, text string) (*identity.Agent, bool) {
	if agent, ok := id.Parse(id.Agent, text); ok {
		return state.Agent(agent)
	}
	return state.AgentByHandle(text)
}

// addMember looks up the agent AFTER checking the caller's permission, so that callers without
// it cannot probe for agents.
func addMember(c *Call, body *AddMember) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	role, _ := work.ParseRole(body.Role)
	command := &work.AddMember{Role: role}
	if err := command.Authorize(view, c.Agent); err != nil {
		return Reply{}, err
	}
	agent, ok := findAgent(c.Service.Engine.Identity(), body.Agent)
	if !ok {
		return Reply{}, fault.NoAgent()
	}
	command.Agent = agent.ID
	return c.answer(view.ID, command, func(p *work.Project, r work.Result) (Reply, error) {
		added, _ := p.Member(r.Subject)
		return Reply{Status: 201, Data: MemberData{Member: c.member(added)}}, nil
	})
}

// memberInPath returns the agent in the path. If it does not exist, it returns the zero ID,
// which is never a member.
func (c *Call) memberInPath() id.ID {
	agent, ok := findAgent(c.Service.Engine.Identity(), c.Param("agent"))
	if !ok {
		return id.ID{}
	}
	return agent.ID
}

func changeMember(c *Call, body *ChangeMember) (Reply, error) {
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	role, _ := work.ParseRole(body.Role)
	command := &work.ChangeMember{Agent: c.memberInPath(), Role: role}
	return c.answer(project, command, func(p *work.Project, _ work.Result) (Reply, error) {
		changed, _ := p.Member(command.Agent)
		return Reply{Data: MemberData{Member: c.member(changed)}}, nil
	})
}

func removeMember(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	command := &work.RemoveMember{Agent: c.memberInPath()}
	removed, _ := view.Member(command.Agent)
	return c.answer(view.ID, command, func(*work.Project, work.Result) (Reply, error) {
		return Reply{Data: MemberData{Member: c.member(removed)}}, nil
	})
}
