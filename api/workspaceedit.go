package api

import (
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// EditWorkspaceFile is the body of workspace.file.edit.
type EditWorkspaceFile struct {
	// Edits, applied in this order, each to the result of the one before it.
	Edits []TextEdit `json:"edits" check:"required,items=1..50"`
	// Blob hash that the file must have; otherwise FILE_CHANGED.
	ExpectedBlob *string `json:"expected_blob_hash" check:"pattern=^[0-9a-f]{64}$"`
	// Ignored: nothing is published yet.
	Message string `json:"message" check:"chars=0..4000,text"`
}

// WorkspaceDiffData is the data of the diff of a workspace.
type WorkspaceDiffData struct {
	// The diff.
	Diff WorkspaceDiff `json:"diff"`
}

// WorkspaceDiff is a unified diff between the base of a workspace and its files.
type WorkspaceDiff struct {
	// The base changeset of the workspace.
	BaseID string `json:"base_changeset_id" check:"id=chg_"`
	// The changeset that was published from the workspace; null if none was.
	ChangesetID *string `json:"changeset_id" check:"id=chg_"`
	// The workspace whose changes it shows.
	WorkspaceID string `json:"workspace_id" check:"id=wsp_"`
	// The workspace's revision.
	Revision uint64 `json:"revision"`
	// Always unified.
	Format string `json:"format" check:"enum=unified"`
	// At most 200000 characters, truncated at the end of a line.
	Text string `json:"text"`
	// Whether something was omitted.
	Truncated bool `json:"truncated"`
	// Every file that differs.
	Files []DiffFile `json:"files"`
}

var workspaceEditOperations = []*Operation{
	declare[EditWorkspaceFile, WorkspaceFileWritten](Operation{
		Name: "workspace.file.edit", Method: "PATCH", Path: workspaceFilePath,
		Tool: "workspace.file.edit", Overwrites: true,
		ToolDoc: "Replace texts in one file of your workspace. Each old_text must occur once " +
			"unless replace_all is true; nothing is written unless all edits apply.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: workspaceFileParams,
		Errors: workspaceWriteErrorsAnd(fault.FileNotFound, fault.FileChanged, fault.EditNotFound,
			fault.EditAmbiguous, fault.FileTooLarge, fault.PreconditionFailed, fault.ProjectMoved,
			fault.BlobCorrupt, fault.ContentRemoved),
		Conditional: true, Tag: "workspaces", Summary: "Edit a file of a workspace",
		Doc: "Replaces texts in one file of the workspace. Each old_text must occur once, unless " +
			"replace_all is true; edits apply in order, all or none. Like writing the file, this " +
			"resolves its conflict and extends the caller's turn.",
	}, editWorkspaceFile),
	declare[None, WorkspaceDiffData](Operation{
		Name: "workspace.diff", Method: "GET", Path: workspacePath + "/diff",
		Auth: Bearer, Category: CategoryRead, Expensive: true, Statuses: []int{200},
		Params: workspaceParam,
		Errors: []fault.Code{
			fault.WorkspaceNotFound, fault.RoleRequired, fault.BlobCorrupt, fault.ContentRemoved,
		},
		Tag: "workspaces", Summary: "Get the diff of a workspace",
		Doc: "Returns the changes of a workspace to its base, as a unified diff that git apply " +
			"accepts unless it is truncated; for a PUBLISHED workspace, those of its changeset. " +
			"Only its author and maintainers may do this.",
	}, readWorkspaceDiff),
}

func editWorkspaceFile(c *Call, body *EditWorkspaceFile) (Reply, error) {
	decoded, project, workspace, err := c.fileInWorkspace()
	if err != nil {
		return Reply{}, err
	}
	command := work.EditWorkspaceFile{
		Workspace: workspace, Path: decoded, Edits: textEdits(body.Edits),
		Expected: expectedBlob(body.ExpectedBlob), Match: c.workspaceFileMatch(),
	}
	own := func(view *work.Project) bool {
		w, ok := view.WorkspaceAt(workspace, c.Now)
		return ok && w.Agent == c.Agent && work.MayContribute.Require(view, c.Agent) == nil
	}
	return c.edited(project, own,
		func(view *work.Project, editor *work.Editor) (Reply, error) {
			next := &command
			if view != nil {
				w, _ := view.WorkspaceAt(workspace, c.Now)
				next = command.Apply(view, w, editor)
			}
			return c.answer(project, next, c.written(decoded))
		})
}

// writtenBelow renders the first file below a folder after a change.
func (c *Call) writtenBelow(folder string) func(p *work.Project, r work.Result) (Reply, error) {
	return func(p *work.Project, r work.Result) (Reply, error) {
		w, ok := p.Workspace(r.Subject)
		if !ok {
			return Reply{}, errUnknownResult
		}
		first := ""
		p.WorkspaceFiles(w, folder+"/", func(file work.WorkspaceFile) bool {
			if strings.HasPrefix(file.Path, folder+"/") {
				first = file.Path
			}
			return false
		})
		return c.written(first)(p, r)
	}
}

func readWorkspaceDiff(c *Call, _ *None) (Reply, error) {
	view, w, err := c.readableWorkspace()
	if err != nil {
		return Reply{}, err
	}
	sides := diffSides{project: view.ID, workspace: w.ID, version: w.Revision}
	made, err := c.fileDiffs(sides, func() []work.Change { return view.WorkspaceDiff(w) })
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: WorkspaceDiffData{Diff: WorkspaceDiff{
		BaseID: w.Base.Format(id.Changeset), ChangesetID: idOrNil(id.Changeset, w.Published),
		WorkspaceID: w.ID.Format(id.Workspace), Revision: w.Revision, Format: "unified",
		Text: made.text, Truncated: made.truncated, Files: made.files,
	}}}, nil
}
