package api

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"unicode/utf8"
	"unsafe"

	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
	"pws/work/path"
)

// File is the wire form of a file. Content is present if the response includes contents.
type File struct {
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
	// The changeset that created the file.
	Created string `json:"created_changeset_id" check:"id=chg_"`
	// The changeset that last changed it.
	Updated string `json:"updated_changeset_id" check:"id=chg_"`
	// When it was last changed.
	UpdatedAt Time `json:"updated_at"`
	// The UTF-8 text, or the lines of it that were asked for.
	Content *string `json:"content,omitzero"`
	// Which lines the content has; absent if it has all.
	Lines *LineRange `json:"lines,omitzero"`
}

// FileData is the data of a file.
type FileData struct {
	// The file with its content.
	File File `json:"file"`
}

// FilesData is a page of files.
type FilesData struct {
	// Metadata, sorted by path in byte order.
	Files []File `json:"files"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// FileWritten is the data of file.write.
type FileWritten struct {
	// The file, without its content.
	File File `json:"file"`
	// The published changeset; null if nothing changed.
	Changeset *Changeset `json:"changeset"`
	// Whether the path is new.
	Created bool `json:"created"`
}

// FileDeleted is the data of file.delete.
type FileDeleted struct {
	// The published changeset.
	Changeset Changeset `json:"changeset"`
}

// FileInput is a file in a request.
type FileInput struct {
	// Canonical relative path.
	Path string `json:"path" check:"required"`
	// UTF-8 text, at most 1 MiB.
	Content *string `json:"content" check:"required,content"`
	// Media type; derived from the extension if absent.
	ContentType string `json:"content_type"`
}

// WriteFile is the body of file.write.
type WriteFile struct {
	// UTF-8 text, at most 1 MiB.
	Content *string `json:"content" check:"required,content"`
	// Media type; derived from the extension if absent.
	ContentType string `json:"content_type"`
	// Message of the changeset.
	Message string `json:"message" check:"chars=0..4000,text"`
}

// DeleteFile is the body of file.delete.
type DeleteFile struct {
	// Message of the changeset.
	Message string `json:"message" check:"chars=0..4000,text"`
	// Delete every file below path instead, at most 100.
	Folder bool `json:"folder"`
}

var (
	fileParams = append(projectParam[:1:1], Param{
		Name: "path", Doc: "Canonical path; each segment is percent-encoded separately.",
	})
	messageParam = Param{
		Name: "message", Check: "chars=0..4000,text", Doc: "Message of the changeset.",
	}
	prefixParam = Param{Name: "prefix", Doc: "Only paths that start with this prefix."}
)

const filePath = "/api/v1/projects/{project}/files/{path*}"

var fileOperations = []*Operation{
	withValidation(declare[None, FilesData](Operation{
		Name: "file.list", Method: "GET", Path: "/api/v1/projects/{project}/files",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Query: append(pageParams(200), prefixParam, globParam),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
		},
		Tag: "files", Summary: "List files",
		Doc: "Lists the metadata of a project's files, sorted by path, without content.",
	}, listFiles), validateFileFilter[None]),
	withValidation(declare[None, FileData](Operation{
		Name: "file.read", Method: "GET", Path: filePath,
		Tool: "file.read", Core: true,
		ToolDoc: "Read a file: its current text, or some of its lines.",
		Auth:    Optional, Category: CategoryRead, Statuses: []int{200}, Params: fileParams,
		Query: lineParams,
		Errors: []fault.Code{
			fault.InvalidPath, fault.ProjectNotFound, fault.FileNotFound,
			fault.BlobCorrupt, fault.ContentRemoved,
		},
		Conditional: true, Tag: "files", Summary: "Read a file",
		Doc: "Returns a file with its text, or with some of its lines. The ETag is that of the whole " +
			"file and changes with this file only.",
	}, readFile), validateLines),
	declare[WriteFile, FileWritten](Operation{
		Name: "file.write", Method: "PUT", Path: filePath,
		Tool: "file.write",
		ToolDoc: "Create or replace one file, as OWNER or MAINTAINER. For several files use " +
			"changeset.commit.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200, 201},
		Params: fileParams, Query: []Param{messageParam},
		Errors: []fault.Code{
			fault.InvalidPath, fault.ProjectNotFound, fault.RoleRequired, fault.FileTooLarge,
			fault.UnsupportedContentType, fault.PathConflict, fault.FileLimitReached,
			fault.ProjectArchived, fault.PreconditionFailed, fault.TurnHeld,
		},
		Conditional: true, Tag: "files", Summary: "Create or replace a file",
		Doc: "Creates or replaces one file and records it as a changeset of one operation. " +
			"Writing the same content again changes nothing.",
	}, writeFile),
	declare[DeleteFile, FileDeleted](Operation{
		Name: "file.delete", Method: "DELETE", Path: filePath,
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: fileParams, Query: []Param{messageParam, folderParam}, BodyOptional: true,
		Errors: []fault.Code{
			fault.InvalidPath, fault.ProjectNotFound, fault.RoleRequired, fault.FileNotFound,
			fault.ProjectArchived, fault.PreconditionFailed, fault.TurnHeld,
		},
		Conditional: true, Tag: "files", Summary: "Delete a file",
		Doc: "Deletes a file, or with folder=true every file below the path, from the current " +
			"tree; the history keeps the contents.",
	}, deleteFile),
	declare[ReadBatch, FilesBatch](Operation{
		Name: "file.read_batch", Method: "POST",
		Tool: "file.read_batch",
		ToolDoc: "Read up to 100 files or some of their lines, 2 MiB in all; request those in " +
			"truncated again.",
		Path: "/api/v1/projects/{project}/files/read-batch",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Expensive: true,
		Errors: []fault.Code{fault.InvalidPath, fault.ProjectNotFound,
			fault.ChangesetNotFound, fault.BlobCorrupt, fault.ContentRemoved},
		Tag: "files", Summary: "Read several files",
		Doc: "Returns up to 100 files with their text or some of its lines, 8 MiB of content at " +
			"most; files that exceed the limit are listed in truncated. A repeated item is answered " +
			"once. If an operator has removed some of the contents, the request is refused with " +
			"CONTENT_REMOVED, and details.paths lists their files.",
	}, readBatch),
}

// file returns the wire form without the content.
func file(info work.FileInfo) File {
	record := File{
		Path: info.Path, SizeBytes: info.Size, ContentType: info.ContentType,
		BlobHash: hexHash(info.Blob),
		Created:  info.Created.ID.Format(id.Changeset),
		Updated:  info.Updated.ID.Format(id.Changeset), UpdatedAt: Time(info.Updated.CreatedAt),
	}
	if info.Language != "" {
		record.Language = &info.Language
	}
	return record
}

// fileETag identifies the version of a file: the changeset that last changed it.
func fileETag(info *work.FileInfo) string {
	if info == nil {
		return ""
	}
	tag := append(make([]byte, 0, 40), '"')
	return string(append(info.Updated.ID.Append(tag, id.Changeset), '"'))
}

// fileReply writes FileData as JSON. It does not use reflection, because reads are the hot path.
type fileReply struct {
	info    work.FileInfo
	content []byte
	// lines is nil if the content is the whole.
	lines *LineRange
}

// JSONBytes implements Sized.
func (r fileReply) JSONBytes() int { return fileBytes(&r.info, r.content) }

// AppendJSON implements Appender.
func (r fileReply) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"file":`...)
	dst = r.appendHead(dst)
	dst = jsonschema.AppendString(dst, textOf(r.content))
	return append(r.appendEnd(dst), '}')
}

