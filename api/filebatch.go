package api

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/work"
	"pws/work/path"
)

// FilesBatch is the data of file.read_batch.
type FilesBatch struct {
	// Files with their content.
	Files []File `json:"files"`
	// Paths at which there is no file.
	Missing []string `json:"missing"`
	// Paths that were omitted because of the size limit; request them again.
	Truncated []string `json:"truncated"`
}

// ReadBatch is the body of file.read_batch.
type ReadBatch struct {
	// The files to read: each a path, or an object with path and lines (FROM-TO). A repeated one is
	// answered once.
	Paths []BatchItem `json:"paths" check:"required,items=1..100"`
	// Read as of this changeset; the head if absent.
	ChangesetID string `json:"changeset_id"`
}

// BatchItem is a path, or an object with a path and lines.
type BatchItem struct {
	path  string
	lines wantedLines
	// where is ".path" for an object.
	where    string
	problems []fault.Field
}

// batchObject is the object form.
type batchObject struct {
	Path  string `json:"path" check:"required"`
	Lines string `json:"lines"`
}

// UnmarshalJSON accepts both forms; see Problems.
func (b *BatchItem) UnmarshalJSON(raw []byte) error {
	*b = BatchItem{}
	raw = bytes.TrimLeft(raw, " \t\r\n")
	switch raw[0] {
	case '"':
		// Most paths fit, so that only the string itself is allocated.
		var memory [128]byte
		text, err := jsontext.AppendUnquote(memory[:0], raw)
		if err != nil {
			b.problems = problemsOf(err)
		}
		b.path = string(text)
	case '{':
		var object batchObject
		if err := jsonschema.Decode(raw, &object); err != nil {
			b.problems = problemsOf(err)
			return nil
		}
		b.path, b.where = object.Path, ".path"
		if object.Lines == "" {
			return nil
		}
		var ok bool
		if b.lines, ok = parseLines(object.Lines); !ok {
			b.problems = []fault.Field{{Field: linesName, Problem: problemLines}}
		}
	default:
		b.problems = []fault.Field{{Problem: "must be a string or an object"}}
	}
	return nil
}

// Problems implements jsonschema.Checker.
func (b *BatchItem) Problems() []fault.Field { return b.problems }

// JSONBytesMax implements jsonschema.Sizer.
func (BatchItem) JSONBytesMax() int { return batchItemBytesMax }

var batchItemBytesMax = jsonschema.MaxBytes(reflect.TypeFor[batchObject](), RequestBytesMax)

// JSONSchema describes both forms.
func (BatchItem) JSONSchema() map[string]any {
	text := map[string]any{"type": "string"}
	return map[string]any{"anyOf": []any{text, map[string]any{
		"type": "object", "required": []any{"path"}, "additionalProperties": false,
		"properties": map[string]any{
			"path": text, "lines": map[string]any{"type": []any{"string", "null"}},
		},
	}}}
}

const (
	// batchBytesMax limits the contents of one file.read_batch.
	batchBytesMax = 8 << 20
	// toolBatchBytesMax is for that of a tool, whose answer has each content twice, once with two
	// escapes for one. Any file fits.
	toolBatchBytesMax = 2 << 20
)

// filesBatch writes FilesBatch as JSON.
type filesBatch struct {
	files              []fileReply
	missing, truncated []string
	// removed are the paths of contents that an operator has removed, fault that of the first.
	removed []string
	fault   *fault.Error
}

// JSONBytes implements Sized.
func (b *filesBatch) JSONBytes() int {
	size := recordBytes
	for i := range b.files {
		size += fileBytes(&b.files[i].info, b.files[i].content)
	}
	for _, paths := range [][]string{b.missing, b.truncated} {
		for _, one := range paths {
			size += len(one) + len(`"",`)
		}
	}
	return size
}

