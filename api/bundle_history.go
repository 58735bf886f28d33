package api

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"pws/api/jsonschema"
	"pws/internal/id"
	"pws/work"
	"pws/work/path"
)

// The bounds of texts that no request type has.
var (
	contentCheck = jsonschema.CompileCheck("content")
	messageCheck = jsonschema.CompileCheck("chars=0..4000,text")
	handleCheck  = jsonschema.CompileCheck("chars=0..32,line")
	nameCheck    = jsonschema.CompileCheck("chars=1..120,line")
)

// timeMax is the last millisecond of the year 9999.
const timeMax = 253_402_300_799_999

const (
	isRequired = "is required"
	noHash     = "must be 64 lower-case hexadecimal digits"
)

// checkForm checks the bounds of the request that creates such a record. The names of the fields
// are the same.
func checkForm[T any](i *importer, field string, input *T) {
	// Members that the bundle does not have are absent in the request.
	text, err := json.Marshal(input, json.OmitZeroStructFields(true))
	if err == nil {
		err = jsonschema.Decode(text, new(T))
	}
	if err == nil {
		return
	}
	for _, problem := range problemsOf(err) {
		i.fault(field+"."+problem.Field, problem.Problem)
	}
}

func (i *importer) id(prefix id.Prefix, text, field string) id.ID {
	one, ok := id.Parse(prefix, text)
	if !ok {
		i.fault(field, "must be an ID: "+string(prefix)+"…")
	}
	return one
}

// idOrZero reads an ID; zero if the member is absent.
func (i *importer) idOrZero(prefix id.Prefix, text *string, field string) id.ID {
	if text == nil {
		return id.ID{}
	}
	return i.id(prefix, *text, field)
}

func (i *importer) time(at Time, field string) int64 {
	if at < 0 || at > timeMax {
		i.fault(field, "must be between the years 1970 and 9999")
	}
	return int64(at)
}

func (i *importer) check(check *jsonschema.Check, text, field string) {
	if problem := check.Text(text); problem != "" {
		i.fault(field, problem)
	}
}

func (i *importer) handle(text, field string) string {
	i.check(handleCheck, text, field)
	return text
}

func (i *importer) path(text, field string) {
	if problem := path.Problem(text); problem != "" {
		i.fault(field, problem)
	}
}

func (i *importer) contentType(text, field string) {
	if !path.SupportedType(text) {
		i.fault(field, "is not a supported media type")
	}
}

// content reads a content, checks it against its hash in the bundle, and returns its size.
func (i *importer) content(name, content, field string) int {
	one := i.measure(content)
	hash, ok := parseHash(name)
	if !ok {
		i.fault(field, noHash)
		return one.size
	}
	found := i.found
	if one.problem != "" {
		i.fault(field, one.problem)
	}
	if one.size > work.FileBytesMax {
		i.fault(field, fmt.Sprintf("is longer than %d bytes", work.FileBytesMax))
	} else if one.hash != hash {
		i.fault(field, "does not match the hash")
	}
	switch {
	case i.found > found:
		i.command.Malformed[hash] = true
	case i.staged != nil:
		i.command.Stored[hash] = one.size
	default:
		i.command.Contents[hash] = bytesOf(content)
	}
	return one.size
}

// measure returns what is to be checked of a content. The records of a bundle that was read from a
// stream have the numbers of the contents in their place.
func (i *importer) measure(content string) stagedContent {
	if i.staged != nil {
		return i.staged.numbered(content)
	}
	return measured(bytesOf(content))
}

func (i *importer) readContents() {
	i.command.Contents = make(map[work.Hash][]byte, len(i.bundle.Files)+len(i.bundle.Blobs))
	i.command.Malformed, i.named = map[work.Hash]bool{}, map[work.Hash]bool{}
	i.command.Stored = map[work.Hash]int{}
	i.readRemoved()
	i.command.Files = make([]work.BundledFile, len(i.bundle.Files))
	for nth := range i.bundle.Files {
		file, field := &i.bundle.Files[nth], fmt.Sprintf("files[%d]", nth)
		found := i.found
		i.path(file.Path, field+".path")
		malformed := i.found > found
		i.contentType(file.ContentType, field+".content_type")
		hash, _ := parseHash(file.BlobHash)
		i.command.Files[nth] = work.BundledFile{
			Path: file.Path, Blob: hash, Type: file.ContentType, Malformed: malformed,
		}
		if i.removedFile(file, &i.command.Files[nth], field) {
			continue
		}
		if file.Content == nil {
			i.fault(field+".content", isRequired)
			i.command.Malformed[hash] = true
			continue
		}
		size := i.content(file.BlobHash, *file.Content, field+".content")
		if file.SizeBytes != size {
			i.fault(field+".size_bytes", "does not match the size of the content")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.bundle.Blobs)) {
		i.content(name, i.bundle.Blobs[name], "blobs."+name)
	}
}

func (i *importer) readHistory() {
	if len(i.bundle.History) == 0 {
		i.fault("history", isRequired)
		return
	}
	i.command.History = make([]work.BundledChangeset, len(i.bundle.History))
	for nth := range i.bundle.History {
		if len(i.faults) >= bundleFaultsMax {
			return
		}
		i.readChangeset(nth)
	}
	if !i.command.Imported.Whole {
		i.leftOut.Changesets = len(i.bundle.History) - 1
	}
	last := i.bundle.History[len(i.bundle.History)-1].ID
	if i.bundle.Project.HeadChangesetID != last {
		i.fault("project.head_changeset_id", "is not the last changeset of history")
	}
}

