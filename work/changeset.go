package work

import (
	"fmt"
	"slices"
	"unique"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work/edit"
)

// Action is what an operation does with a path.
type Action uint8

// The actions.
const (
	Create Action = iota + 1
	Modify
	Delete
	Rename
)

var actionNames = [...]string{"", "CREATE", "MODIFY", "DELETE", "RENAME"}

// String is the name on the wire.
func (a Action) String() string { return actionNames[a] }

// ParseAction reads the name on the wire; zero is no action.
func ParseAction(name string) Action { return Action(max(0, slices.Index(actionNames[:], name))) }

// Source is the kind of request that published a changeset.
type Source uint8

// The sources of changesets.
const (
	SourceProject Source = iota + 1
	SourceFilePut
	SourceFileDelete
	SourceChangeset
	SourceCheckpoint
	SourceCommunitySubmit
	SourceContribution
	SourceFork
	SourceImport
)

var sourceNames = [...]string{
	"", "PROJECT", "FILE_PUT", "FILE_DELETE", "CHANGESET", "CHECKPOINT",
	"COMMUNITY_SUBMIT", "CONTRIBUTION", "FORK", "IMPORT",
}

// String is the name on the wire.
func (s Source) String() string { return sourceNames[s] }

// ParseSource reads the name on the wire; zero is no source.
func ParseSource(name string) Source { return Source(max(0, slices.Index(sourceNames[:], name))) }

// Op is one operation of a published changeset.
type Op struct {
	// Path is the path of the content after the operation, or the deleted path.
	Path *string
	// From is the previous path of a RENAME, else nil.
	From *string
	// Blob, Size and Type describe the content after the operation; zero for DELETE.
	Blob Hash
	Type unique.Handle[string]
	Size uint32
	// at is where the history has the operation, which names it within its changeset.
	at     uint32
	Action Action
}

// Changeset is one immutable step of the history.
type Changeset struct {
	ID     id.ID
	Author id.ID
	// Message is empty if Away has it.
	Message string
	Away    *Away
	// SourceID is the ID of the published record, zero if the source has none.
	SourceID id.ID
	// Ops are the operations, OpCount is their number. See ReadChangeset.
	Ops     []Op
	OpCount int
	// AddedBytes and DeletedBytes are the sizes of the contents that were added and removed.
	AddedBytes   int64
	DeletedBytes int64
	// CreatedAt is Unix milliseconds.
	CreatedAt int64
	// Sequence counts from 1 in each project.
	Sequence uint32
	// files is the number of files after the changeset.
	files  uint32
	Source Source
	// ofTree means that the operations are those of a fork's tree.
	ofTree bool
}

// nextChangesetID returns an ID for a new changeset, above all IDs of the history.
func (p *Project) nextChangesetID(candidate id.ID) id.ID { return above(p.Head().ID, candidate) }

// above returns the candidate, or the ID after the last one if the candidate is not above it.
// That happens within one millisecond, or when the clock was set back.
func above(last, candidate id.ID) id.ID {
	if candidate.Compare(last) <= 0 {
		return last.Next()
	}
	return candidate
}

// Operation is one requested operation of a changeset.
type Operation struct {
	Action  Action
	Path    string
	NewPath string
	// Content is nil for DELETE and for a RENAME that keeps it.
	Content *Blob
	// ContentType is empty for DELETE and for what keeps that of the file.
	ContentType string
	// Expected is the content that must be at Path, nil for any.
	Expected *Hash
	// Edits make the content of a MODIFY from that of the file; Edited is their result. See
	// Project.EditOperations.
	Edits  []edit.Edit
	Edited *Edited
	// Folder means a DELETE or RENAME of every file below Path.
	Folder bool
	// Write means a CREATE or a MODIFY, by what is at Path AFTER the operations before, or none if
	// the file is there as requested. Action is not set then.
	Write bool
}

func (o *Operation) target() string {
	if o.Action == Rename {
		return o.NewPath
	}
	return o.Path
}

// PublishChangeset changes several files at once.
type PublishChangeset struct {
	Base       id.ID
	Message    string
	Operations []Operation
}

// Authorize accepts maintainers and owners.
func (c *PublishChangeset) Authorize(p *Project, agent id.ID) error {
	return MayWriteFiles.Require(p, agent)
}