// AppendJSON implements Appender.
func (b *filesBatch) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"files":[`...)
	for i := range b.files {
		one := &b.files[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonschema.AppendString(one.appendHead(dst), textOf(one.content))
		dst = one.appendEnd(dst)
	}
	return b.appendRest(append(dst, ']'))
}

// appendRest writes what follows the files.
func (b *filesBatch) appendRest(dst []byte) []byte {
	dst = appendTexts(append(dst, `,"missing":`...), b.missing)
	dst = appendTexts(append(dst, `,"truncated":`...), b.truncated)
	return append(dst, '}')
}

// appendTexts writes a list of texts.
func appendTexts(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, one := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonschema.AppendString(dst, one)
	}
	return append(dst, ']')
}

// TextBytes implements Pieces.
func (b *filesBatch) TextBytes() (sum int) {
	for i := range b.files {
		sum += len(b.files[i].content)
	}
	return sum
}

// WritePieces implements Pieces.
func (b *filesBatch) WritePieces(w PieceWriter) error {
	piece := []byte(`{"files":[`)
	for i := range b.files {
		one := &b.files[i]
		if i > 0 {
			piece = append(piece, ',')
		}
		if err := w.JSON(one.appendHead(piece)); err != nil {
			return err
		}
		if err := w.Text(textOf(one.content)); err != nil {
			return err
		}
		piece = one.appendEnd(nil)
	}
	return w.JSON(b.appendRest(append(piece, ']')))
}

// Validate implements jsonschema.Validator.
func (b *ReadBatch) Validate(known []fault.Field) error {
	faults := b.faults()
	faults.addKnown(known)
	return faults.err()
}

func (b *ReadBatch) faults() (faults fileFaults) {
	list := firstValidated(b.Paths)
	for i := range list {
		one := &list[i]
		// The name of a field costs more than the check.
		if len(one.problems) == 0 && path.Problem(one.path) != "" {
			faults.path(fmt.Sprintf("paths[%d]%s", i, one.where), one.path)
		}
	}
	return faults
}

func readBatch(c *Call, body *ReadBatch) (Reply, error) {
	faults := body.faults()
	if err := faults.err(); err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	find := view.File
	if body.ChangesetID != "" {
		changeset, err := findChangeset(view, body.ChangesetID)
		if err != nil {
			return Reply{}, err
		}
		find = func(at string) (work.FileInfo, bool) { return view.FileAt(at, changeset) }
	}
	batch := filesBatch{files: make([]fileReply, 0, len(body.Paths))}
	if err := batch.read(c, body.Paths, find); err != nil {
		return Reply{}, err
	}
	return Reply{Data: &batch}, nil
}

// batchKey is what is answered once.
type batchKey struct {
	path  string
	lines wantedLines
}

// read reads the files that fit. Whole files are loaded AFTER memory for all of them is held; of
// files with lines only the lines are kept.
func (b *filesBatch) read(
	c *Call, items []BatchItem, find func(string) (work.FileInfo, bool),
) error {
	most := batchBytesMax
	if c.ByTool {
		most = toolBatchBytesMax
	}
	seen, room := make(map[batchKey]bool, len(items)), most
	for i := range items {
		key := batchKey{items[i].path, items[i].lines}
		if seen[key] {
			continue
		}
		seen[key] = true
		one := fileReply{}
		var found bool
		if one.info, found = find(key.path); !found {
			b.missing = append(b.missing, key.path)
			continue
		}
		size := one.info.Size
		if !key.lines.all() {
			err := one.readLines(c, key.lines)
			if b.isRemoved(key.path, err) {
				continue
			}
			if err != nil {
				return err
			}
			size = len(one.content)
		}
		if size > room {
			b.truncated = append(b.truncated, key.path)
			continue
		}
		room -= size
		if !key.lines.all() {
			// The rest of the content is not kept in memory.
			one.content = bytes.Clone(one.content)
		}
		b.files = append(b.files, one)
	}
	if err := c.hold(most - room); err != nil {
		return err
	}
	for i := range b.files {
		one := &b.files[i]
		if one.lines != nil {
			continue
		}
		var err error
		one.content, err = c.Service.Engine.Blob(one.info.Blob)
		if err != nil && !b.isRemoved(one.info.Path, err) {
			return err
		}
	}
	if b.fault != nil {
		return b.fault.With("paths", b.removed)
	}
	return nil
}

// isRemoved reports whether the error of a file is that its content was removed, and notes that.
func (b *filesBatch) isRemoved(path string, err error) bool {
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Code != fault.ContentRemoved {
		return false
	}
	if b.removed = append(b.removed, path); b.fault == nil {
		b.fault = refusal
	}
	return true
}

// readLines reads lines of a content.
func (r *fileReply) readLines(c *Call, wanted wantedLines) error {
	content, err := c.Service.Engine.Blob(r.info.Blob)
	if err != nil {
		return err
	}
	r.lines = new(LineRange)
	r.content, *r.lines = wanted.of(content)
	return nil
}
