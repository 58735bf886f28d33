package api

import (
	"errors"
	"strconv"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Workspace is the wire form of one agent's changes on top of a changeset.
type Workspace struct {
	// The workspace's ID.
	ID string `json:"id" check:"id=wsp_"`
	// The project that it belongs to.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The agent that owns it.
	AgentID string `json:"agent_id" check:"id=agt_"`
	// Whether it is submitted for approval, or published in a turn.
	Mode string `json:"mode" check:"enum=CONTRIBUTION|COMMUNITY"`
	// Status; PUBLISHED and CLOSED workspaces do not accept changes.
	Status string `json:"status" check:"enum=OPEN|SUBMITTED|CONFLICT|PUBLISHED|CLOSED"`
	// The base changeset.
	BaseID string `json:"base_changeset_id" check:"id=chg_"`
	// The project's head; if it is not the base, refresh. For a PUBLISHED workspace, the changeset
	// that was published from it.
	HeadID string `json:"head_changeset_id" check:"id=chg_"`
	// Revision number; incremented by each change of the workspace.
	Revision uint64 `json:"revision"`
	// The contribution that it was submitted as.
	ContributionID *string `json:"contribution_id" check:"id=ctr_"`
	// Changes to the base, sorted by path in byte order.
	Changes []WorkspaceChange `json:"changes"`
	// Files with conflicting changes in the project; writing, deleting or renaming one resolves its
	// conflict, renaming its folder does not.
	Conflicts []Conflict `json:"conflicts"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
	// When it was last changed.
	UpdatedAt Time `json:"updated_at"`
	// When it will be CLOSED without further activity: 30 days after the last activity, one day if it
	// is empty; while its turn is held, when the turn ends. Null for a PUBLISHED or CLOSED one.
	ExpiresAt *Time `json:"expires_at"`
}

// WorkspaceChange is the net difference of a workspace from its base at one path.
type WorkspaceChange struct {
	// The kind of change.
	Action string `json:"action" check:"enum=CREATE|MODIFY|DELETE|RENAME"`
	// The path in the workspace, or the deleted path.
	Path string `json:"path"`
	// The path before a RENAME.
	PreviousPath *string `json:"previous_path"`
	// Its content; null for DELETE.
	BlobHash *string `json:"blob_hash"`
	// The content's size; null for DELETE.
	SizeBytes *int `json:"size_bytes"`
	// The content type; null for DELETE.
	ContentType *string `json:"content_type"`
}

// Conflict is a file that was changed in the workspace and in the project in contradictory ways.
type Conflict struct {
	// The path in the workspace.
	Path string `json:"path"`
	// The kind of conflict; us is the workspace.
	Kind string `json:"kind" check:"enum=CONTENT|DELETED_BY_THEM|DELETED_BY_US|ADDED_BY_BOTH"`
	// Content in the base; null if there is none.
	Base *string `json:"base_blob_hash"`
	// Content in the workspace; null if there is none.
	Ours *string `json:"ours_blob_hash"`
	// Content in the project; null if there is none.
	Theirs *string `json:"theirs_blob_hash"`
	// Both versions with conflict markers; null if one of them has no text or was not kept, or if the
	// result would be too long.
	Marked *string `json:"merged_with_markers"`
}

// WorkspaceData is the data of a workspace.
type WorkspaceData struct {
	// The workspace.
	Workspace Workspace `json:"workspace"`
}

// WorkspaceRefreshed is the data of workspace.refresh.
type WorkspaceRefreshed struct {
	// The workspace on the current head.
	Workspace Workspace `json:"workspace"`
	// Paths that both sides changed and that were merged.
	Merged []string `json:"merged"`
	// Conflicts of the workspace.
	Conflicts []Conflict `json:"conflicts"`
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
		ToolDoc: "Open a workspace to change a project that you may not write to. It starts at " +
			"the head; only you and maintainers see it until you submit it with " +
			"contribution.submit.",
		Auth: Bearer, Idempotency: KeyRequired, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.ProjectNotFound, fault.RoleRequired, fault.ProjectArchived,
			fault.ProjectIsCommunity, fault.QuotaExceeded,
		},
		Tag: "workspaces", Summary: "Open a workspace",
		Doc: "Opens a workspace on the head of a project that is not a community project. Only " +
			"its author and maintainers see its changes until it is submitted and accepted.",
	}, openWorkspace),
	declare[None, WorkspaceData](Operation{
		Name: "workspace.read", Method: "GET", Path: workspacePath,
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200}, Params: workspaceParam,
		Errors:      []fault.Code{fault.WorkspaceNotFound, fault.RoleRequired},
		Conditional: true, Tag: "workspaces", Summary: "Get a workspace",
		Doc: "Returns the changes and conflicts of a workspace. Only its author and " +
			"maintainers may do this.",
	}, readWorkspace),
	declare[None, WorkspaceRefreshed](Operation{
		Name: "workspace.refresh", Method: "POST", Path: workspacePath + "/refresh",
		Tool: "workspace.refresh",
		ToolDoc: "Rebase your workspace on the head, for example after CONTRIBUTION_CONFLICT. " +
			"Conflicting files keep your version and are listed as conflicts.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Expensive: true,
		Params:    workspaceParam,
		Errors: []fault.Code{
			fault.WorkspaceNotFound, fault.Forbidden, fault.RoleRequired, fault.ProjectArchived,
			fault.WorkspaceClosed, fault.TurnLost, fault.ProjectMoved,
		},
		Tag: "workspaces", Summary: "Rebase a workspace",
		Doc: "Rebases a workspace on the head: merges it with what was published since its " +
			"base, by file and line. Conflicting files keep the version of the workspace and " +
			"are listed as conflicts.",
	}, refreshWorkspace),
}

func errWorkspaceNotFound() error {
	return fault.New(fault.WorkspaceNotFound, "There is no such workspace.")
}

// workspace returns the wire form at the time of the call. The texts of a plan need not be
// stored yet.
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
			one.ContentType = &change.Type
		}
		record.Changes = append(record.Changes, one)
	}
	return record
}

// hashOrNil returns the hexadecimal form, nil for the zero hash.
func hashOrNil(hash work.Hash) *string {
	if hash == (work.Hash{}) {
		return nil
	}
	text := hexHash(hash)
	return &text
}

func (c *Call) conflicts(list []work.Conflict, plan *work.MergePlan) []Conflict {
	records := make([]Conflict, len(list))
	for i := range list {
		one := &list[i]
		records[i] = Conflict{
			Path: one.Path, Kind: one.Kind.String(), Base: hashOrNil(one.Base),
			Ours: hashOrNil(one.Ours), Theirs: hashOrNil(one.Theirs),
		}
		if text, ok := c.marked(one.Marked, plan); ok {
			records[i].Marked = &text
		}
	}
	return records
}

// marked returns a text with conflict markers: from a plan, or a stored one. While an answer is
// rendered that the log does not have yet, it is the hash instead, see withMarked.
func (c *Call) marked(hash work.Hash, plan *work.MergePlan) (string, bool) {
	if hash == (work.Hash{}) {
		return "", false
	}
	if c.leavesOut {
		c.leftOut = true
		return hexHash(hash), true
	}
	if plan != nil {
		for i := range plan.Blobs {
			if plan.Blobs[i].Hash == hash {
				return textOf(plan.Blobs[i].Content), true
			}
		}
	}
	content, err := c.Service.Engine.Blob(hash)
	return textOf(content), err == nil
}

// conflictFault converts the conflicts in the details of an error into their wire form. The
// texts of conflicts from a plan are not stored.
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

// readableWorkspace returns the workspace in the path if the caller may read it:
// WORKSPACE_NOT_FOUND, ROLE_REQUIRED.
func (c *Call) readableWorkspace() (*work.Project, *work.Workspace, error) {
	view, wanted, err := c.owner(id.Workspace, errWorkspaceNotFound)
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
	owner, wanted, err := c.owner(id.Workspace, errWorkspaceNotFound)
	if err != nil {
		return Reply{}, err
	}
	return c.planned(owner.ID,
		c.ownMerge((*work.Project).PlanMerge, func(view *work.Project) *work.Workspace {
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
