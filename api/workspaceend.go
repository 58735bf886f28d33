package api

import (
	"errors"

	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// WorkspacesData is a page of workspaces.
type WorkspacesData struct {
	// Newest first.
	Workspaces []Workspace `json:"workspaces"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

const (
	ownWorkspacesPath = "/api/v1/agents/me/workspaces"
	// ownWorkspacesPage is the default page of the workspaces of an agent.
	ownWorkspacesPage = 20
	// ownWorkspacesReadMax is the maximum number of workspaces that one request reads.
	ownWorkspacesReadMax = 1000
)

var workspaceEndOperations = []*Operation{
	declare[None, WorkspaceData](Operation{
		Name: "workspace.close", Method: "DELETE", Path: workspacePath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Tool:      "workspace.close",
		ToolDoc: "Close a workspace and discard its changes. A contribution that was submitted " +
			"from it can still be decided.",
		Params: workspaceParam, BodyOptional: true, Conditional: true,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.WorkspaceNotFound, fault.RoleRequired,
			fault.WorkspaceClosed, fault.PreconditionFailed,
		},
		Tag: "workspaces", Summary: "Close a workspace",
		Doc: "Closes a workspace and discards its changes, by its agent, maintainers or the " +
			"owner; a turn in it ends too. Its contribution can still be decided. Closing a " +
			"CLOSED workspace changes nothing; a PUBLISHED one cannot be closed.",
	}, closeWorkspace),
	declare[None, WorkspacesData](Operation{
		Name: "workspace.mine", Method: "GET", Path: ownWorkspacesPath,
		Tool:    "workspace.list",
		ToolDoc: "List your workspaces in all projects, newest first, with changes and conflicts.",
		Auth:    Bearer, Category: CategoryRead, Statuses: []int{200},
		Query: append([]Param{{
			Name: "status", Check: "enum=OPEN|SUBMITTED|CONFLICT|PUBLISHED|CLOSED",
			Doc: "Only workspaces with this status; all if absent.",
		}}, pageParams(ownWorkspacesPage)...),
		Errors: []fault.Code{fault.PaginationCursorInvalid, fault.PaginationLimitInvalid},
		Tag:    "workspaces", Summary: "List your workspaces",
		Doc: "Lists the workspaces of the caller in all projects that it can read, newest " +
			"first. A page may contain fewer entries than its limit although more pages follow.",
	}, listOwnWorkspaces),
}

func closeWorkspace(c *Call, _ *None) (Reply, error) {
	owner, wanted, err := c.owner(id.Workspace, errWorkspaceNotFound)
	if err != nil {
		return Reply{}, err
	}
	command := &work.CloseWorkspace{Workspace: wanted}
	if c.IfMatch != "" || c.IfNoneMatch != "" {
		command.Match = func(p *work.Project, w *work.Workspace) error {
			record := c.workspace(p, w, nil)
			return c.requireMatch(workspaceETag(&record))
		}
	}
	return c.answer(owner.ID, command, func(p *work.Project, r work.Result) (Reply, error) {
		w, ok := p.Workspace(r.Subject)
		if !ok {
			return Reply{}, errUnknownResult
		}
		return c.workspaceReply(200, p, w, nil), nil
	})
}

func listOwnWorkspaces(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(ownWorkspacesPage)
	if err != nil {
		return Reply{}, err
	}
	last, err := lastID(after)
	if err != nil {
		return Reply{}, err
	}
	data := WorkspacesData{Workspaces: []Workspace{}}
	looked := 0
	for _, one := range c.Service.Engine.Indexes(index.ForWorkspaces).Workspaces.Of(c.Agent) {
		if !last.IsZero() && one.Workspace.Compare(last) >= 0 {
			continue
		}
		if len(data.Workspaces) == limit || looked == ownWorkspacesReadMax {
			data.NextCursor = c.next(last[:])
			break
		}
		looked, last = looked+1, one.Workspace
		record, shown, err := c.ownWorkspace(one)
		if err != nil {
			return Reply{}, err
		}
		if status, only := c.Query["status"]; shown && (!only || record.Status == status) {
			data.Workspaces = append(data.Workspaces, record)
		}
	}
	return Reply{Data: data}, nil
}

// ownWorkspace returns a workspace of the caller if it may read it now, according to the live
// view.
func (c *Call) ownWorkspace(one index.OwnWorkspace) (record Workspace, shown bool, err error) {
	view, w, err := c.ownWorkspaceView(one)
	if w == nil || err != nil {
		return record, false, err
	}
	return c.workspace(view, w, nil), true, nil
}

// ownWorkspaceView returns a workspace of the caller with its project, nil if the caller may not
// read it now.
func (c *Call) ownWorkspaceView(
	one index.OwnWorkspace,
) (view *work.Project, w *work.Workspace, err error) {
	view, err = Intact(c.Service.Engine.ProjectFor(one.Project, c.Agent))
	if err != nil || view == nil {
		return nil, nil, err
	}
	w, err = view.AuthorizeWorkspace(one.Workspace, c.Agent, c.Now)
	var refusal *fault.Error
	if errors.As(err, &refusal) {
		return nil, nil, nil
	}
	if err != nil || w.Agent != c.Agent {
		return nil, nil, err
	}
	return view, w, nil
}
