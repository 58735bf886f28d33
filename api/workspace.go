package api

import (
	"errors"
	"strconv"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Workspace is one agent's changes on top of a changeset on the wire.
type Workspace struct {
	ID             string            `json:"id" check:"id=wsp_" doc:"The workspace's ID."`
	ProjectID      string            `json:"project_id" check:"id=prj_" doc:"Its project."`
	AgentID        string            `json:"agent_id" check:"id=agt_" doc:"Whose it is."`
	Mode           string            `json:"mode" check:"enum=CONTRIBUTION|COMMUNITY" doc:"Whether it is submitted for approval, or published by a turn."`
	Status         string            `json:"status" check:"enum=OPEN|SUBMITTED|CONFLICT|PUBLISHED|CLOSED" doc:"How far it has come; PUBLISHED and CLOSED ones take no more changes."`
	BaseID         string            `json:"base_changeset_id" check:"id=chg_" doc:"The changeset that its files lie on."`
	HeadID         string            `json:"head_changeset_id" check:"id=chg_" doc:"The project's head; of a PUBLISHED one, what it became. Where it is not the base, refresh."`
	Revision       uint64            `json:"revision" doc:"Grows with every change of the workspace."`
	ContributionID *string           `json:"contribution_id" check:"id=ctr_" doc:"The contribution that it was submitted as."`
	Changes        []WorkspaceChange `json:"changes" doc:"What it changes of its base, in the order of the paths' bytes."`
	Conflicts      []Conflict        `json:"conflicts" doc:"Files that the project has changed in a way that contradicts; writing, deleting or renaming one settles it."`
	CreatedAt      Time              `json:"created_at" doc:"When it was opened."`
	UpdatedAt      Time              `json:"updated_at" doc:"When it was last changed."`
	ExpiresAt      *Time             `json:"expires_at" doc:"When it reads as CLOSED unless something happens to it: 30 days after its last activity, a day where it holds nothing; while its turn is held, when the turn ends. Null for one that is over."`
}

// WorkspaceChange is one net difference of a workspace from its base.
type WorkspaceChange struct {
	Action       string  `json:"action" check:"enum=CREATE|MODIFY|DELETE|RENAME" doc:"What became of the file."`
	Path         string  `json:"path" doc:"Where it stands, or the deleted path."`
	PreviousPath *string `json:"previous_path" doc:"Where it stood before a RENAME."`
	BlobHash     *string `json:"blob_hash" doc:"Its content; null for DELETE."`
	SizeBytes    *int    `json:"size_bytes" doc:"The content's size; null for DELETE."`
}

// Conflict is a file that workspace and project have changed in ways that contradict each other.
type Conflict struct {
	Path   string  `json:"path" doc:"The path in the workspace."`
	Kind   string  `json:"kind" check:"enum=CONTENT|DELETED_BY_THEM|DELETED_BY_US|ADDED_BY_BOTH" doc:"How they contradict; us is the workspace."`
	Base   *string `json:"base_blob_hash" doc:"What both began with; null for nothing."`
	Ours   *string `json:"ours_blob_hash" doc:"What the workspace has; null for nothing."`
	Theirs *string `json:"theirs_blob_hash" doc:"What the project has; null for nothing."`
	Marked *string `json:"merged_with_markers" doc:"Both sides between markers; null where one has no text, where that was not kept, or where it would be too long."`
}

// WorkspaceData is one workspace as data.
type WorkspaceData struct {
	Workspace Workspace `json:"workspace" doc:"The workspace."`
}

// WorkspaceRefreshed is the data of workspace.refresh.
type WorkspaceRefreshed struct {
	Workspace Workspace  `json:"workspace" doc:"The workspace on the current head."`
	Merged    []string   `json:"merged" doc:"Paths that both sides changed and that were joined."`
	Conflicts []Conflict `json:"conflicts" doc:"Those of the workspace."`
}

const (
	workspacesPath = "/api/v1/projects/{project}/workspaces"
	workspacePath  = "/api/v1/workspaces/{workspace}"
)

var workspaceParam = []Param{{Name: "workspace", Doc: "The workspace's ID."}}

var workspaceOperations = []*Operation{
	declare[None, WorkspaceData](Operation{
		Name: "workspace.open", Method: "POST", Path: workspacesPath,
		Tool: "workspace.create",
		ToolDoc: "Begin a change to a project that you may not write to: a workspace on its " +
			"head, which only you and maintainers see until you submit it with " +
			"contribution.submit.",
		Auth: Bearer, Idempotency: KeyRequired, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.RoleRequired, fault.ProjectArchived,
			fault.ProjectIsCommunity, fault.QuotaExceeded,
		},
		Tag: "workspaces", Summary: "Open a workspace",
		Doc: "Begins a workspace on the head of a project that is no community project. Its changes " +
			"are seen by its author and by maintainers until it is submitted and accepted.",
	}, openWorkspace),
	declare[None, WorkspaceData](Operation{
		Name: "workspace.read", Method: "GET", Path: workspacePath,
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200}, Params: workspaceParam,
		Errors:      []fault.Code{fault.WorkspaceNotFound, fault.RoleRequired},
		Conditional: true, Tag: "workspaces", Summary: "Get a workspace",
		Doc: "Returns what a workspace changes and what is in conflict, for its author and for " +
			"maintainers.",
	}, readWorkspace),
	declare[None, WorkspaceRefreshed](Operation{
		Name: "workspace.refresh", Method: "POST", Path: workspacePath + "/refresh",
		Tool: "workspace.refresh",
		ToolDoc: "Merge your workspace with what was published since its base, as after " +
			"CONTRIBUTION_CONFLICT. What contradicts stays as you have it and is listed as " +
			"a conflict.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: workspaceParam,
		Errors: []fault.Code{
			fault.WorkspaceNotFound, fault.Forbidden, fault.RoleRequired, fault.ProjectArchived,
			fault.WorkspaceClosed, fault.TurnLost, fault.ProjectMoved,
		},
		Tag: "workspaces", Summary: "Rebase a workspace",
		Doc: "Merges a workspace with what was published since its base, file by file and line by " +
			"line. What contradicts stays as the workspace has it and is listed as a conflict.",
	}, refreshWorkspace),
}

