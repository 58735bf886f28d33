package api

import (
	"hash/fnv"
	"strconv"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
	"pws/work/path"
)

// WorkspaceFile is a file in a workspace. Content is present if one file was requested.
type WorkspaceFile struct {
	// Canonical relative path.
	Path string `json:"path"`
	// Size of the content.
	SizeBytes int `json:"size_bytes"`
	// Media type.
	ContentType string `json:"content_type"`
	// SHA-256 of the content, hexadecimal; never grants access.
	BlobHash string `json:"blob_hash"`
	// Language, derived from the file name; null if unknown.
	Language *string `json:"language"`
	// The changeset that created the file; null if it was created in the workspace.
	Created *string `json:"created_changeset_id" check:"id=chg_"`
	// The changeset that last changed it; null if the workspace did.
	Updated *string `json:"updated_changeset_id" check:"id=chg_"`
	// When it was last changed.
	UpdatedAt Time `json:"updated_at"`
	// The UTF-8 text, or the lines of it that were asked for.
	Content *string `json:"content,omitzero"`
	// Which lines the content has; absent if it has all.
	Lines *LineRange `json:"lines,omitzero"`
}

// WorkspaceFileData is the data of a file of a workspace.
type WorkspaceFileData struct {
	// The file with its content.
	File WorkspaceFile `json:"file"`
}