// Decide returns CHANGESET_NOT_FOUND, PROJECT_MOVED, FILE_EXISTS, FILE_NOT_FOUND, FILE_CHANGED,
// PATH_CONFLICT, FILE_LIMIT_REACHED, PROJECT_ARCHIVED, TURN_HELD, those of folders and of edits,
// and an error that is Stale if the edits were applied to another content.
func (c *PublishChangeset) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := requireWritable(p, stamp); err != nil {
		return Decision{}, err
	}
	if err := p.requireBase(c.Base); err != nil {
		return Decision{}, err
	}
	published, blobs, err := decideOperations(p, c.Operations)
	if err != nil {
		return Decision{}, err
	}
	published.ID = p.nextChangesetID(stamp.ID(0))
	published.Message = c.Message
	published.Source = SourceChangeset
	return Decision{
		Events: []Event{published},
		Blobs:  blobs,
		Result: Result{Created: true, Changeset: published.ID},
	}, nil
}

// requireBase checks that a base is the head: CHANGESET_NOT_FOUND, PROJECT_MOVED.
func (p *Project) requireBase(base id.ID) error {
	head := p.Head()
	if head.ID == base {
		return nil
	}
	since, known := p.history.find(base)
	if !known {
		return fault.NoChangeset()
	}
	return fault.New(fault.ProjectMoved, "The base is no longer the head of the project.").
		With("base_changeset_id", base.Format(id.Changeset)).
		With("head_changeset_id", head.ID.Format(id.Changeset)).
		With("changed_paths", p.changedSince(since))
}

// changedOpsSeenMax limits the operations that are searched for changed paths, because a long
// history may change the same path again and again.
const changedOpsSeenMax = 20_000

// changedSince returns the paths that the next changedOpsSeenMax operations after a changeset
// changed, both ends of renames, each once, in the order of the history, at most ChangedPathsMax.
func (p *Project) changedSince(since uint32) []string {
	paths := []string{}
	seen := map[string]bool{}
	// The number of paths that ever existed is an upper bound.
	most := min(ChangedPathsMax, p.live.Len()+p.gone.Len())
	add := func(path *string) {
		if path != nil && !seen[*path] {
			seen[*path] = true
			paths = append(paths, *path)
		}
	}
	seenOps := 0
	for changeset := range p.Changesets(since, uint32(p.history.len()), true) {
		for i := range changeset.Ops {
			if seenOps++; len(paths) >= most || seenOps > changedOpsSeenMax {
				return paths[:min(len(paths), most)]
			}
			add(changeset.Ops[i].From)
			add(changeset.Ops[i].Path)
		}
	}
	return paths[:min(len(paths), most)]
}

// overlay is the tree with the operations so far applied to it.
type overlay struct {
	project *Project
	// changed holds the result of the operations at each path, nil if there is no file.
	changed map[string]*fileState
	files   int
	// field names an operation in the fields of an error.
	field func(nth int) string
}

type fileState struct {
	blob        Hash
	size        int
	contentType string
}

func (o *overlay) get(path string) *fileState {
	if left, changed := o.changed[path]; changed {
		return left
	}
	if f, ok := o.project.live.Get(path); ok {
		var op Op
		p := o.project
		p.history.operation(f.last(), &op)
		return &fileState{blob: op.Blob, size: int(op.Size), contentType: op.Type.Value()}
	}
	return nil
}

func (o *overlay) set(path string, next *fileState) {
	if o.get(path) != nil {
		o.files--
	}
	if next != nil {
		o.files++
	}
	o.changed[path] = next
}

// decideOperations is validateOperations with all errors as one.
func decideOperations(p *Project, wished []Operation) (*ChangesetPublished, []Blob, error) {
	published, blobs, faults := validateOperations(p, wished, operationField)
	if err := fault.Several(faults); err != nil {
		return nil, nil, err
	}
	return published, blobs, nil
}

// operationField returns the name of an operation in the fields of an error.
func operationField(nth int) string { return indexed("operations", nth) }

// step is an operation to run with the number of the requested one: itself, or that of a folder.
type step struct {
	*Operation
	nth      int
	ofFolder bool
}

