package work

import (
	"crypto/sha256"
	"errors"
	"unsafe"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work/edit"
)

const (
	// EditsMax is the maximum number of edits of one file in a request.
	EditsMax = 50
	// EditedBytesMax limits the total size of the files that the edits of a request produce,
	// because a short edit of a large file makes a large entry of the log.
	EditedBytesMax = 16 << 20
	// EditReadBytesMax limits the text that the edits of a request search: each edit searches its
	// file as it is then.
	EditReadBytesMax = 64 << 20
	// editHelpBytesMax limits the text in which the lines nearest to missing ones are looked up.
	editHelpBytesMax = 4 << 20
)

// Edited is the result of edits on one content of a file. It is made outside of the project's
// mailbox, because that requires reading the content; a command carries it. It is valid as long as
// the file has that content.
type Edited struct {
	base    Hash
	blob    Blob
	refusal error
}

// of returns the result of the edits on a content, or the reason why they do not apply to it. It
// returns an error that is Stale if they were applied to another content.
func (e *Edited) of(content Hash) (*Blob, error) {
	if e == nil || e.base != content {
		return nil, errStale
	}
	return &e.blob, e.refusal
}

// Editor applies the edits of one request to contents that read returns.
type Editor struct {
	read func(Hash) ([]byte, error)
	// searched and produced count towards the limits, helped the text whose nearest lines were
	// looked up.
	searched, produced, helped int
}

// NewEditor returns an editor for one request.
func NewEditor(read func(Hash) ([]byte, error)) *Editor { return &Editor{read: read} }

// Searched returns the size of the text that the edits have searched.
func (e *Editor) Searched() int { return e.searched }

// edit applies edits to a content. Refusals, and errors of read, are part of the result, because
// other errors come first: EDIT_NOT_FOUND, EDIT_AMBIGUOUS, FILE_TOO_LARGE, BLOB_CORRUPT,
// CONTENT_REMOVED.
func (e *Editor) edit(path string, base Hash, size int, edits []edit.Edit) *Edited {
	made := &Edited{base: base}
	if e.searched += size * len(edits); e.searched > EditReadBytesMax {
		made.refusal = errEditsTooLarge(path, EditReadBytesMax,
			"The edits of one request search too much text. Divide them among several requests.")
		return made
	}
	content, err := e.read(base)
	if err != nil {
		made.refusal = err
		return made
	}
	text := unsafe.String(unsafe.SliceData(content), len(content))
	if text, err = edit.Apply(text, edits, FileBytesMax); err != nil {
		made.refusal = e.refusal(path, size, err)
		return made
	}
	if e.produced += len(text); e.produced > EditedBytesMax {
		made.refusal = errEditsTooLarge(path, EditedBytesMax,
			"The edited files of one request are too large together. Edit them in several requests.")
		return made
	}
	made.blob.Content = unsafe.Slice(unsafe.StringData(text), len(text))
	made.blob.Hash = sha256.Sum256(made.blob.Content)
	return made
}

func errEditsTooLarge(path string, limit int, message string) *fault.Error {
	return fault.New(fault.FileTooLarge, message).With("path", path).With("limit_bytes", limit)
}

// refusal returns the error for edits that do not apply.
func (e *Editor) refusal(path string, size int, err error) error {
	var missing *edit.NotFoundError
	var ambiguous *edit.AmbiguousError
	var large *edit.TooLargeError
	switch {
	case errors.As(err, &missing):
		lines, difference := []edit.Line{}, edit.OtherText
		if e.helped += size; e.helped <= editHelpBytesMax {
			if lines, difference = missing.Nearest(); lines == nil {
				lines = []edit.Line{}
			}
		}
		return fault.New(fault.EditNotFound, missingMessages[difference]).
			With("path", path).With("edit_index", missing.Index).With("nearest_lines", lines).
			With("difference", nullable(string(difference)))
	case errors.As(err, &ambiguous):
		return fault.New(fault.EditAmbiguous, "The text to replace occurs several times.").
			With("path", path).With("edit_index", ambiguous.Index).
			With("line_numbers", ambiguous.Lines).With("occurrences", ambiguous.Count)
	case errors.As(err, &large):
		return errEditsTooLarge(path, FileBytesMax, "The edited file is too large.").
			With("edit_index", large.Index)
	}
	return err
}

var missingMessages = map[edit.Difference]string{
	edit.OtherText:        "The text to replace does not occur in the file.",
	edit.OtherLineEndings: "The text to replace occurs in the file with other line endings only.",
	edit.OtherWhiteSpace:  "The text to replace occurs in the file with other white space only.",
	edit.EarlierEdit:      "The text to replace was replaced by an earlier edit.",
}

// EditOperations returns operations with the results of their edits on the live files. The files
// of a changeset are edited as they were before it, because no other operation has the same target.
func (p *Project) EditOperations(operations []Operation, editor *Editor) []Operation {
	edited := make([]Operation, len(operations))
	for i := range operations {
		edited[i] = operations[i]
		edited[i].Edited = p.editOf(&operations[i], editor)
	}
	return edited
}

// editOf returns the result of the edits of an operation on the live file, nil if there is none.
func (p *Project) editOf(one *Operation, editor *Editor) *Edited {
	if len(one.Edits) == 0 {
		return nil
	}
	file, exists := p.File(one.Path)
	if !exists || one.Expected != nil && file.Blob != *one.Expected {
		// The error is FILE_NOT_FOUND or FILE_CHANGED.
		return nil
	}
	return editor.edit(one.Path, file.Blob, file.Size, one.Edits)
}

// EditFile replaces texts in one file.
type EditFile struct {
	Path    string
	Message string
	// Expected is the content that the file must have, nil for any.
	Expected *Hash
	Edits    []edit.Edit
	// Edited is their result, from Apply.
	Edited *Edited
	// Match is as in PutFile.
	Match func(current *FileInfo) error
}

// Apply returns the command with the result of the edits on the live file.
func (c EditFile) Apply(p *Project, editor *Editor) *EditFile {
	c.Edited = p.editOf(&Operation{Path: c.Path, Expected: c.Expected, Edits: c.Edits}, editor)
	return &c
}

// Authorize accepts maintainers and owners.
func (c *EditFile) Authorize(p *Project, agent id.ID) error {
	return MayWriteFiles.Require(p, agent)
}

// Decide returns PRECONDITION_FAILED, FILE_NOT_FOUND, FILE_CHANGED, PROJECT_ARCHIVED, TURN_HELD,
// the errors of edits, and an error that is Stale if they were applied to another content. Edits
// that change nothing publish nothing.
func (c *EditFile) Decide(p *Project, stamp Stamp) (Decision, error) {
	current, exists, err := p.fileToWrite(c.Path, stamp, c.Match)
	if err != nil {
		return Decision{}, err
	}
	if !exists {
		return Decision{}, errFileNotFound(c.Path)
	}
	if c.Expected != nil && current.Blob != *c.Expected {
		return Decision{}, errFileChanged(c.Path, &fileState{blob: current.Blob})
	}
	blob, err := c.Edited.of(current.Blob)
	if err != nil || blob.Hash == current.Blob {
		return Decision{}, err
	}
	published := &ChangesetPublished{
		ID:      p.nextChangesetID(stamp.ID(0)),
		Message: c.Message,
		Source:  SourceFilePut,
		Ops: []OpRecord{{
			Action: Modify, Path: c.Path, Blob: blob.Hash, Size: len(blob.Content),
			Type: current.ContentType,
		}},
	}
	return Decision{
		Events: []Event{published},
		Blobs:  []Blob{*blob},
		Result: Result{Changeset: published.ID},
	}, nil
}
