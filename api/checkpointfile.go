package api

import (
	"fmt"

	"pws/work"
)

// CheckpointFile is a file of a checkpoint: one to write or to delete, or an operation as in a
// changeset.
type CheckpointFile struct {
	// Canonical relative path.
	Path string `json:"path" check:"required"`
	// UTF-8 text, at most 1 MiB; required to write the file.
	Content *string `json:"content" check:"content"`
	// Media type; if absent, that of the file, or by the extension of a new one.
	ContentType string `json:"content_type"`
	// Deletes the file.
	Delete bool `json:"delete"`
	// An operation as in a changeset; if absent, edits edit the file and content writes it.
	Action string `json:"action" check:"enum=CREATE|MODIFY|DELETE|RENAME|EDIT"`
	// New path of a RENAME.
	NewPath string `json:"new_path"`
	// Edits of the file, each {old_text, new_text, replace_all}, applied in this order.
	Edits []TextEdit `json:"edits" check:"items=0..50"`
	// Delete or rename every file below path; each counts as an operation.
	Folder bool `json:"folder"`
	// Blob hash that the file must have; otherwise FILE_CHANGED.
	ExpectedBlob *string `json:"expected_blob_hash"`
}

// operation returns the file as an operation, false if it is only to be written or deleted.
func (f *CheckpointFile) operation() (OperationInput, bool) {
	in := OperationInput{
		Action: f.Action, Path: f.Path, NewPath: f.NewPath, Content: f.Content,
		ContentType: f.ContentType, ExpectedBlob: f.ExpectedBlob, Edits: f.Edits, Folder: f.Folder,
	}
	switch {
	case f.Action != "":
	case len(f.Edits) > 0:
		in.Action = editAction
	case f.Delete && (f.Folder || f.ExpectedBlob != nil):
		in.Action = work.Delete.String()
	case f.ExpectedBlob != nil:
		in.Action = work.Modify.String()
	}
	return in, in.Action != ""
}

func (b *CreateCheckpoint) validateFiles(faults *fileFaults) {
	seen := map[string]bool{}
	for i := range b.Files[:min(len(b.Files), checkpointFilesMax)] {
		file, where := &b.Files[i], fmt.Sprintf("files[%d]", i)
		target, field := file.Path, ".path"
		if in, ok := file.operation(); ok {
			in.validate(where, faults)
			target, field = in.target()
			if file.Delete && in.Action != work.Delete.String() {
				faults.add(where+".delete", "is not allowed with "+in.Action)
			}
		} else {
			file.validate(where, faults)
		}
		if file.Folder {
			continue
		}
		if seen[target] {
			faults.add(where+field, "is duplicated")
		}
		seen[target] = true
	}
}

// validate adds the errors of a file to write or delete.
func (f *CheckpointFile) validate(where string, faults *fileFaults) {
	faults.path(where+".path", f.Path)
	faults.content(where+".content", f.Content)
	faults.contentType(where+".content_type", f.ContentType)
	switch {
	case f.Delete && (f.Content != nil || f.ContentType != ""):
		faults.add(where+".delete", "is not allowed together with content")
	case !f.Delete && f.Content == nil:
		faults.add(where+".content", "is required unless delete is true")
	}
	if f.NewPath != "" {
		faults.add(where+".new_path", "is only allowed with RENAME")
	}
	if f.Folder {
		faults.add(where+".folder", "is only allowed with DELETE and RENAME")
	}
}

// command converts a valid file.
func (f *CheckpointFile) command() work.CheckpointFile {
	out := work.CheckpointFile{Path: f.Path}
	if in, ok := f.operation(); ok {
		operation := in.operation()
		out.Operation = &operation
		return out
	}
	if f.Content != nil {
		blob := blobOf(*f.Content)
		out.Content, out.ContentType = &blob, f.ContentType
	}
	return out
}
