package work

import (
	"slices"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work/edit"
)

// EditWorkspaceFile replaces texts in one file of a workspace.
type EditWorkspaceFile struct {
	Workspace id.ID
	Path      string
	// Expected is the content that the file must have, nil for any.
	Expected *Hash
	Edits    []edit.Edit
	// Edited is their result, from Apply.
	Edited *Edited
	// Match is as in WriteWorkspaceFile.
	Match func(current *WorkspaceFile) error
}

// Apply returns the command with the result of the edits on the file of the workspace.
func (c EditWorkspaceFile) Apply(p *Project, w *Workspace, editor *Editor) *EditWorkspaceFile {
	c.Edited = nil
	file, exists := p.WorkspaceFile(w, c.Path)
	if exists && (c.Expected == nil || file.Blob == *c.Expected) {
		c.Edited = editor.edit(c.Path, file.Blob, file.Size, c.Edits)
	}
	return &c
}

// Authorize accepts the author.
func (c *EditWorkspaceFile) Authorize(p *Project, agent id.ID) error {
	return authorOf(p, c.Workspace, agent)
}

// Decide returns PROJECT_ARCHIVED, WORKSPACE_CLOSED, TURN_LOST, PRECONDITION_FAILED,
// FILE_NOT_FOUND, FILE_CHANGED, PATH_CONFLICT, FILE_LIMIT_REACHED, QUOTA_EXCEEDED, the errors of
// edits, and an error that is Stale if they were applied to another content. Like writing a file,
// it resolves its conflict.
func (c *EditWorkspaceFile) Decide(p *Project, stamp Stamp) (Decision, error) {
	change, exists, err := editAt(p, c.Workspace, c.Path, c.Match, stamp)
	if err != nil {
		return Decision{}, err
	}
	if !exists {
		return Decision{}, errFileNotFound(c.Path)
	}
	current, _ := p.WorkspaceFile(change.workspace, c.Path)
	if c.Expected != nil && current.Blob != *c.Expected {
		return Decision{}, errFileChanged(c.Path, &fileState{blob: current.Blob})
	}
	blob, err := c.Edited.of(current.Blob)
	if err != nil {
		return Decision{}, err
	}
	write := WriteWorkspaceFile{
		Workspace: c.Workspace, Path: c.Path, Blob: *blob, ContentType: current.ContentType,
	}
	return write.Decide(p, stamp)
}

// filesBelow returns the files below a folder in the order of their paths: FILE_NOT_FOUND,
// QUOTA_EXCEEDED.
func (e *workspaceEdit) filesBelow(folder string) (files []WorkspaceFile, err error) {
	prefix := folder + "/"
	e.project.filesOver(e.base, e.files, prefix, prefix, func(file WorkspaceFile) bool {
		if len(file.Path) < len(prefix) || file.Path[:len(prefix)] != prefix {
			return false
		}
		files = append(files, file)
		return len(files) <= OperationsMax
	})
	switch {
	case len(files) == 0:
		return nil, errFolderNotFound(folder)
	case len(files) > OperationsMax:
		return nil, errQuota("workspace_changes", OperationsMax)
	}
	return files, nil
}

// deleteFolder returns the decision to delete the files below a folder.
func (e *workspaceEdit) deleteFolder(folder string) (Decision, error) {
	files, err := e.filesBelow(folder)
	if err != nil {
		return Decision{}, err
	}
	for i := range files {
		e.put(Overlaid{Path: files[i].Path})
	}
	return e.decide(Result{Subject: e.workspace.ID})
}

// moveFolder returns the decision to move the files below a folder.
func (e *workspaceEdit) moveFolder(folder, newFolder string) (Decision, error) {
	files, err := e.filesBelow(folder)
	if err != nil {
		return Decision{}, err
	}
	result := Result{Subject: e.workspace.ID}
	if folder == newFolder {
		return e.decide(result)
	}
	paths, byPath := make([]string, len(files)), make(map[string]WorkspaceFile, len(files))
	for i, file := range files {
		paths[i], byPath[file.Path] = file.Path, file
	}
	if err := requireMoves(paths, folder, newFolder, e.exists); err != nil {
		return Decision{}, err
	}
	conflicts, kept, err := e.movedConflicts(slices.Sorted(slices.Values(paths)), folder, newFolder)
	if err != nil {
		return Decision{}, err
	}
	for _, path := range paths {
		e.move(byPath[path], pathIn(path, folder, newFolder))
	}
	for _, path := range slices.Sorted(slices.Values(paths)) {
		if err := e.requireNoConflict(pathIn(path, folder, newFolder)); err != nil {
			return Decision{}, err
		}
	}
	decision, err := e.decide(result)
	for i := range decision.Events {
		if _, ok := decision.Events[i].(*WorkspaceChanged); ok && kept {
			decision.Events[i] = &WorkspaceRefreshed{
				Workspace: e.workspace.ID, Base: e.workspace.Base, Files: e.files,
				Conflicts: conflicts,
			}
		}
	}
	return decision, err
}

// movedConflicts returns the conflicts of the workspace after files of a folder, whose paths are in
// the order of their bytes, have moved to another one, and whether any of the files keeps its
// conflict. A conflict moves with its file. One about another file, which the project has at the
// path, stays there, because that file is then deleted in the workspace. One with a folder is
// resolved. No file can move to the path of an open conflict: FILE_EXISTS.
func (e *workspaceEdit) movedConflicts(
	paths []string, folder, newFolder string,
) (conflicts []Conflict, kept bool, err error) {
	isMoved := func(path string) bool {
		_, found := slices.BinarySearch(paths, path)
		return found
	}
	for _, c := range e.workspace.Conflicts {
		source, found := e.project.openConflict(e.workspace, e.base, &c)
		one := e.workspace.file(c.Path)
		switch moved := isMoved(c.Path); {
		case moved && !found:
			continue
		case moved && (source == "" || one == nil || originOf(e.workspace.Files, one) == source):
			c.Path, kept = pathIn(c.Path, folder, newFolder), true
			conflicts = append(conflicts, c)
			continue
		case moved:
			c.Kind, c.Ours, c.Marked, c.MarkedSize, kept = DeletedByUs, Hash{}, Hash{}, 0, true
		}
		rest, below := strings.CutPrefix(c.Path, newFolder+"/")
		if below && isMoved(folder+"/"+rest) {
			return nil, false, fault.New(fault.FileExists,
				"A conflict is open at this path. Resolve it first.").With("path", c.Path)
		}
		conflicts = append(conflicts, c)
	}
	slices.SortFunc(conflicts, byConflictPath)
	return conflicts, kept, nil
}

func (e *workspaceEdit) exists(path string) bool {
	if one := overlaidAt(e.files, path); one != nil {
		return one.exists()
	}
	return e.project.fileStateAt(path, e.base) != nil
}
