package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
	"pws/work/edit"
)

// TextEdit replaces a text of a file.
type TextEdit struct {
	// The exact text to replace, white space included. It must occur once unless replace_all is true.
	OldText string `json:"old_text" check:"required,chars=1..1048576"`
	// The text in its place; may be empty.
	NewText *string `json:"new_text" check:"required,content"`
	// Replace every occurrence.
	ReplaceAll bool `json:"replace_all"`
}

// EditFile is the body of file.edit.
type EditFile struct {
	// Edits, applied in this order, each to the result of the one before it.
	Edits []TextEdit `json:"edits" check:"required,items=1..50"`
	// Blob hash that the file must have; otherwise FILE_CHANGED.
	ExpectedBlob *string `json:"expected_blob_hash" check:"pattern=^[0-9a-f]{64}$"`
	// Message of the changeset.
	Message string `json:"message" check:"chars=0..4000,text"`
}

// folderParam is the query parameter of deletions.
var folderParam = Param{
	Name: "folder", Check: booleanCheck,
	Doc: "Whether to delete every file below the path instead, at most 100.",
}

// ofFolder reports whether the request is about a folder.
func (c *Call) ofFolder() bool { return c.Query["folder"] == "true" }

var editOperations = []*Operation{
	declare[EditFile, FileWritten](Operation{
		Name: "file.edit", Method: "PATCH", Path: filePath,
		Tool: "file.edit", Core: true, Overwrites: true,
		ToolDoc: "Replace texts in one file, as OWNER or MAINTAINER. Each old_text must occur " +
			"once unless replace_all is true; nothing is written unless all edits apply.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: fileParams, Query: []Param{messageParam},
		Errors: []fault.Code{
			fault.InvalidPath, fault.ProjectNotFound, fault.RoleRequired, fault.FileNotFound,
			fault.FileChanged, fault.EditNotFound, fault.EditAmbiguous, fault.FileTooLarge,
			fault.ProjectArchived, fault.PreconditionFailed, fault.TurnHeld, fault.ProjectMoved,
			fault.BlobCorrupt, fault.ContentRemoved,
		},
		Conditional: true, Tag: "files", Summary: "Edit a file",
		Doc: "Replaces texts in one file and records it as a changeset of one MODIFY. Each " +
			"old_text must occur once, unless replace_all is true; edits apply in order, all or " +
			"none. Edits that change nothing publish nothing.",
	}, editFile),
}

// textEdits converts edits.
func textEdits(given []TextEdit) []edit.Edit {
	var edits []edit.Edit
	for i := range given {
		edits = append(edits, edit.Edit{
			Old: given[i].OldText, New: textOr(given[i].NewText), All: given[i].ReplaceAll,
		})
	}
	return edits
}

// editTriesMax is how often edits are applied for a request while others change the same files.
// Then, or when they have searched twice the text that one request may, the request is refused.
const editTriesMax = 32

// edited sends a command with edits. They are applied to the published view, and again if the files
// have changed when the command is decided: PROJECT_MOVED. The view is nil if the caller may not
// send the command, which is refused then.
func (c *Call) edited(
	project id.ID, allowed func(view *work.Project) bool,
	send func(view *work.Project, editor *work.Editor) (Reply, error),
) (Reply, error) {
	searched := 0
	for try := 0; try < editTriesMax && searched <= 2*work.EditReadBytesMax; try++ {
		view, err := c.Service.Engine.ProjectFor(project, c.Agent)
		if err != nil {
			return Reply{}, err
		}
		if view != nil && !allowed(view) {
			view = nil
		}
		editor := work.NewEditor(c.held)
		if reply, err := send(view, editor); !work.Stale(err) {
			return reply, err
		}
		searched += editor.Searched()
	}
	return Reply{}, fault.New(fault.ProjectMoved, "The file changes too fast to edit it.")
}

// held returns a content whose memory is reserved: BLOB_CORRUPT, CONTENT_REMOVED, RATE_LIMITED.
func (c *Call) held(hash work.Hash) ([]byte, error) {
	content, err := c.Service.Engine.Blob(hash)
	if err == nil {
		err = c.hold(len(content))
	}
	return content, err
}

func (c *Call) mayWriteFiles(view *work.Project) bool {
	return work.MayWriteFiles.Require(view, c.Agent) == nil
}

func editFile(c *Call, body *EditFile) (Reply, error) {
	decoded, err := c.pathOf()
	if err != nil {
		return Reply{}, err
	}
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	command := work.EditFile{
		Path: decoded, Message: c.message(body.Message), Edits: textEdits(body.Edits),
		Expected: expectedBlob(body.ExpectedBlob), Match: c.fileMatch(),
	}
	return c.edited(project, c.mayWriteFiles,
		func(view *work.Project, editor *work.Editor) (Reply, error) {
			next := &command
			if view != nil {
				next = command.Apply(view, editor)
			}
			reply, err := c.answer(project, next, c.fileWrittenAt(decoded))
			return reply, c.holderFault(err)
		})
}

// fileWrittenAt renders the file at a path after a change.
func (c *Call) fileWrittenAt(decoded string) func(p *work.Project, r work.Result) (Reply, error) {
	return func(p *work.Project, r work.Result) (Reply, error) {
		reply := fileWritten{call: c, project: p, created: r.Created}
		reply.info, _ = p.File(decoded)
		if !r.Changeset.IsZero() {
			reply.changeset, _ = p.Changeset(r.Changeset)
		}
		status := 200
		if r.Created {
			status = 201
		}
		return Reply{Status: status, Data: reply, ETag: fileETag(&reply.info)}, nil
	}
}
