package work

import (
	"cmp"
	"slices"

	"pws/internal/id"
)

// WorkspaceChange is the net difference of a workspace from its base at one path.
type WorkspaceChange struct {
	Action Action
	Path   string
	// From is the previous path of a RENAME. Blob, Size and Type are zero for DELETE.
	From string
	Blob Hash
	Size int
	Type string
}

// WorkspaceChanges returns the changes of a workspace, or the published changes of a published
// one, in the order of the paths' bytes.
func (p *Project) WorkspaceChanges(w *Workspace) []WorkspaceChange {
	var ops []OpRecord
	if c, done := p.Changeset(w.Published); done {
		ops = recordOf(c).Event.Ops
	} else {
		ops = p.netOperations(p.tree(w), w.Files)
	}
	changes := make([]WorkspaceChange, len(ops))
	for i := range ops {
		op := &ops[i]
		changes[i] = WorkspaceChange{
			Action: op.Action, Path: op.Path, From: op.From, Blob: op.Blob, Size: op.Size,
			Type: op.Type,
		}
	}
	slices.SortFunc(changes, func(a, b WorkspaceChange) int { return cmp.Compare(a.Path, b.Path) })
	return changes
}

// workspaceEdit builds a new version of a workspace's files.
type workspaceEdit struct {
	project   *Project
	workspace *Workspace
	base      *Changeset
	stamp     Stamp
	// files are the files of the workspace with the changes so far.
	files   []Overlaid
	touched []string
}

func editOf(p *Project, workspace id.ID, stamp Stamp) (*workspaceEdit, error) {
	w, err := requireChangeable(p, workspace, stamp)
	if err != nil {
		return nil, err
	}
	return &workspaceEdit{
		project: p, workspace: w, base: p.tree(w), stamp: stamp, files: slices.Clone(w.Files),
	}, nil
}

// editAt begins the edit of one path, if the condition holds for the current file:
// PRECONDITION_FAILED.
func editAt(
	p *Project, workspace id.ID, path string, condition func(*WorkspaceFile) error, stamp Stamp,
) (edit *workspaceEdit, exists bool, err error) {
	if edit, err = editOf(p, workspace, stamp); err != nil {
		return nil, false, err
	}
	current, exists := p.WorkspaceFile(edit.workspace, path)
	return edit, exists, match(condition, current, exists)
}

// put sets the result at a path: a file, or no file.
func (e *workspaceEdit) put(next Overlaid) {
	next.At = e.stamp.Now
	e.touched = append(e.touched, next.Path)
	at, found := slices.BinarySearchFunc(e.files, next, byOverlaidPath)
	if found {
		e.files[at] = next
		return
	}
	e.files = slices.Insert(e.files, at, next)
}

// requireRoom checks that a new path is within the file limit and would not be both a folder and
// a file: FILE_LIMIT_REACHED, PATH_CONFLICT.
func (e *workspaceEdit) requireRoom(path string) error {
	if !e.project.hasRoom(e.base, e.files) {
		return errFileLimitReached()
	}
	return e.requireNoConflict(path)
}

func (e *workspaceEdit) requireNoConflict(path string) error {
	if other, found := e.project.conflictOver(e.base, e.files, path); found {
		return errPathConflict(path, other)
	}
	return nil
}

