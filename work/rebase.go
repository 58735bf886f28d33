package work

import (
	"slices"

	"pws/internal/id"
)

// rebased returns the event that moves a workspace onto the changeset in which one of its revisions
// was accepted, nil where that needs a merge. Files has all that the changeset changes at the head
// before it. The workspace then shows what its author has written since, and what others have
// published. A merge would take the revision for the change of somebody else, and a later change of
// the same lines would conflict with it.
func (p *Project) rebased(
	w *Workspace, r *Revision, files []Overlaid, onto id.ID,
) *WorkspaceRefreshed {
	base, exists := p.Changeset(r.Base)
	if !exists || w.Base != r.Base || w.Status.Final() || len(w.Conflicts) > 0 {
		return nil
	}
	head := p.Head()
	if head != base && slices.ContainsFunc(slices.Concat(w.Files, r.Files, files), isRename) {
		return nil
	}
	var left []Overlaid
	for _, path := range pathsIn(w.Files, r.Files) {
		ours, submitted := p.fileOver(base, w.Files, path), p.fileOver(base, r.Files, path)
		theirs := p.fileOver(head, files, path)
		switch {
		case ours.equals(&theirs), ours.equals(&submitted):
			continue
		case !theirs.equals(&submitted):
			return nil
		}
		ours.From = locate(r.Files, ours.From)
		left = append(left, ours)
	}
	followCreated(left, r.Files)
	for i := range left {
		one := &left[i]
		theirs := p.fileOver(head, files, one.Path)
		if one.isNew() && theirs.exists() && movedTo(left, one.Path) == "" {
			one.From = one.Path
		}
	}
	return &WorkspaceRefreshed{Workspace: w.ID, Base: onto, Files: left}
}

// followCreated notes which files of a workspace are moved ones that the revision has created. The
// workspace has no origin for those. So one is recognized by its content, if it has left its path.
// A file that the workspace has from its base is none of them. Neither is one at a path where the
// revision has created another: its author may have written that one, and then the later changes of
// the moved file by others would come to it. A refresh shows them as a conflict instead.
func followCreated(left, submitted []Overlaid) {
	for i := range submitted {
		created := &submitted[i]
		now := overlaidAt(left, created.Path)
		if !created.isNew() || now == nil || now.exists() && !isRename(*now) {
			continue
		}
		moved := slices.IndexFunc(left, func(one Overlaid) bool {
			return one.isNew() && one.equals(created) && !createdAt(submitted, one.Path)
		})
		if moved >= 0 {
			left[moved].From = created.Path
		}
	}
}

// createdAt reports whether an overlay has a file at a path that its base has nowhere.
func createdAt(files []Overlaid, path string) bool {
	one := overlaidAt(files, path)
	return one != nil && one.isNew()
}

// isRename reports whether a file has another path at the base.
func isRename(one Overlaid) bool { return one.From != "" && one.From != one.Path }

// pathsIn returns the paths of two overlays, in the order of their bytes.
func pathsIn(a, b []Overlaid) []string {
	paths := make([]string, 0, len(a)+len(b))
	for _, one := range slices.Concat(a, b) {
		paths = append(paths, one.Path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// fileOver returns the file that an overlay of a changeset shows at a path, or that there is none.
func (p *Project) fileOver(base *Changeset, files []Overlaid, path string) Overlaid {
	if one := overlaidAt(files, path); one != nil {
		return *one
	}
	one := Overlaid{Path: path}
	if before := p.fileStateAt(path, base); before != nil {
		one.From, one.Blob, one.Size = path, before.blob, before.size
		one.Type = before.contentType
	}
	return one
}

// equals reports whether two files have the same contents and type, or neither exists.
func (o *Overlaid) equals(other *Overlaid) bool {
	return o.Blob == other.Blob && o.Type == other.Type
}

// locate returns where an overlay has the file of a path of its base; empty for none.
func locate(files []Overlaid, from string) string {
	if from == "" {
		return ""
	}
	if to := movedTo(files, from); to != "" {
		return to
	}
	if one := overlaidAt(files, from); one != nil && (!one.exists() || one.From != from) {
		return ""
	}
	return from
}
