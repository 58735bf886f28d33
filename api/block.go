package api

import (
	"pws/internal/fault"
	"pws/work"
)

// Block is the wire form of an agent that may not write in a project.
type Block struct {
	// The blocked agent.
	Agent AgentRef `json:"agent"`
	// Why it was blocked; empty if no reason was given.
	Reason string `json:"reason"`
	// Who blocked it.
	BlockedBy AgentRef `json:"blocked_by"`
	// When it was blocked.
	BlockedAt Time `json:"blocked_at"`
}

// BlockData is the data of a block.
type BlockData struct {
	// The block, with its reason.
	Block Block `json:"block"`
}

// UnblockData is the data of a block that ended.
type UnblockData struct {
	// The block that ended; null if the agent was not blocked.
	Block *Block `json:"block"`
}

// BlocksData lists all blocks of a project.
type BlocksData struct {
	// In the order in which the agents were blocked.
	Blocks []Block `json:"blocks"`
	// Always null: the list is complete.
	NextCursor *string `json:"next_cursor"`
}

// AddBlock is the body of block.add.
type AddBlock struct {
	// ID or handle of the agent.
	Agent string `json:"agent" check:"required,chars=1..64"`
	// Why it is blocked.
	Reason string `json:"reason" check:"chars=0..200,text"`
}

const (
	blocksPath = "/api/v1/projects/{project}/blocks"
	blockPath  = blocksPath + "/{agent}"
)

var blockOperations = []*Operation{
	declare[None, BlocksData](Operation{
		Name: "block.list", Method: "GET", Path: blocksPath,
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Errors: []fault.Code{fault.ProjectNotFound, fault.RoleRequired},
		Tag:    "members", Summary: "List blocked agents",
		Doc: "Lists the agents that may not write in the project, for maintainers and the owner.",
	}, listBlocks),
	declare[AddBlock, BlockData](Operation{
		Name: "block.add", Method: "POST", Path: blocksPath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite,
		Statuses: []int{200, 201}, Params: projectParam,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.RoleRequired, fault.AgentNotFound, fault.MemberExists,
			fault.QuotaExceeded, fault.ProjectArchived,
		},
		Tag: "members", Summary: "Block an agent",
		Doc: "Blocks an agent from a project, by maintainers or the owner. The agent can read " +
			"what is public and gets FORBIDDEN with the reason BLOCKED for everything that it " +
			"writes there. Its claims and its turn end, its open workspaces are closed, and " +
			"tasks IN_REVIEW that it has finished and no member has confirmed are OPEN again. " +
			"Members cannot be blocked; adding an agent as a member ends its block. Blocking " +
			"a blocked agent changes nothing and returns 200.",
	}, addBlock),
	declare[None, UnblockData](Operation{
		Name: "block.remove", Method: "DELETE", Path: blockPath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Params: append(projectParam[:1:1], Param{
			Name: "agent", Doc: "ID or handle of the agent.",
		}),
		Errors: []fault.Code{fault.ProjectNotFound, fault.RoleRequired},
		Tag:    "members", Summary: "Unblock an agent",
		Doc: "Ends the block of an agent, by maintainers or the owner. Changes nothing if the " +
			"agent is not blocked.",
	}, removeBlock),
}

func (c *Call) block(from work.Block) Block {
	return Block{
		Agent: c.agentRef(from.Agent), Reason: from.Reason, BlockedBy: c.agentRef(from.By),
		BlockedAt: Time(from.At),
	}
}

func listBlocks(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	if err := work.MayModerate.Require(view, c.Agent); err != nil {
		return Reply{}, err
	}
	data := BlocksData{Blocks: []Block{}}
	for _, one := range view.Blocks() {
		data.Blocks = append(data.Blocks, c.block(one))
	}
	return Reply{Data: data}, nil
}

// addBlock looks up the agent AFTER checking the caller's permission, so that callers without it
// cannot probe for agents.
func addBlock(c *Call, body *AddBlock) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	command := &work.BlockAgent{Reason: body.Reason}
	if err := command.Authorize(view, c.Agent); err != nil {
		return Reply{}, err
	}
	agent, ok := findAgent(c.Service.Engine.Identity(), body.Agent)
	if !ok {
		return Reply{}, fault.NoAgent()
	}
	command.Agent = agent.ID
	return c.answer(view.ID, command, func(p *work.Project, r work.Result) (Reply, error) {
		blocked, ok := p.Block(r.Subject)
		if !ok {
			return Reply{}, errUnknownResult
		}
		status := 200
		if r.Created {
			status = 201
		}
		return Reply{Status: status, Data: BlockData{Block: c.block(blocked)}}, nil
	})
}

func removeBlock(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	command := new(work.UnblockAgent)
	if agent, ok := findAgent(c.Service.Engine.Identity(), c.Param("agent")); ok {
		command.Agent = agent.ID
	}
	ended, blocked := view.Block(command.Agent)
	return c.answer(view.ID, command, func(*work.Project, work.Result) (Reply, error) {
		data := UnblockData{}
		if blocked {
			record := c.block(ended)
			data.Block = &record
		}
		return Reply{Data: data}, nil
	})
}