// requireNamed refuses contents that no operation names. It runs AFTER all operations were read.
func (i *importer) requireNamed() {
	for _, name := range slices.Sorted(maps.Keys(i.bundle.Blobs)) {
		if hash, ok := parseHash(name); ok && !i.named[hash] {
			i.fault("blobs."+name, "is not referenced by any operation of the bundle")
		}
	}
}

func (i *importer) readChangeset(nth int) {
	from, field := &i.bundle.History[nth], fmt.Sprintf("history[%d]", nth)
	made := &i.command.History[nth]
	made.ID, made.Message = i.id(id.Changeset, from.ID, field+".id"), from.Message
	i.check(messageCheck, from.Message, field+".message")
	if from.Sequence != uint32(nth+1) {
		i.fault(field+".sequence", fmt.Sprintf("must be %d: its position in the history", nth+1))
	}
	switch {
	case nth == 0 && from.ParentID != nil:
		i.fault(field+".parent_changeset_id", "must be null for the first changeset")
	case nth > 0 && (from.ParentID == nil || *from.ParentID != i.bundle.History[nth-1].ID):
		i.fault(field+".parent_changeset_id", "is not the previous changeset")
	}
	origin, of := from.Origin, field+".origin"
	if origin == nil {
		of = field
		origin = &ChangesetOrigin{
			ChangesetID: from.ID, Author: i.writer(from), SourceType: from.Source.Type,
			CreatedAt: from.CreatedAt,
		}
	}
	made.Origin = i.origin(id.Changeset, &RecordOrigin{
		ID: origin.ChangesetID, Author: origin.Author, CreatedAt: origin.CreatedAt,
	}, of)
	made.Origin.Source = work.ParseSource(string(origin.SourceType))
	if made.Origin.Source == 0 {
		i.fault(field+".source.type", isRequired)
	}
	if from.Operations == nil {
		i.fault(field+".operations", isRequired)
		made.Malformed = true
		return
	}
	made.Ops, made.Malformed = i.readOperations(*from.Operations, field)
}

// writer returns the author of a changeset. The record of a changeset that was published from an
// imported contribution names the importing agent; the origin of the contribution has its author.
func (i *importer) writer(from *Changeset) AgentRef {
	if from.Source.ID != nil {
		if origin := i.contributors[*from.Source.ID]; origin != nil {
			return origin.Author
		}
	}
	return from.Author
}

// readOperations reads operations, and reports whether their form is invalid.
func (i *importer) readOperations(
	list []OperationRecord, field string,
) (ops []work.BundledOp, malformed bool) {
	found := i.found
	ops = make([]work.BundledOp, len(list))
	for j := range list {
		i.readOperation(&ops[j], &list[j], fmt.Sprintf("%s.operations[%d]", field, j))
		i.named[ops[j].Blob] = true
	}
	return ops, i.found > found
}

func (i *importer) readOperation(made *work.BundledOp, from *OperationRecord, field string) {
	made.Action, made.Path = work.ParseAction(from.Action), from.Path
	if made.Action == 0 {
		i.fault(field+".action", isRequired)
	}
	i.path(from.Path, field+".path")
	switch {
	case made.Action == work.Rename && from.PreviousPath == nil:
		i.fault(field+".previous_path", isRequired)
	case made.Action == work.Rename:
		made.From = *from.PreviousPath
		i.path(made.From, field+".previous_path")
	case from.PreviousPath != nil:
		i.fault(field+".previous_path", "is only allowed with RENAME")
	}
	if from.PreviousBlob != nil {
		hash, ok := parseHash(*from.PreviousBlob)
		if made.Previous = &hash; !ok {
			i.fault(field+".previous_blob_hash", noHash)
		}
		var size int
		i.resolve(made.Previous, &size)
	}
	if made.Action == work.Delete {
		return
	}
	i.readResultingFile(made, from, field)
}

// readResultingFile reads the file that an operation results in.
func (i *importer) readResultingFile(made *work.BundledOp, from *OperationRecord, field string) {
	if from.BlobHash == nil {
		i.fault(field+".blob_hash", isRequired)
	} else if hash, ok := parseHash(*from.BlobHash); !ok {
		i.fault(field+".blob_hash", noHash)
	} else {
		made.Blob = hash
	}
	if from.SizeBytes == nil {
		i.fault(field+".size_bytes", isRequired)
	} else if made.Size = *from.SizeBytes; made.Size < 0 || made.Size > work.FileBytesMax {
		i.fault(field+".size_bytes", fmt.Sprintf("must be from 0 to %d", work.FileBytesMax))
	}
	i.resolve(&made.Blob, &made.Size)
	if from.ContentType == nil {
		i.fault(field+".content_type", isRequired)
		return
	}
	made.Type = *from.ContentType
	i.contentType(made.Type, field+".content_type")
}

// origin reads the origin of a record.
func (i *importer) origin(prefix id.Prefix, from *RecordOrigin, field string) work.Origin {
	return work.Origin{
		ID: i.id(prefix, from.ID, field+".id"), Agent: i.author(from.Author.AgentID, field),
		Handle:    i.handle(from.Author.Handle, field+".author.handle"),
		CreatedAt: i.time(from.CreatedAt, field+".created_at"),
	}
}

func (i *importer) author(text, field string) id.ID {
	return i.id(id.Agent, text, field+".author.agent_id")
}