// validateOperations applies the operations in order to the tree, validates the result as one step,
// and returns all its errors. The function field names an operation.
func validateOperations(
	p *Project, wished []Operation, field func(nth int) string,
) (*ChangesetPublished, []Blob, []error) {
	tree := &overlay{
		project: p, changed: make(map[string]*fileState, len(wished)), files: p.live.Len(),
		field: field,
	}
	published := &ChangesetPublished{Ops: make([]OpRecord, 0, len(wished))}
	blobs := make([]Blob, 0, len(wished))
	steps := make([]step, 0, len(wished))
	var faults []error
	for i := range wished {
		first := len(steps)
		var err error
		if steps, err = tree.addSteps(steps, &wished[i], i); err != nil {
			faults = append(faults, err)
			continue
		}
		for _, one := range steps[first:] {
			record, content, err := tree.run(one.Operation, i)
			if err != nil {
				faults = append(faults, err)
				continue
			}
			published.Ops = append(published.Ops, record)
			if content != nil {
				blobs = append(blobs, *content)
			}
		}
	}
	if tree.files > FilesMax {
		faults = append(faults, errFileLimitReached())
	}
	faults = append(faults, requireFolders(steps, field)...)
	return published, blobs, append(faults, tree.conflicts(steps)...)
}

// run returns the record of an operation and the content that it brings, or FILE_EXISTS,
// FILE_NOT_FOUND, FILE_CHANGED, and the errors of edits.
func (o *overlay) run(wish *Operation, nth int) (OpRecord, *Blob, error) {
	current := o.get(wish.Path)
	if wish.Action == Create {
		if current != nil {
			return OpRecord{}, nil, errFileExists(wish.Path, nth)
		}
	} else if current == nil {
		return OpRecord{}, nil, atOperation(errFileNotFound(wish.Path), nth)
	}
	if wish.Expected != nil && (current == nil || current.blob != *wish.Expected) {
		return OpRecord{}, nil, atOperation(errFileChanged(wish.Path, current), nth)
	}
	content := wish.Content
	if len(wish.Edits) > 0 {
		if _, earlier := o.changed[wish.Path]; earlier {
			return OpRecord{}, nil, errEditedAgain(o.field(nth))
		}
		var err error
		if content, err = wish.Edited.of(current.blob); err != nil {
			return OpRecord{}, nil, atOperation(err, nth)
		}
	}
	record := OpRecord{Action: wish.Action, Path: wish.target()}
	if wish.Action == Rename {
		record.From = wish.Path
		if wish.NewPath != wish.Path && o.get(wish.NewPath) != nil {
			return OpRecord{}, nil, errFileExists(wish.NewPath, nth)
		}
		o.set(wish.Path, nil)
	}
	if wish.Action == Delete {
		o.set(wish.Path, nil)
		return record, nil, nil
	}
	next := new(fileState)
	if current != nil {
		*next = *current
	}
	if content != nil {
		next.blob, next.size = content.Hash, len(content.Content)
	}
	if wish.ContentType != "" {
		next.contentType = wish.ContentType
	}
	o.set(record.Path, next)
	record.Blob, record.Size, record.Type = next.blob, next.size, next.contentType
	return record, content, nil
}

func errFileExists(path string, nth int) error {
	return atOperation(fault.New(fault.FileExists, "There is already a file at this path.").
		With("path", path), nth)
}

func errFileChanged(path string, current *fileState) error {
	refusal := fault.New(fault.FileChanged, "The file differs from the expected one.").
		With("path", path)
	if current == nil {
		return refusal.With("current_blob_hash", nil)
	}
	return refusal.With("current_blob_hash", fmt.Sprintf("%x", current.blob))
}

func atOperation(err error, nth int) error {
	if refusal, ok := err.(*fault.Error); ok {
		return refusal.With("operation", nth)
	}
	return err
}

// conflicts returns PATH_CONFLICT for each path that would be both a file and a folder.
func (o *overlay) conflicts(steps []step) (faults []error) {
	for _, one := range steps {
		target := one.target()
		if o.get(target) == nil {
			continue
		}
		if other, found := o.conflict(target); found {
			faults = append(faults, atOperation(errPathConflict(target, other), one.nth))
		}
	}
	return faults
}

// conflict is pathConflict for the result of the operations. It does not find a new file below the
// path: that file is the target of another operation, whose conflict is the one with this path.
func (o *overlay) conflict(target string) (string, bool) {
	exists := func(path string) bool { return o.get(path) != nil }
	return pathConflict(target, exists, o.project.livePaths)
}