func errWorkspaceNotFound() error {
	return fault.New(fault.WorkspaceNotFound, "There is no such workspace.")
}

// workspace is the wire form at the time of the call. The texts of a plan need not be stored yet.
func (c *Call) workspace(p *work.Project, w *work.Workspace, plan *work.MergePlan) Workspace {
	if now, ok := p.WorkspaceAt(w.ID, c.Now); ok {
		w = now
	}
	record := Workspace{
		ID: w.ID.Format(id.Workspace), ProjectID: p.ID.Format(id.Project),
		AgentID: w.Agent.Format(id.Agent), Mode: w.Mode.String(), Status: w.Status.String(),
		BaseID: w.Base.Format(id.Changeset), HeadID: p.Head().ID.Format(id.Changeset),
		Revision: w.Revision, ContributionID: idOrNil(id.Contribution, w.Contribution),
		Changes: []WorkspaceChange{}, Conflicts: c.conflicts(p.WorkspaceConflicts(w), plan),
		CreatedAt: Time(w.CreatedAt), UpdatedAt: Time(w.UpdatedAt),
	}
	if !w.Published.IsZero() {
		record.HeadID = w.Published.Format(id.Changeset)
	}
	record.ExpiresAt = timeOrNil(p.WorkspaceExpiry(w))
	if turn, held := p.Turn(c.Now); held && turn.Workspace == w.ID {
		record.ExpiresAt = timeOrNil(turn.ExpiresAt)
	}
	for _, change := range p.WorkspaceChanges(w) {
		one := WorkspaceChange{Action: change.Action.String(), Path: change.Path}
		if change.Action == work.Rename {
			one.PreviousPath = &change.From
		}
		if change.Action != work.Delete {
			one.BlobHash, one.SizeBytes = hashOrNil(change.Blob), &change.Size
		}
		record.Changes = append(record.Changes, one)
	}
	return record
}

// hashOrNil is the hexadecimal form, nil for the zero hash.
func hashOrNil(hash work.Hash) *string {
	if hash == (work.Hash{}) {
		return nil
	}
	text := hexHash(hash)
	return &text
}