// decide returns the decision on the changes: QUOTA_EXCEEDED.
func (e *workspaceEdit) decide(result Result) (Decision, error) {
	p, w := e.project, e.workspace
	next := withoutUnchanged(p, e.base, e.files)
	e.files = next
	// Each path becomes at most one operation.
	if len(next) > OperationsMax {
		changes := len(p.netOperations(e.base, next))
		if changes > OperationsMax && changes > len(p.netOperations(e.base, w.Files)) {
			return Decision{}, errQuota("workspace_changes", OperationsMax)
		}
	}
	event := &WorkspaceChanged{Workspace: w.ID}
	// A file that leaves a path can make room for another one.
	slices.Sort(e.touched)
	for _, path := range slices.Compact(e.touched) {
		one, before := overlaidAt(next, path), w.file(path)
		switch {
		case one == nil && before != nil:
			event.Unset = append(event.Unset, path)
		case one != nil && (before == nil || !one.same(before)):
			event.Set = append(event.Set, *one)
		}
		if w.conflict(path) != nil {
			event.Resolved = append(event.Resolved, path)
		}
	}
	decision := Decision{Result: result}
	if len(event.Set)+len(event.Unset)+len(event.Resolved) > 0 {
		decision.Events = append(decision.Events, event)
	}
	decision.Events = p.renewed(w, e.stamp, decision.Events)
	return decision, nil
}

// same reports whether two files are equal, apart from when they were written.
func (o *Overlaid) same(other *Overlaid) bool {
	mine := *o
	mine.At = other.At
	return mine == *other
}

// WriteWorkspaceFile writes one file of a workspace.
type WriteWorkspaceFile struct {
	Workspace   id.ID
	Path        string
	Blob        Blob
	ContentType string
	// Match is called with the current file, nil if there is none; a nil Match checks nothing. It
	// returns PRECONDITION_FAILED.
	Match func(current *WorkspaceFile) error
}

// Authorize accepts the author.
func (c *WriteWorkspaceFile) Authorize(p *Project, agent id.ID) error {
	return authorOf(p, c.Workspace, agent)
}

// Decide returns PROJECT_ARCHIVED, WORKSPACE_CLOSED, TURN_LOST, PRECONDITION_FAILED,
// PATH_CONFLICT, FILE_LIMIT_REACHED, QUOTA_EXCEEDED. Writing a file resolves its conflict.
func (c *WriteWorkspaceFile) Decide(p *Project, stamp Stamp) (Decision, error) {
	edit, exists, err := editAt(p, c.Workspace, c.Path, c.Match, stamp)
	if err != nil {
		return Decision{}, err
	}
	edit.put(Overlaid{
		Path: c.Path, From: p.originIn(edit.base, edit.files, c.Path),
		Blob: c.Blob.Hash, Size: len(c.Blob.Content), Type: c.ContentType,
	})
	if !exists || edit.hasConflict(c.Path) {
		if err := edit.requireRoom(c.Path); err != nil {
			return Decision{}, err
		}
	}
	decision, err := edit.decide(Result{Created: !exists, Subject: c.Workspace})
	if len(decision.Events) > 0 {
		decision.Blobs = []Blob{c.Blob}
	} else {
		decision.Again = []Blob{c.Blob}
	}
	return decision, err
}

// hasConflict reports whether a path has a conflict; then its file may be where a folder is.
func (e *workspaceEdit) hasConflict(path string) bool { return e.workspace.conflict(path) != nil }

// DeleteWorkspaceFile deletes one file of a workspace.
type DeleteWorkspaceFile struct {
	Workspace id.ID
	Path      string
	// Folder deletes all files below Path instead.
	Folder bool
	// Match is as in WriteWorkspaceFile.
	Match func(current *WorkspaceFile) error
}

// Authorize accepts the author.
func (c *DeleteWorkspaceFile) Authorize(p *Project, agent id.ID) error {
	return authorOf(p, c.Workspace, agent)
}

// Decide returns PROJECT_ARCHIVED, WORKSPACE_CLOSED, TURN_LOST, PRECONDITION_FAILED,
// FILE_NOT_FOUND, QUOTA_EXCEEDED. A deleted file with a conflict may be deleted again: this
// resolves the conflict.
func (c *DeleteWorkspaceFile) Decide(p *Project, stamp Stamp) (Decision, error) {
	edit, exists, err := editAt(p, c.Workspace, c.Path, c.Match, stamp)
	if err != nil {
		return Decision{}, err
	}
	if c.Folder {
		return edit.deleteFolder(c.Path)
	}
	if !exists && !edit.hasConflict(c.Path) {
		return Decision{}, errFileNotFound(c.Path)
	}
	edit.put(Overlaid{Path: c.Path})
	return edit.decide(Result{Subject: c.Workspace})
}