// appendHead writes the file up to its content.
func (r *fileReply) appendHead(dst []byte) []byte {
	dst = appendFile(dst, &r.info)
	return append(dst[:len(dst)-1], `,"content":`...)
}

// appendEnd writes what follows the content.
func (r *fileReply) appendEnd(dst []byte) []byte {
	if r.lines != nil {
		dst = appendLines(dst, r.lines)
	}
	return append(dst, '}')
}

// TextBytes implements Pieces.
func (r fileReply) TextBytes() int { return len(r.content) }

// WritePieces implements Pieces.
func (r fileReply) WritePieces(w PieceWriter) error {
	if err := w.JSON(r.appendHead([]byte(`{"file":`))); err != nil {
		return err
	}
	if err := w.Text(textOf(r.content)); err != nil {
		return err
	}
	return w.JSON(append(r.appendEnd(nil), '}'))
}

// appendFile writes File without the content.
func appendFile(dst []byte, info *work.FileInfo) []byte {
	dst = append(dst, `{"path":`...)
	dst = jsonschema.AppendString(dst, info.Path)
	dst = append(dst, `,"size_bytes":`...)
	dst = appendInt(dst, int64(info.Size))
	dst = append(dst, `,"content_type":`...)
	dst = jsonschema.AppendString(dst, info.ContentType)
	dst = append(dst, `,"blob_hash":`...)
	dst = appendHash(dst, &info.Blob)
	dst = append(dst, `,"language":`...)
	if info.Language == "" {
		dst = append(dst, "null"...)
	} else {
		dst = jsonschema.AppendString(dst, info.Language)
	}
	dst = append(dst, `,"created_changeset_id":`...)
	dst = appendID(dst, id.Changeset, info.Created.ID)
	dst = append(dst, `,"updated_changeset_id":`...)
	dst = appendID(dst, id.Changeset, info.Updated.ID)
	dst = append(dst, `,"updated_at":`...)
	dst = Time(info.Updated.CreatedAt).append(dst)
	return append(dst, '}')
}