// ChangesetPublished is the event of a new head.
type ChangesetPublished struct {
	ID       id.ID      `cbor:"1,keyasint"`
	Message  string     `cbor:"2,keyasint,omitempty"`
	Source   Source     `cbor:"3,keyasint"`
	SourceID id.ID      `cbor:"4,keyasint,omitzero"`
	Ops      []OpRecord `cbor:"5,keyasint,omitempty"`
	// Author is the agent that wrote it; zero means the agent that sent the command.
	Author id.ID `cbor:"6,keyasint,omitzero"`
	// Away has a long message, nil if it is here.
	Away *Away `cbor:"7,keyasint,omitempty"`
}

// OpRecord is an operation in the log.
type OpRecord struct {
	Action Action `cbor:"1,keyasint"`
	Path   string `cbor:"2,keyasint"`
	From   string `cbor:"3,keyasint,omitempty"`
	Blob   Hash   `cbor:"4,keyasint,omitzero"`
	Size   int    `cbor:"5,keyasint,omitempty"`
	Type   string `cbor:"6,keyasint,omitempty"`
}

func (e *ChangesetPublished) apply(p *Project, at Moment) {
	author := at.Agent
	if !e.Author.IsZero() {
		author = e.Author
	}
	p.publish(e, author, at.Now)
	sequence := uint32(p.history.len())
	if author == at.Agent {
		p.touch(at, sequence, id.ID{})
	} else {
		p.credit(author, sequence)
	}
}

// publish appends a changeset to the history and applies its operations to the trees.
func (p *Project) publish(e *ChangesetPublished, author id.ID, now int64) {
	next := new(changesetOfOne)
	next.Ops = next.one[:0]
	p.append(&next.Changeset, e, author, now)
}

// append is publish; it uses the memory of a changeset, which becomes the newest one.
func (p *Project) append(c *Changeset, e *ChangesetPublished, author id.ID, now int64) {
	*c = Changeset{
		ID: e.ID, Author: author, Message: e.Message, Away: e.Away, CreatedAt: now,
		Source: e.Source, SourceID: e.SourceID, Ops: c.room(), OpCount: len(e.Ops),
		Sequence: uint32(p.history.len() + 1),
	}
	p.countAuthor(author)
	paths := p.live.Len() + p.gone.Len()
	if p.saved.Fork != nil && c.Sequence == 1 {
		p.saved.Fork.tree.plant(p, c)
	} else {
		p.history.begin(c)
		c.Ops = slices.Grow(c.Ops, len(e.Ops))[:len(e.Ops)]
		for i := range e.Ops {
			p.operate(c, &e.Ops[i], &c.Ops[i])
		}
	}
	c.files = uint32(p.live.Len())
	p.history.end(c)
	p.countHistory(c, paths)
}

// operate applies one operation of a new changeset, of which op is the decoded form.
func (p *Project) operate(c *Changeset, record *OpRecord, op *Op) {
	*op = Op{
		Action: record.Action, Blob: record.Blob, Size: uint32(record.Size),
		Type: unique.Make(record.Type),
	}
	path, from := p.pathIndex(record.Path), uint32(0)
	if record.Action == Rename {
		from = p.pathIndex(record.From)
		op.From = p.history.names.path(from)
	}
	op.Path = p.history.names.path(path)
	source := op.Path
	if op.From != nil {
		source = op.From
	}
	p.countBytes(c, op, *source)
	p.history.add(op, path, from)
	if op.From != nil && *op.From != *op.Path {
		p.write(*op.From, from, c.Sequence, op, true)
	}
	p.write(*op.Path, path, c.Sequence, op, op.Action == Delete)
}

// countBytes adds the bytes that an operation adds and removes; moving a content does neither.
func (p *Project) countBytes(c *Changeset, op *Op, source string) {
	if f, existed := p.live.Get(source); existed {
		var before Op
		p.history.operation(f.last(), &before)
		if op.Action == Rename && before.Blob == op.Blob {
			return
		}
		c.DeletedBytes += int64(before.Size)
	}
	c.AddedBytes += int64(op.Size)
}

// pathIndex returns the index of a path in the names of the history.
func (p *Project) pathIndex(path string) uint32 {
	if f := p.everAt(path); f != nil {
		return f.path
	}
	return p.history.addPath(path)
}