// WorkspaceFilesData is a page of the files of a workspace.
type WorkspaceFilesData struct {
	// Metadata, sorted by path in byte order.
	Files []WorkspaceFile `json:"files"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// WorkspaceFileWritten is the data of workspace.file.write and workspace.file.rename.
type WorkspaceFileWritten struct {
	// The file, without its content.
	File WorkspaceFile `json:"file"`
	// Null: nothing is published yet.
	Changeset *Changeset `json:"changeset"`
	// Whether the path is new in the workspace.
	Created bool `json:"created"`
	// The workspace's revision.
	Revision uint64 `json:"revision"`
}

// WorkspaceFileDeleted is the data of workspace.file.delete.
type WorkspaceFileDeleted struct {
	// Null: nothing is published yet.
	Changeset *Changeset `json:"changeset"`
	// The workspace's revision.
	Revision uint64 `json:"revision"`
}

// WriteWorkspaceFile is the body of workspace.file.write.
type WriteWorkspaceFile struct {
	// UTF-8 text, at most 1 MiB.
	Content *string `json:"content" check:"required,content"`
	// Media type; derived from the extension if absent.
	ContentType string `json:"content_type"`
}

// RenameWorkspaceFile is the body of workspace.file.rename.
type RenameWorkspaceFile struct {
	// The path that the file gets.
	NewPath string `json:"new_path" check:"required"`
	// Rename every file below path instead; the answer has the first of them.
	Folder bool `json:"folder"`
}

const (
	workspaceFilesPath = workspacePath + "/files"
	workspaceFilePath  = workspaceFilesPath + "/{path*}"
)

var workspaceFileParams = append(workspaceParam[:1:1], fileParams[1])

// workspaceWriteErrors are the codes that every change of a workspace may return.
var workspaceWriteErrors = []fault.Code{
	fault.InvalidPath, fault.WorkspaceNotFound, fault.Forbidden, fault.RoleRequired,
	fault.ProjectArchived, fault.WorkspaceClosed, fault.TurnLost, fault.QuotaExceeded,
}

func workspaceWriteErrorsAnd(more ...fault.Code) []fault.Code {
	return append(workspaceWriteErrors[:len(workspaceWriteErrors):len(workspaceWriteErrors)],
		more...)
}

var workspaceFileOperations = []*Operation{
	declare[None, WorkspaceFilesData](Operation{
		Name: "workspace.files", Method: "GET", Path: workspaceFilesPath,
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200}, Params: workspaceParam,
		Query: append(pageParams(200), prefixParam),
		Errors: []fault.Code{
			fault.WorkspaceNotFound, fault.RoleRequired,
			fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
		},
		Tag: "workspaces", Summary: "List files of a workspace",
		Doc: "Lists the files of the workspace, that is its base with its changes, without " +
			"content.",
	}, listWorkspaceFiles),
	withValidation(declare[None, WorkspaceFileData](Operation{
		Name: "workspace.file.read", Method: "GET", Path: workspaceFilePath,
		Tool:    "workspace.file.read",
		ToolDoc: "Read the text of a file in your workspace.",
		Auth:    Bearer, Category: CategoryRead, Statuses: []int{200}, Params: workspaceFileParams,
		Query: lineParams,
		Errors: []fault.Code{
			fault.InvalidPath, fault.WorkspaceNotFound, fault.RoleRequired, fault.FileNotFound,
			fault.BlobCorrupt, fault.ContentRemoved,
		},
		Conditional: true, Tag: "workspaces", Summary: "Read a file of a workspace",
		Doc: "Returns the version of a file in the workspace, with its text or with some of its " +
			"lines. The ETag is that of the whole file.",
	}, readWorkspaceFile), validateLines),
	declare[WriteWorkspaceFile, WorkspaceFileWritten](Operation{
		Name: "workspace.file.write", Method: "PUT", Path: workspaceFilePath,
		Tool: "workspace.file.write",
		ToolDoc: "Create or replace one file in your workspace. This also resolves the file's " +
			"conflict.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: workspaceFileParams,
		Errors: workspaceWriteErrorsAnd(fault.FileTooLarge, fault.UnsupportedContentType,
			fault.PathConflict, fault.FileLimitReached, fault.PreconditionFailed),
		Conditional: true, Tag: "workspaces", Summary: "Create or replace a file of a workspace",
		Doc: "Creates or replaces one file in the workspace. This resolves the file's " +
			"conflict, and extends the caller's turn to 1800 s from now.",
	}, writeWorkspaceFile),
	declare[None, WorkspaceFileDeleted](Operation{
		Name: "workspace.file.delete", Method: "DELETE", Path: workspaceFilePath,
		Tool:    "workspace.file.delete",
		ToolDoc: "Delete one file in your workspace. This also resolves the file's conflict.",
		Auth:    Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: workspaceFileParams, Query: []Param{folderParam},
		Errors:      workspaceWriteErrorsAnd(fault.FileNotFound, fault.PreconditionFailed),
		Conditional: true, Tag: "workspaces", Summary: "Delete a file of a workspace",
		Doc: "Deletes one file in the workspace, or with folder=true every file below the path. " +
			"This resolves the file's conflict.",
	}, deleteWorkspaceFile),
	declare[RenameWorkspaceFile, WorkspaceFileWritten](Operation{
		Name: "workspace.file.rename", Method: "POST", Path: workspaceFilePath + "/rename",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: workspaceFileParams,
		Errors: workspaceWriteErrorsAnd(fault.FileNotFound, fault.FileExists, fault.PathConflict),
		Tag:    "workspaces", Summary: "Rename a file of a workspace",
		Doc: "Renames one file in the workspace, or with folder every file below the path. A later " +
			"refresh follows the renames. Renaming a file resolves its conflict; with folder, the " +
			"conflicts move with their files.",
	}, renameWorkspaceFile),
}

// workspaceFile returns the wire form without the content.
func workspaceFile(from work.WorkspaceFile) WorkspaceFile {
	record := WorkspaceFile{
		Path: from.Path, SizeBytes: from.Size, ContentType: from.ContentType,
		BlobHash: hexHash(from.Blob), UpdatedAt: Time(from.ChangedAt),
	}
	if from.Language != "" {
		record.Language = &from.Language
	}
	record.Created = idOrNil(id.Changeset, from.Created.ID)
	if from.Updated.Sequence > 0 {
		record.Updated = idOrNil(id.Changeset, from.Updated.ID)
		record.UpdatedAt = Time(from.Updated.CreatedAt)
	}
	return record
}

// workspaceFileETag identifies a content and its media type; empty if there is no file.
func workspaceFileETag(file *work.WorkspaceFile) string {
	if file == nil {
		return ""
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(file.ContentType))
	return `"` + hexHash(file.Blob)[:32] + strconv.FormatUint(uint64(sum.Sum32()), 36) + `"`
}

func listWorkspaceFiles(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(200)
	if err != nil {
		return Reply{}, err
	}
	view, w, err := c.readableWorkspace()
	if err != nil {
		return Reply{}, err
	}
	prefix := c.Query["prefix"]
	data := WorkspaceFilesData{Files: []WorkspaceFile{}}
	view.WorkspaceFiles(w, max(prefix, string(after)), func(file work.WorkspaceFile) bool {
		if after != nil && file.Path == string(after) {
			return true
		}
		if len(file.Path) < len(prefix) || file.Path[:len(prefix)] != prefix {
			return false
		}
		if len(data.Files) == limit {
			data.NextCursor = c.next([]byte(data.Files[limit-1].Path))
			return false
		}
		data.Files = append(data.Files, workspaceFile(file))
		return true
	})
	return Reply{Data: data}, nil
}

func readWorkspaceFile(c *Call, _ *None) (Reply, error) {
	decoded, err := c.pathOf()
	if err != nil {
		return Reply{}, err
	}
	wanted, err := c.wantedLines()
	if err != nil {
		return Reply{}, err
	}
	view, w, err := c.readableWorkspace()
	if err != nil {
		return Reply{}, err
	}
	file, found := view.WorkspaceFile(w, decoded)
	if !found {
		return Reply{}, errFileNotFound(decoded)
	}
	if err := c.hold(file.Size); err != nil {
		return Reply{}, err
	}
	content, err := c.Service.Engine.Blob(file.Blob)
	if err != nil {
		return Reply{}, err
	}
	reply := workspaceFileReply{record: workspaceFile(file), content: content}
	if !wanted.all() {
		reply.lines = new(LineRange)
		reply.content, *reply.lines = wanted.of(content)
	}
	return Reply{Data: reply, ETag: workspaceFileETag(&file)}, nil
}

// workspaceFileReply writes WorkspaceFileData as JSON. Its record is without content and lines.
type workspaceFileReply struct {
	record  WorkspaceFile
	content []byte
	// lines is nil if the content is the whole.
	lines *LineRange
}

// JSONBytes implements Sized.
func (r workspaceFileReply) JSONBytes() int {
	return recordBytes + 2*len(r.record.Path) + textBytes(textOf(r.content))
}

// AppendJSON implements Appender.
func (r workspaceFileReply) AppendJSON(dst []byte) []byte { return appendPieces(dst, r) }

// TextBytes implements Pieces.
func (r workspaceFileReply) TextBytes() int { return len(r.content) }

// WritePieces implements Pieces.
func (r workspaceFileReply) WritePieces(w PieceWriter) error {
	piece := appendData([]byte(`{"file":`), r.record)
	// The content replaces the closing brace of the record.
	if err := w.JSON(append(piece[:len(piece)-1], `,"content":`...)); err != nil {
		return err
	}
	if err := w.Text(textOf(r.content)); err != nil {
		return err
	}
	end := []byte{}
	if r.lines != nil {
		end = appendLines(end, r.lines)
	}
	return w.JSON(append(end, "}}"...))
}

// workspaceFileMatch returns the conditions of a write as a function; nil if there are none.
func (c *Call) workspaceFileMatch() func(*work.WorkspaceFile) error {
	if c.IfMatch == "" && c.IfNoneMatch == "" {
		return nil
	}
	return func(current *work.WorkspaceFile) error {
		return c.requireMatch(workspaceFileETag(current))
	}
}

// fileInWorkspace returns the path and the workspace of a request: INVALID_PATH,
// WORKSPACE_NOT_FOUND.
func (c *Call) fileInWorkspace() (decoded string, project, workspace id.ID, err error) {
	if decoded, err = c.pathOf(); err != nil {
		return "", id.ID{}, id.ID{}, err
	}
	owner, workspace, err := c.owner(id.Workspace, errWorkspaceNotFound)
	if err != nil {
		return "", id.ID{}, id.ID{}, err
	}
	return decoded, owner.ID, workspace, nil
}

// written renders the file at a path after a change.
func (c *Call) written(at string) func(p *work.Project, r work.Result) (Reply, error) {
	return func(p *work.Project, r work.Result) (Reply, error) {
		w, ok := p.Workspace(r.Subject)
		if !ok {
			return Reply{}, errUnknownResult
		}
		file, found := p.WorkspaceFile(w, at)
		if !found {
			return Reply{}, errUnknownResult
		}
		return Reply{
			Status: 200, ETag: workspaceFileETag(&file), Data: WorkspaceFileWritten{
				File: workspaceFile(file), Created: r.Created, Revision: w.Revision,
			},
		}, nil
	}
}

func writeWorkspaceFile(c *Call, body *WriteWorkspaceFile) (Reply, error) {
	decoded, project, workspace, err := c.fileInWorkspace()
	if err != nil {
		return Reply{}, err
	}
	var faults fileFaults
	faults.content("content", body.Content)
	faults.contentType("content_type", body.ContentType)
	if err := faults.err(); err != nil {
		return Reply{}, err
	}
	command := &work.WriteWorkspaceFile{
		Workspace: workspace, Path: decoded, Blob: blobOf(*body.Content),
		ContentType: typeOf(body.ContentType, decoded), Match: c.workspaceFileMatch(),
	}
	return c.answer(project, command, c.written(decoded))
}

func deleteWorkspaceFile(c *Call, _ *None) (Reply, error) {
	decoded, project, workspace, err := c.fileInWorkspace()
	if err != nil {
		return Reply{}, err
	}
	command := &work.DeleteWorkspaceFile{
		Workspace: workspace, Path: decoded, Match: c.workspaceFileMatch(), Folder: c.ofFolder(),
	}
	return c.answer(project, command, func(p *work.Project, r work.Result) (Reply, error) {
		w, ok := p.Workspace(r.Subject)
		if !ok {
			return Reply{}, errUnknownResult
		}
		return Reply{Status: 200, Data: WorkspaceFileDeleted{Revision: w.Revision}}, nil
	})
}

func renameWorkspaceFile(c *Call, body *RenameWorkspaceFile) (Reply, error) {
	decoded, project, workspace, err := c.fileInWorkspace()
	if err != nil {
		return Reply{}, err
	}
	if problem := path.Problem(body.NewPath); problem != "" {
		return Reply{}, fault.New(fault.InvalidPath, "A path is not canonical.").
			With("fields", []fault.Field{{Field: "new_path", Problem: problem}})
	}
	if problem := folderMoveProblem(decoded, body.NewPath); body.Folder && problem != "" {
		return Reply{}, fault.Invalid(fault.Field{Field: "new_path", Problem: problem})
	}
	command := &work.RenameWorkspaceFile{
		Workspace: workspace, Path: decoded, NewPath: body.NewPath, Folder: body.Folder,
	}
	if body.Folder {
		return c.answer(project, command, c.writtenBelow(body.NewPath))
	}
	return c.answer(project, command, c.written(body.NewPath))
}