// RenameWorkspaceFile moves one file within a workspace.
type RenameWorkspaceFile struct {
	Workspace id.ID
	Path      string
	NewPath   string
	// Folder moves all files below Path to below NewPath instead.
	Folder bool
}

// Authorize accepts the author.
func (c *RenameWorkspaceFile) Authorize(p *Project, agent id.ID) error {
	return authorOf(p, c.Workspace, agent)
}

// Decide returns PROJECT_ARCHIVED, WORKSPACE_CLOSED, TURN_LOST, FILE_NOT_FOUND, FILE_EXISTS,
// PATH_CONFLICT, QUOTA_EXCEEDED, and for a folder INVALID_PATH. Renaming a file to its own path
// changes nothing. Renaming a file resolves its conflict; those of the files of a folder stay open.
func (c *RenameWorkspaceFile) Decide(p *Project, stamp Stamp) (Decision, error) {
	edit, err := editOf(p, c.Workspace, stamp)
	if err != nil {
		return Decision{}, err
	}
	if c.Folder {
		return edit.moveFolder(c.Path, c.NewPath)
	}
	current, exists := p.WorkspaceFile(edit.workspace, c.Path)
	if !exists {
		return Decision{}, errFileNotFound(c.Path)
	}
	result := Result{Subject: c.Workspace}
	if c.NewPath == c.Path {
		return edit.decide(result)
	}
	if _, taken := p.WorkspaceFile(edit.workspace, c.NewPath); taken {
		return Decision{}, errFileExists(c.NewPath, 0)
	}
	edit.move(current, c.NewPath)
	if err := edit.requireNoConflict(c.NewPath); err != nil {
		return Decision{}, err
	}
	return edit.decide(result)
}

// move moves a file to a free path.
func (e *workspaceEdit) move(file WorkspaceFile, newPath string) {
	from := e.project.originIn(e.base, e.files, file.Path)
	e.put(Overlaid{Path: file.Path})
	if e.project.originIn(e.base, e.files, newPath) == newPath && from == "" {
		// The file replaces one that the workspace has deleted.
		from = newPath
	}
	e.put(Overlaid{
		Path: newPath, From: from, Blob: file.Blob, Size: file.Size, Type: file.ContentType,
	})
}

// WorkspaceChanged is the event of files that were written, deleted or moved in a workspace.
type WorkspaceChanged struct {
	Workspace id.ID `cbor:"1,keyasint"`
	// Set are the changed paths with their files, in the order of their bytes; Unset are the
	// paths that equal the base again.
	Set   []Overlaid `cbor:"2,keyasint,omitempty"`
	Unset []string   `cbor:"3,keyasint,omitempty"`
	// Resolved are the paths whose conflicts were resolved.
	Resolved []string `cbor:"4,keyasint,omitempty"`
}

func (e *WorkspaceChanged) apply(p *Project, at Moment) {
	p.changeWorkspace(e.Workspace, at, func(next *Workspace) {
		files := make([]Overlaid, 0, len(next.Files)+len(e.Set))
		for _, one := range next.Files {
			if !slices.Contains(e.Unset, one.Path) && overlaidAt(e.Set, one.Path) == nil {
				files = append(files, one)
			}
		}
		files = append(files, e.Set...)
		slices.SortFunc(files, byOverlaidPath)
		next.Files = files
		if len(e.Resolved) > 0 {
			next.Conflicts = slices.DeleteFunc(slices.Clone(next.Conflicts), func(c Conflict) bool {
				return slices.Contains(e.Resolved, c.Path)
			})
			next.reopenIfResolved()
		}
	})
}
