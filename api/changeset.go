package api

import (
	"encoding/binary"
	"slices"
	"strconv"

	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Changeset is the immutable record of a changeset.
type Changeset struct {
	// The changeset's ID.
	ID string `json:"id" check:"id=chg_"`
	// The project that it belongs to.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// Position in the history, starting at 1.
	Sequence uint32 `json:"sequence"`
	// The parent changeset; null for the first.
	ParentID *string `json:"parent_changeset_id" check:"id=chg_"`
	// The agent that wrote it.
	Author AgentRef `json:"author"`
	// Message of the changeset.
	Message string `json:"message"`
	// Kind of request that published it.
	Source ChangesetSource `json:"source"`
	// Its operations; absent in lists.
	Operations *[]OperationRecord `json:"operations,omitzero"`
	// Number of operations.
	Count int `json:"operation_count"`
	// Sizes of added and removed contents.
	Stats ChangesetStats `json:"stats"`
	// When it was published.
	CreatedAt Time `json:"created_at"`
	// What the bundle that it was imported with says about it; null if it was published here.
	Origin *ChangesetOrigin `json:"origin"`
}

// SourceType is a kind of request that publishes a changeset.
type SourceType string

// Values implements jsonschema.Enumerated.
func (SourceType) Values() []string {
	return []string{
		"FILE_PUT", "FILE_DELETE", "CHANGESET", "CHECKPOINT", "COMMUNITY_SUBMIT", "CONTRIBUTION",
		"FORK", "IMPORT", "PROJECT",
	}
}

// ChangesetSource is the kind of request that published a changeset.
type ChangesetSource struct {
	// The kind.
	Type SourceType `json:"type"`
	// ID of what was published, if it has one.
	ID *string `json:"id"`
}

// ChangesetStats holds the sizes of a changeset.
type ChangesetStats struct {
	// Number of operations.
	Files int `json:"files"`
	// Bytes of added contents.
	AdditionsBytes int64 `json:"additions_bytes"`
	// Bytes of removed contents.
	DeletionsBytes int64 `json:"deletions_bytes"`
}

// OperationRecord is one operation of a published changeset.
type OperationRecord struct {
	// The kind of change.
	Action string `json:"action" check:"enum=CREATE|MODIFY|DELETE|RENAME"`
	// The path afterwards, or the deleted path.
	Path string `json:"path"`
	// The path before a RENAME.
	PreviousPath *string `json:"previous_path"`
	// The content afterwards; null for DELETE.
	BlobHash *string `json:"blob_hash"`
	// The content before; null for CREATE.
	PreviousBlob *string `json:"previous_blob_hash"`
	// Its size; null for DELETE.
	SizeBytes *int `json:"size_bytes"`
	// Its media type; null for DELETE.
	ContentType *string `json:"content_type"`
}

// ChangesetData is the data of a changeset.
type ChangesetData struct {
	// The changeset.
	Changeset Changeset `json:"changeset"`
}

// ChangesetsData is a page of the history.
type ChangesetsData struct {
	// Newest first, without operations.
	Changesets []Changeset `json:"changesets"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// PublishChangeset is the body of changeset.publish.
type PublishChangeset struct {
	// The current head.
	BaseChangesetID string `json:"base_changeset_id" check:"required"`
	// Message of the changeset.
	Message string `json:"message" check:"chars=0..4000,text"`
	// Operations, applied in this order.
	Operations []OperationInput `json:"operations" check:"required,items=0..100"`
}

// OperationInput is one requested operation.
type OperationInput struct {
	// What to do. EDIT replaces texts of a file and is recorded as a MODIFY.
	Action string `json:"action" check:"required,enum=CREATE|MODIFY|DELETE|RENAME|EDIT"`
	// The path to create, modify, delete, rename or edit.
	Path string `json:"path" check:"required"`
	// New path of a RENAME.
	NewPath string `json:"new_path"`
	// UTF-8 text; required for CREATE and MODIFY, optional for RENAME.
	Content *string `json:"content" check:"content"`
	// Media type; derived from the extension of a new file if absent.
	ContentType string `json:"content_type"`
	// Blob hash that the file at path must have; otherwise FILE_CHANGED.
	ExpectedBlob *string `json:"expected_blob_hash"`
	// Edits of an EDIT, each {old_text, new_text, replace_all}, applied in this order.
	Edits []TextEdit `json:"edits" check:"items=0..50"`
	// DELETE or RENAME every file below path; each counts as an operation.
	Folder bool `json:"folder"`
}

var changesetParams = append(projectParam[:1:1], Param{
	Name: "changeset", Doc: "The changeset's ID.",
})

const (
	changesetsPath = "/api/v1/projects/{project}/changesets"
	changesetPath  = changesetsPath + "/{changeset}"
)

var changesetOperations = []*Operation{
	withValidation(declare[None, ChangesetsData](Operation{
		Name: "changeset.list", Method: "GET", Path: changesetsPath,
		Tool:    "changeset.list",
		ToolDoc: "List the history of a project, newest first. Operations are left out.",
		Auth:    Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Query: append(pageParams(100), historyParam),
		Errors: []fault.Code{
			fault.InvalidPath, fault.ProjectNotFound, fault.PaginationCursorInvalid,
			fault.PaginationLimitInvalid, fault.BlobCorrupt,
		},
		Tag: "changesets", Summary: "List changesets",
		Doc: "Lists changesets, newest first, without their operations: all, or those of one path.",
	}, listChangesets), func(_ *None, c *Call) []error {
		_, err := c.historyPath()
		return []error{err}
	}),
	declare[PublishChangeset, ChangesetData](Operation{
		Name: "changeset.publish", Method: "POST", Path: changesetsPath,
		Tool: "changeset.commit", Core: true, Overwrites: true,
		ToolDoc: "Publish up to 100 file changes atomically on the current head, as OWNER or " +
			"MAINTAINER. A stale base is refused with PROJECT_MOVED: read what changed and " +
			"reapply.",
		Auth: Bearer, Idempotency: KeyRequired, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.EmptyChangeset, fault.InvalidPath, fault.ProjectNotFound, fault.RoleRequired,
			fault.ChangesetNotFound, fault.ProjectMoved, fault.FileExists, fault.FileNotFound,
			fault.FileChanged, fault.PathConflict, fault.FileLimitReached, fault.FileTooLarge,
			fault.UnsupportedContentType, fault.ProjectArchived, fault.TurnHeld, fault.EditNotFound,
			fault.EditAmbiguous, fault.BlobCorrupt, fault.ContentRemoved,
		},
		Tag: "changesets", Summary: "Publish a changeset",
		Doc: "Publishes up to 100 operations atomically on the current head. A stale base is " +
			"refused with PROJECT_MOVED: refresh and reapply.",
	}, publishChangeset),
	declare[None, ChangesetData](Operation{
		Name: "changeset.read", Method: "GET", Path: changesetPath,
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: changesetParams,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.ChangesetNotFound, fault.BlobCorrupt,
		},
		Tag: "changesets", Summary: "Get a changeset",
		Doc: "Returns an immutable changeset with its operations.",
	}, readChangeset),
	declare[None, FilesData](Operation{
		Name: "changeset.tree", Method: "GET", Path: changesetPath + "/tree",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: changesetParams,
		Query: append(pageParams(200), prefixParam),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.ChangesetNotFound,
			fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
		},
		Tag: "changesets", Summary: "List files at a changeset",
		Doc: "Lists the metadata of the files after a changeset, without content.",
	}, readTree),
	withValidation(declare[None, FileData](Operation{
		Name: "changeset.file", Method: "GET", Path: changesetPath + "/files/{path*}",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200},
		Params: append(changesetParams[:2:2], fileParams[1]), Query: lineParams,
		Errors: []fault.Code{
			fault.InvalidPath, fault.ProjectNotFound, fault.ChangesetNotFound, fault.FileNotFound,
			fault.BlobCorrupt, fault.ContentRemoved,
		},
		Conditional: true, Tag: "changesets", Summary: "Read a file at a changeset",
		Doc: "Returns a file with its text, or with some of its lines, after a changeset. The ETag is " +
			"that of the whole file.",
	}, readFileAt), validateLines),
	declare[None, DiffData](Operation{
		Name: "changeset.diff", Method: "GET", Path: changesetPath + "/diff",
		Tool: "changeset.diff",
		ToolDoc: "Get the changes of a changeset as a unified diff. With base it has the net " +
			"difference from an earlier one.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: changesetParams,
		Expensive: true,
		Query: []Param{{
			Name: "base", Doc: "The earlier changeset to compare with; the parent if absent.",
		}, diffPathParam},
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.ChangesetNotFound, fault.BlobCorrupt, fault.ContentRemoved,
		},
		Tag: "changesets", Summary: "Get the diff of a changeset",
		Doc: "Returns the changes of a changeset, or the net difference from an earlier one, " +
			"as a unified diff that git apply accepts unless it is truncated.",
	}, readDiff),
}

// sourceID returns the ID of a changeset's source. It is nil if the source is in another project
// that the caller may not read now.
func (c *Call) sourceID(p *work.Project, changeset *work.Changeset) *string {
	if changeset.SourceID.IsZero() ||
		changeset.Source == work.SourceFork && c.forkedFrom(p) == nil {
		return nil
	}
	prefix, named := sourcePrefixes[changeset.Source]
	if !named {
		prefix = id.Project
	}
	return idOrNil(prefix, changeset.SourceID)
}

// sourcePrefixes maps each source of a changeset that is not a project to the prefix of its IDs.
var sourcePrefixes = map[work.Source]id.Prefix{
	work.SourceCheckpoint: id.Checkpoint, work.SourceCommunitySubmit: id.Workspace,
	work.SourceContribution: id.Contribution, work.SourceImport: id.Import,
	work.SourceFork: id.Changeset,
}

// changeset returns the wire form of a changeset that has its operations.
func (c *Call) changeset(p *work.Project, from *work.Changeset) Changeset {
	record := c.changesetHead(p, from)
	operations := make([]OperationRecord, len(from.Ops))
	for i := range from.Ops {
		operations[i] = operationRecord(p, from, &from.Ops[i])
	}
	record.Operations = &operations
	return record
}

// changesetHead returns the wire form without the operations.
func (c *Call) changesetHead(p *work.Project, from *work.Changeset) Changeset {
	record := Changeset{
		ID: from.ID.Format(id.Changeset), ProjectID: p.ID.Format(id.Project),
		Sequence: from.Sequence, Author: c.agentRef(from.Author),
		Message: c.recordText(from.Message, from.Away),
		Source:  ChangesetSource{Type: SourceType(from.Source.String()), ID: c.sourceID(p, from)},
		Count:   from.OpCount,
		Stats: ChangesetStats{
			Files: from.OpCount, AdditionsBytes: from.AddedBytes, DeletionsBytes: from.DeletedBytes,
		},
		CreatedAt: Time(from.CreatedAt), Origin: changesetOrigin(p.ChangesetOrigin(from)),
	}
	record.ParentID = idOrNil(id.Changeset, p.ParentID(from))
	return record
}

func operationRecord(p *work.Project, c *work.Changeset, op *work.Op) OperationRecord {
	record := OperationRecord{Action: op.Action.String(), Path: *op.Path, PreviousPath: op.From}
	if before, stood := p.Before(c, op); stood {
		text := hexHash(before.Blob)
		record.PreviousBlob = &text
	}
	if op.Action != work.Delete {
		hash, size, contentType := hexHash(op.Blob), int(op.Size), op.Type.Value()
		record.BlobHash, record.SizeBytes, record.ContentType = &hash, &size, &contentType
	}
	return record
}

// appendChangeset writes a changeset with its operations as JSON. It does not use reflection,
// because writes are a hot path.
func (c *Call) appendChangeset(dst []byte, p *work.Project, from *work.Changeset) []byte {
	heads := changesetHeads{call: c, of: p}
	dst = heads.append(dst, from)
	dst = append(dst, `,"operations":[`...)
	// The first changeset of a fork can have thousands of operations; growing once avoids
	// copying a text of a megabyte.
	dst = slices.Grow(dst, operationBytes*len(from.Ops))
	for i := range from.Ops {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendOperation(dst, p, from, &from.Ops[i])
	}
	return appendChangesetEnd(append(dst, ']'), p, from)
}

// changesetHeads writes changesets of a project up to their operations. Those of a list behind one
// another repeat the texts of the project and of an author.
type changesetHeads struct {
	call    *Call
	of      *work.Project
	project repeated
	author  id.ID
	by      repeated
}

// repeated is where a text stands that was written already.
type repeated struct{ begin, end int }

func (r repeated) append(dst []byte) []byte { return append(dst, dst[r.begin:r.end]...) }

// append writes the head of a changeset behind the others.
func (h *changesetHeads) append(dst []byte, from *work.Changeset) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendID(dst, id.Changeset, from.ID)
	if h.project.end > 0 {
		dst = h.project.append(dst)
	} else {
		h.project.begin = len(dst)
		dst = append(dst, `,"project_id":`...)
		dst = appendID(dst, id.Project, h.of.ID)
		dst = append(dst, `,"sequence":`...)
		h.project.end = len(dst)
	}
	dst = appendInt(dst, int64(from.Sequence))
	dst = append(dst, `,"parent_changeset_id":`...)
	if parent := h.of.ParentID(from); !parent.IsZero() {
		dst = appendID(dst, id.Changeset, parent)
	} else {
		dst = append(dst, "null"...)
	}
	if h.by.end > 0 && h.author == from.Author {
		dst = h.by.append(dst)
	} else {
		h.author, h.by.begin = from.Author, len(dst)
		dst = append(dst, `,"author":{"agent_id":`...)
		dst = appendID(dst, id.Agent, from.Author)
		dst = append(dst, `,"handle":`...)
		dst = jsonschema.AppendString(dst, h.call.handle(from.Author))
		dst = append(dst, `},"message":`...)
		h.by.end = len(dst)
	}
	dst = jsonschema.AppendString(dst, h.call.recordText(from.Message, from.Away))
	dst = append(dst, `,"source":{"type":"`...)
	dst = append(dst, from.Source.String()...)
	dst = append(dst, `","id":`...)
	dst = appendNullable(dst, h.call.sourceID(h.of, from))
	return append(dst, '}')
}

// appendChangesetEnd writes what follows the operations.
func appendChangesetEnd(dst []byte, p *work.Project, from *work.Changeset) []byte {
	dst = append(dst, `,"operation_count":`...)
	dst = appendInt(dst, int64(from.OpCount))
	dst = append(dst, `,"stats":{"files":`...)
	dst = appendInt(dst, int64(from.OpCount))
	dst = append(dst, `,"additions_bytes":`...)
	dst = appendInt(dst, from.AddedBytes)
	dst = append(dst, `,"deletions_bytes":`...)
	dst = appendInt(dst, from.DeletedBytes)
	dst = append(dst, `},"created_at":`...)
	dst = Time(from.CreatedAt).append(dst)
	dst = append(dst, `,"origin":`...)
	if origin := p.ChangesetOrigin(from); origin != nil {
		return append(appendData(dst, changesetOrigin(origin)), '}')
	}
	return append(dst, "null}"...)
}

func appendOperation(dst []byte, p *work.Project, c *work.Changeset, op *work.Op) []byte {
	dst = append(dst, `{"action":"`...)
	dst = append(dst, op.Action.String()...)
	dst = append(dst, `","path":`...)
	dst = jsonschema.AppendString(dst, *op.Path)
	dst = append(dst, `,"previous_path":`...)
	dst = appendNullable(dst, op.From)
	before, stood := p.Before(c, op)
	var previous *work.Hash
	if stood {
		previous = &before.Blob
	}
	if op.Action == work.Delete {
		dst = append(dst, `,"blob_hash":null,"previous_blob_hash":`...)
		dst = appendHash(dst, previous)
		return append(dst, `,"size_bytes":null,"content_type":null}`...)
	}
	dst = append(dst, `,"blob_hash":`...)
	dst = appendHash(dst, &op.Blob)
	dst = append(dst, `,"previous_blob_hash":`...)
	dst = appendHash(dst, previous)
	dst = append(dst, `,"size_bytes":`...)
	dst = appendInt(dst, int64(op.Size))
	dst = append(dst, `,"content_type":`...)
	dst = jsonschema.AppendString(dst, op.Type.Value())
	return append(dst, '}')
}

func appendNullable(dst []byte, text *string) []byte {
	if text == nil {
		return append(dst, "null"...)
	}
	return jsonschema.AppendString(dst, *text)
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

func appendBool(dst []byte, b bool) []byte { return strconv.AppendBool(dst, b) }

func appendID(dst []byte, prefix id.Prefix, i id.ID) []byte {
	dst = append(dst, '"')
	dst = i.Append(dst, prefix)
	return append(dst, '"')
}

func appendHash(dst []byte, hash *work.Hash) []byte {
	if hash == nil {
		return append(dst, "null"...)
	}
	var text [2 * len(work.Hash{})]byte
	for i, one := range hash {
		binary.LittleEndian.PutUint16(text[2*i:], hexPairs[one])
	}
	dst = append(append(dst, '"'), text[:]...)
	return append(dst, '"')
}

// hexPairs are the two digits of a byte, the first one in the low byte.
var hexPairs = func() (all [1 << 8]uint16) {
	const digits = "0123456789abcdef"
	for one := range all {
		all[one] = uint16(digits[one>>4]) | uint16(digits[one&15])<<8
	}
	return all
}()

func publishChangeset(c *Call, body *PublishChangeset) (Reply, error) {
	operations, err := operationsOf(body.Operations)
	if err != nil {
		return Reply{}, err
	}
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	// An invalid ID names no changeset, like the zero ID.
	base, _ := id.Parse(id.Changeset, body.BaseChangesetID)
	command := &work.PublishChangeset{Base: base, Message: body.Message, Operations: operations}
	if !editsAny(operations) {
		return c.publish(project, command)
	}
	return c.edited(project, c.mayWriteFiles,
		func(view *work.Project, editor *work.Editor) (Reply, error) {
			next := *command
			if view != nil {
				next.Operations = view.EditOperations(operations, editor)
			}
			return c.publish(project, &next)
		})
}

func (c *Call) publish(project id.ID, command *work.PublishChangeset) (Reply, error) {
	done, err := c.do(project, command, nil)
	if err != nil {
		return Reply{}, c.holderFault(err)
	}
	changeset, ok := done.Project.Changeset(done.Result.Changeset)
	if !ok {
		return Reply{}, errUnknownResult
	}
	data := changesetReply{call: c, project: done.Project, changeset: c.withMessage(changeset)}
	return Reply{Data: data, Replayed: done.Replayed}, nil
}

// changesetReply writes ChangesetData as JSON.
type changesetReply struct {
	call      *Call
	project   *work.Project
	changeset *work.Changeset
}

// JSONBytes implements Sized.
func (r changesetReply) JSONBytes() int { return changesetBytes(r.changeset) }

// AppendJSON implements Appender.
func (r changesetReply) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"changeset":`...)
	return append(r.call.appendChangeset(dst, r.project, r.changeset), '}')
}

// Validate implements jsonschema.Validator.
func (b *PublishChangeset) Validate(known []fault.Field) error {
	var faults fileFaults
	parseOperations(firstValidated(b.Operations), &faults)
	faults.addKnown(known)
	return faults.err()
}

func readChangeset(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	changeset, err := c.changesetOf(view)
	if err != nil {
		return Reply{}, err
	}
	return c.sound(Reply{
		Data: changesetReply{call: c, project: view, changeset: c.withMessage(changeset)},
	})
}

func readTree(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(200)
	if err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	changeset, err := c.changesetOf(view)
	if err != nil {
		return Reply{}, err
	}
	walk := func(from string, yield func(work.FileInfo) bool) {
		view.FilesAt(changeset, from, yield)
	}
	return c.pageOfFiles(view, changeset, after, limit, walk)
}

func readFileAt(c *Call, _ *None) (Reply, error) {
	decoded, err := c.pathOf()
	if err != nil {
		return Reply{}, err
	}
	wanted, err := c.wantedLines()
	if err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	changeset, err := c.changesetOf(view)
	if err != nil {
		return Reply{}, err
	}
	info, ok := view.FileAt(decoded, changeset)
	return c.fileWithContent(decoded, info, ok, wanted)
}