// textOf and bytesOf convert without copying; contents are never modified.
func textOf(content []byte) string {
	return unsafe.String(unsafe.SliceData(content), len(content))
}

func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// pathOf decodes the path parameter: INVALID_PATH.
func (c *Call) pathOf() (string, error) {
	raw := c.Param("path")
	decoded, problem := path.Decode(raw)
	if problem != "" {
		// The path itself is shown, unless the problem is its encoding.
		text, err := url.PathUnescape(raw)
		if err != nil || !utf8.ValidString(text) || path.Problem(text) != problem {
			text = raw
		}
		return "", fault.New(fault.InvalidPath, "The path is not canonical.").
			With("path", text).With("problem", problem)
	}
	return decoded, nil
}

func listFiles(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(200)
	if err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	return c.pageOfFiles(view, view.Head(), after, limit, view.Files)
}

func readFile(c *Call, _ *None) (Reply, error) {
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
	info, ok := view.File(decoded)
	return c.fileWithContent(decoded, info, ok, wanted)
}

func (c *Call) fileWithContent(
	decoded string, info work.FileInfo, ok bool, wanted wantedLines,
) (Reply, error) {
	content, err := c.contentOf(decoded, info, ok)
	if err != nil {
		return Reply{}, err
	}
	reply := fileReply{info: info, content: content}
	if !wanted.all() {
		reply.lines = new(LineRange)
		reply.content, *reply.lines = wanted.of(content)
	}
	return Reply{Data: reply, ETag: fileETag(&info)}, nil
}

func errFileNotFound(decoded string) error {
	return fault.New(fault.FileNotFound, "There is no file at this path.").With("path", decoded)
}

// blobOf hashes a text outside of any actor.
func blobOf(text string) work.Blob {
	content := bytesOf(text)
	return work.Blob{Hash: sha256.Sum256(content), Content: content}
}

// typeOf returns the media type of a file: the given one, or the one for its name.
func typeOf(given, at string) string {
	if given != "" {
		return given
	}
	return path.TypeOf(at)
}

