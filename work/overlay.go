package work

import "slices"

// withoutUnchanged sorts the files of an overlay and removes those that equal the base. It modifies
// its input.
func withoutUnchanged(p *Project, base *Changeset, files []Overlaid) []Overlaid {
	slices.SortFunc(files, byOverlaidPath)
	return slices.DeleteFunc(files, func(one Overlaid) bool {
		before := p.fileStateAt(one.Path, base)
		if !one.exists() {
			return before == nil
		}
		return one.is(before)
	})
}

// fileStateAt returns the file at a path after a changeset, nil if there is none.
func (p *Project) fileStateAt(path string, at *Changeset) *fileState {
	info, existed := p.FileAt(path, at)
	if !existed || path == "" {
		return nil
	}
	return &fileState{blob: info.Blob, size: info.Size, contentType: info.ContentType}
}

// originIn returns the path at the base of the file that an overlay has at a path, or would get
// there; empty for a new file.
func (p *Project) originIn(base *Changeset, files []Overlaid, path string) string {
	if one := overlaidAt(files, path); one != nil && one.exists() {
		return one.From
	}
	if p.fileStateAt(path, base) == nil || movedTo(files, path) != "" {
		return ""
	}
	return path
}

// movedTo returns the path at which an overlay has the file of another path of the base; empty
// if it does not have it.
func movedTo(files []Overlaid, from string) string {
	for i := range files {
		if one := &files[i]; one.exists() && one.From == from && one.Path != from {
			return one.Path
		}
	}
	return ""
}

// hasRoom reports whether an overlay is within the file limit of a project.
func (p *Project) hasRoom(base *Changeset, files []Overlaid) bool {
	// The number of paths that ever existed is an upper bound, so few projects need a full count.
	most := p.live.Len() + p.gone.Len() + len(files)
	return most <= FilesMax || p.countOver(base, files) <= FilesMax
}

// countOver counts the files of an overlay.
func (p *Project) countOver(base *Changeset, files []Overlaid) (count int) {
	count = int(base.files)
	for i := range files {
		one := &files[i]
		if existed := p.fileStateAt(one.Path, base) != nil; existed && !one.exists() {
			count--
		} else if !existed && one.exists() {
			count++
		}
	}
	return count
}

// conflictOver is pathConflict for the files of an overlay.
func (p *Project) conflictOver(base *Changeset, files []Overlaid, path string) (string, bool) {
	exists := func(path string) bool {
		if one := overlaidAt(files, path); one != nil {
			return one.exists()
		}
		return p.fileStateAt(path, base) != nil
	}
	paths := func(from string, yield func(path string) bool) {
		p.filesOver(base, files, from, from, func(other WorkspaceFile) bool { return yield(other.Path) })
	}
	return pathConflict(path, exists, paths)
}

// netOperations returns the operations from a changeset to an overlay, in an order in which they
// can be published: deletions first, then renames, each after the one that makes room for it. A
// move that renames.settle keeps is a RENAME, but a ring of them becomes MODIFY operations.
func (p *Project) netOperations(base *Changeset, files []Overlaid) (ops []OpRecord) {
	renames := p.netRenames(base, files)
	var rest []OpRecord
	for i := range files {
		one := &files[i]
		before := p.fileStateAt(one.Path, base)
		switch {
		case renames.sourceOf[one.Path] != "":
		case !one.exists():
			if before != nil && renames.targetOf[one.Path] == "" {
				ops = append(ops, OpRecord{Action: Delete, Path: one.Path})
			}
		case before == nil:
			rest = append(rest, one.operation(Create, ""))
		case !one.is(before):
			rest = append(rest, one.operation(Modify, ""))
		}
	}
	return append(append(ops, renames.operations()...), rest...)
}

func (o *Overlaid) operation(action Action, from string) OpRecord {
	return OpRecord{
		Action: action, Path: o.Path, From: from, Blob: o.Blob, Size: o.Size, Type: o.Type,
	}
}