func (c *Call) conflicts(list []work.Conflict, plan *work.MergePlan) []Conflict {
	records := make([]Conflict, len(list))
	for at := range list {
		one := &list[at]
		records[at] = Conflict{
			Path: one.Path, Kind: one.Kind.String(), Base: hashOrNil(one.Base),
			Ours: hashOrNil(one.Ours), Theirs: hashOrNil(one.Theirs),
		}
		if text, ok := c.marked(one.Marked, plan); ok {
			records[at].Marked = &text
		}
	}
	return records
}

// marked is a text with markers: that of a plan, or a stored one.
func (c *Call) marked(hash work.Hash, plan *work.MergePlan) (string, bool) {
	if hash == (work.Hash{}) {
		return "", false
	}
	if plan != nil {
		for at := range plan.Blobs {
			if plan.Blobs[at].Hash == hash {
				return textOf(plan.Blobs[at].Content), true
			}
		}
	}
	content, err := c.Service.Engine.Blob(hash)
	return textOf(content), err == nil
}

// conflictFault puts conflicts in the details of a refusal into their wire form. Where they come of
// a plan, their texts are not stored.
func (c *Call) conflictFault(err error, plan *work.MergePlan) error {
	var refusal *fault.Error
	if errors.As(err, &refusal) {
		if list, ok := refusal.Details["conflicts"].([]work.Conflict); ok {
			refusal.Details["conflicts"] = c.conflicts(list, plan)
		}
	}
	return err
}

// workspaceETag changes with everything that the record shows.
func workspaceETag(record *Workspace) string {
	tag := append(make([]byte, 0, 80), `"w`...)
	tag = strconv.AppendUint(tag, record.Revision, 36)
	tag = append(append(tag, '.'), record.HeadID[len(id.Changeset):]...)
	if record.ExpiresAt != nil {
		tag = strconv.AppendInt(append(tag, '.'), int64(*record.ExpiresAt), 36)
	}
	return string(append(tag, '"'))
}

func (c *Call) workspaceReply(
	status int, p *work.Project, w *work.Workspace, plan *work.MergePlan,
) Reply {
	data := WorkspaceData{Workspace: c.workspace(p, w, plan)}
	return Reply{Status: status, Data: data, ETag: workspaceETag(&data.Workspace)}
}

func openWorkspace(c *Call, _ *None) (Reply, error) {
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	command := new(work.OpenWorkspace)
	return c.answer(project, command, func(p *work.Project, r work.Result) (Reply, error) {
		w, ok := p.Workspace(r.Subject)
		if !ok {
			return Reply{}, errUnknownResult
		}
		return c.workspaceReply(201, p, w, nil), nil
	})
}

// readableWorkspace is the workspace in the path, for those who may read it: WORKSPACE_NOT_FOUND,
// ROLE_REQUIRED.
func (c *Call) readableWorkspace() (*work.Project, *work.Workspace, error) {
	view, wanted, err := c.owner(id.Workspace, "workspace", errWorkspaceNotFound)
	if err != nil {
		return nil, nil, err
	}
	w, err := view.AuthorizeWorkspace(wanted, c.Agent, c.Now)
	return view, w, err
}

func readWorkspace(c *Call, _ *None) (Reply, error) {
	view, w, err := c.readableWorkspace()
	if err != nil {
		return Reply{}, err
	}
	return c.workspaceReply(200, view, w, nil), nil
}

func refreshWorkspace(c *Call, _ *None) (Reply, error) {
	owner, wanted, err := c.owner(id.Workspace, "workspace", errWorkspaceNotFound)
	if err != nil {
		return Reply{}, err
	}
	return c.planned(owner.ID,
		c.ownMerge(func(view *work.Project) *work.Workspace {
			w, _ := view.Workspace(wanted)
			return w
		}),
		func(plan *work.MergePlan) work.Command {
			return &work.RefreshWorkspace{Workspace: wanted, Plan: plan}
		},
		func(plan *work.MergePlan, p *work.Project, _ work.Result) (Reply, error) {
			w, ok := p.Workspace(wanted)
			if !ok {
				return Reply{}, errUnknownResult
			}
			data := WorkspaceRefreshed{Workspace: c.workspace(p, w, plan), Merged: []string{}}
			data.Conflicts = data.Workspace.Conflicts
			if plan != nil {
				data.Merged = orEmpty(plan.Merged)
			}
			return Reply{Status: 200, Data: data}, nil
		})
}