func writeFile(c *Call, body *WriteFile) (Reply, error) {
	decoded, err := c.pathOf()
	if err != nil {
		return Reply{}, err
	}
	var faults fileFaults
	faults.content("content", body.Content)
	faults.contentType("content_type", body.ContentType)
	if err := faults.err(); err != nil {
		return Reply{}, err
	}
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	command := &work.PutFile{
		Path: decoded, Blob: blobOf(*body.Content), Message: c.message(body.Message),
		ContentType: typeOf(body.ContentType, decoded), Match: c.fileMatch(),
	}
	written, err := c.answer(project, command, c.fileWrittenAt(decoded))
	return written, c.holderFault(err)
}

// message returns the message of the body, else that of the query.
func (c *Call) message(inBody string) string {
	if inBody != "" {
		return inBody
	}
	return c.Query["message"]
}

// fileMatch returns the conditions of a write as a function; nil if there are none.
func (c *Call) fileMatch() func(*work.FileInfo) error {
	if c.IfMatch == "" && c.IfNoneMatch == "" {
		return nil
	}
	return func(current *work.FileInfo) error { return c.requireMatch(fileETag(current)) }
}

// fileWritten writes FileWritten as JSON.
type fileWritten struct {
	call      *Call
	project   *work.Project
	info      work.FileInfo
	changeset *work.Changeset
	created   bool
}

// JSONBytes implements Sized.
func (w fileWritten) JSONBytes() int {
	size := fileBytes(&w.info, nil)
	if w.changeset != nil {
		size += changesetBytes(w.changeset)
	}
	return size
}

// AppendJSON implements Appender.
func (w fileWritten) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"file":`...)
	dst = appendFile(dst, &w.info)
	dst = append(dst, `,"changeset":`...)
	if w.changeset == nil {
		dst = append(dst, "null"...)
	} else {
		dst = w.call.appendChangeset(dst, w.project, w.changeset)
	}
	dst = append(dst, `,"created":`...)
	return append(appendBool(dst, w.created), '}')
}

func deleteFile(c *Call, body *DeleteFile) (Reply, error) {
	decoded, err := c.pathOf()
	if err != nil {
		return Reply{}, err
	}
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	command := &work.DeleteFile{
		Path: decoded, Message: c.message(body.Message), Match: c.fileMatch(),
		Folder: body.Folder || c.ofFolder(),
	}
	deleted, err := c.answer(project, command, func(p *work.Project, r work.Result) (Reply, error) {
		changeset, _ := p.Changeset(r.Changeset)
		return Reply{
			Status: 200, Data: FileDeleted{Changeset: c.changeset(p, changeset)},
		}, nil
	})
	return deleted, c.holderFault(err)
}

// validateCreations validates initial files, which must have different paths.
func validateCreations(files []FileInput, field string) (faults fileFaults) {
	seen := map[string]bool{}
	for i := range files {
		where := fmt.Sprintf("%s[%d]", field, i)
		faults.path(where+".path", files[i].Path)
		faults.content(where+".content", files[i].Content)
		faults.contentType(where+".content_type", files[i].ContentType)
		if seen[files[i].Path] {
			faults.add(where+".path", "is duplicated")
		}
		seen[files[i].Path] = true
	}
	return faults
}

// creations converts initial files to operations.
func creations(files []FileInput, field string) ([]work.Operation, error) {
	faults := validateCreations(files, field)
	if err := faults.err(); err != nil {
		return nil, err
	}
	operations := make([]work.Operation, len(files))
	for i, given := range files {
		blob := blobOf(*given.Content)
		operations[i] = work.Operation{
			Action: work.Create, Path: given.Path, Content: &blob,
			ContentType: typeOf(given.ContentType, given.Path),
		}
	}
	return operations, nil
}

var errUnknownResult = errors.New("the result names nothing")
