package work

import (
	"crypto/sha256"
	"slices"

	"pws/internal/logformat"
	"pws/work/merge"
)

// markedBytesMax limits the total size of the texts with conflict markers of a workspace.
const markedBytesMax = 4 << 20

// mergedBytesMax limits the total size of the files that a merge produces, because they go into
// one entry of the log, with the texts above and the events. A file beyond the limit becomes a
// conflict.
const mergedBytesMax = logformat.EntryBytesMax - markedBytesMax - 4<<20

// treeMerge makes a MergePlan.
type treeMerge struct {
	project    *Project
	workspace  *Workspace
	base, head *Changeset
	read       func(Hash) ([]byte, error)
	budget     merge.Budget
	joins      joins
	// moved maps paths of the base to the paths that the project has renamed them to, and connected
	// has the paths on which that depends, see movedFiles.
	moved     map[string]string
	connected map[string][]string
	// openAt are the open conflicts of the workspace by the paths of their files at the base, openNew
	// those of files that the base does not have, by their paths in the workspace.
	openAt, openNew map[string]*Conflict
	items           []mergeItem
	// settled are files of the workspace that the head has too, see settle.
	settled []Overlaid
	// agreed are the paths at which both sides were found to be the same.
	agreed []string
	// leaves are the paths of the head that the workspace deletes or renames.
	leaves map[string]bool
	// results are the items that exist by their paths after the merge.
	results map[string]*mergeItem
	// room is the remaining size for texts with markers, fresh the remaining size for merged
	// files.
	room, fresh int
	plan        *MergePlan
}

// mergeItem is one file that the workspace changed.
type mergeItem struct {
	// ours is the file, nil if the workspace deleted it.
	ours *Overlaid
	// from is the path at the base, empty for a new file; at is the path at the head, empty if the
	// head does not have it.
	from, at string
	// path is the path after the merge.
	path string
	// open is the conflict that the file has from an earlier merge, nil for none. It stays until the
	// author writes, deletes or moves the file.
	open *Conflict
	// displaced means that the file cannot be merged at its path, see displace.
	displaced bool
}

// gather collects the items. A file goes to the path that the workspace gave it, else to the
// path that the project gave it.
func (m *treeMerge) gather() {
	m.findOpen()
	p, files := m.project, m.workspace.Files
	for i := range files {
		one := &files[i]
		// left means that the workspace does not have the file of this base path at any path.
		left := p.fileStateAt(one.Path, m.base) != nil && movedTo(files, one.Path) == ""
		if !one.exists() {
			if left {
				m.add(mergeItem{from: one.Path})
			}
			continue
		}
		item := mergeItem{ours: one, from: originOf(files, one), path: one.Path}
		switch {
		case m.openNew[one.Path] != nil:
			item.from = ""
		case one.From == "" && left:
			item.from = one.Path
		}
		if left && item.from != one.Path {
			m.add(mergeItem{from: one.Path})
		}
		if !m.settle(&item) {
			m.add(item)
		}
	}
	m.place()
	m.displace()
}

// place determines the target path of each file, and the paths that become free. If two files
// have the same target, those that the workspace moved keep the path they have there.
func (m *treeMerge) place() {
	taken := map[string]int{}
	for i := range m.settled {
		taken[m.settled[i].Path]++
	}
	for i := range m.items {
		if item := &m.items[i]; item.ours != nil {
			if item.from == item.path && item.at != "" {
				item.path = item.at
			}
			taken[item.path]++
		}
	}
	// A file that keeps its path can be in the way of another one.
	for kept := true; kept; {
		kept = false
		for i := range m.items {
			item := &m.items[i]
			if item.ours != nil && item.path != item.ours.Path && taken[item.path] > 1 {
				taken[item.path]--
				item.path, kept = item.ours.Path, true
				taken[item.path]++
			}
		}
	}
	for i := range m.items {
		item := &m.items[i]
		if item.ours != nil {
			m.results[item.path] = item
		}
		if item.at != "" && (item.ours == nil || item.at != item.path) {
			m.leaves[item.at] = true
		}
	}
}

func (m *treeMerge) add(item mergeItem) {
	item.at = m.followed(item.from)
	switch {
	case item.from != "":
		item.open = m.openAt[item.from]
	case item.ours != nil:
		item.open = m.openNew[item.ours.Path]
	}
	m.items = append(m.items, item)
}

// followed returns the path at the head of a file of the base, empty if the head does not have it.
func (m *treeMerge) followed(from string) string {
	if to, renamed := m.moved[from]; renamed {
		return to
	}
	if from == "" || m.theirs(from) == nil {
		return ""
	}
	return from
}

// theirs returns the file at a path of the head.
func (m *treeMerge) theirs(path string) *fileState { return m.project.fileStateAt(path, m.head) }

func (m *treeMerge) mergeAll() error {
	files := slices.Clone(m.settled)
	for i := range m.items {
		item := &m.items[i]
		if item.ours == nil {
			if m.disputed(item) {
				if err := m.addConflictAtHead(item); err != nil {
					return err
				}
			}
			continue
		}
		one, err := m.file(item)
		if err != nil {
			return err
		}
		files = append(files, one)
	}
	slices.SortFunc(files, byOverlaidPath)
	for path := range m.leaves {
		if overlaidAt(files, path) == nil {
			files = append(files, Overlaid{Path: path})
			slices.SortFunc(files, byOverlaidPath)
		}
	}
	files = withoutUnchanged(m.project, m.head, files)
	m.folders(files)
	m.plan.files = files
	slices.SortFunc(m.plan.conflicts, byConflictPath)
	slices.Sort(m.plan.Merged)
	m.touch()
	return nil
}

// touch records the paths that the plan depends on.
func (m *treeMerge) touch() {
	touched := make([]string, 0, 4*len(m.items))
	for i := range m.items {
		item := &m.items[i]
		touched = append(touched, item.from, item.at, item.path)
		if item.ours != nil {
			touched = append(touched, item.ours.Path)
		}
	}
	for i := range m.plan.files {
		touched = append(touched, m.plan.files[i].Path)
	}
	touched = m.withConnected(append(touched, m.agreed...))
	slices.Sort(touched)
	m.plan.touched = slices.DeleteFunc(slices.Compact(touched), func(path string) bool {
		return path == ""
	})
}

// withConnected adds the paths that renames connect with some paths.
func (m *treeMerge) withConnected(paths []string) []string {
	if len(m.connected) == 0 {
		return paths
	}
	known := make(map[string]bool, len(paths))
	for _, path := range paths {
		known[path] = true
	}
	for i := 0; i < len(paths); i++ {
		for _, path := range m.connected[paths[i]] {
			if !known[path] {
				known[path] = true
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// folders finds files at paths where the other side has a folder, or the reverse.
func (m *treeMerge) folders(files []Overlaid) {
	for i := range files {
		one := &files[i]
		if !one.exists() || m.hasConflict(one.Path) {
			continue
		}
		if other, found := m.project.conflictOver(m.head, files, one.Path); found {
			c := Conflict{Path: one.Path, Kind: AddedByBoth, Ours: one.Blob}
			if there := m.theirs(other); there != nil {
				c.Theirs = there.blob
			}
			m.plan.conflicts = append(m.plan.conflicts, c)
		}
	}
	// If a path has a conflict, the conflict is reported and the merge is not.
	m.plan.Merged = slices.DeleteFunc(m.plan.Merged, m.hasConflict)
}

func (m *treeMerge) hasConflict(path string) bool {
	return slices.ContainsFunc(m.plan.conflicts, func(c Conflict) bool { return c.Path == path })
}

// ancestor returns the common ancestor of both sides of an item: from the base, or from an
// unresolved conflict of an earlier merge.
func (m *treeMerge) ancestor(item *mergeItem) *fileState {
	if open := item.open; open != nil {
		if open.Base == (Hash{}) {
			return nil
		}
		return &fileState{blob: open.Base, size: open.BaseSize, contentType: open.BaseType}
	}
	if item.from == "" {
		return nil
	}
	return m.project.fileStateAt(item.from, m.base)
}

func sameFileState(a, b *fileState) bool { return a == b || a != nil && b != nil && *a == *b }

func conflictOf(path string, kind ConflictKind, before *fileState) Conflict {
	c := Conflict{Path: path, Kind: kind}
	if before != nil {
		c.Base, c.BaseSize, c.BaseType = before.blob, before.size, before.contentType
	}
	return c
}

// hasRoom reports whether a text with markers is within the limits.
func (m *treeMerge) hasRoom(bytes int) bool { return bytes <= min(m.room, 2*FileBytesMax) }

// addConflict adds a conflict. The marked text is omitted if it exceeds the limits.
func (m *treeMerge) addConflict(c Conflict, marked []byte) {
	if len(marked) > 0 && m.hasRoom(len(marked)) {
		m.room -= len(marked)
		blob := Blob{Hash: sha256.Sum256(marked), Content: marked}
		c.Marked, c.MarkedSize = blob.Hash, len(marked)
		m.plan.Blobs = append(m.plan.Blobs, blob)
	}
	m.plan.conflicts = append(m.plan.conflicts, c)
}

// file merges a file that exists in the workspace.
func (m *treeMerge) file(item *mergeItem) (Overlaid, error) {
	next := *item.ours
	next.Path, next.From = item.path, item.at
	ours := stateOf(item.ours)
	if item.displaced {
		err := m.fileDisplaced(item, &next)
		return next, err
	}
	before := m.ancestor(item)
	switch {
	case item.from == "":
		if item.open != nil {
			c := *item.open
			c.Path, c.Ours = item.path, next.Blob
			m.addConflict(c, nil)
		}
		return next, nil
	case item.at == "":
		c := conflictOf(item.path, DeletedByThem, before)
		c.Ours = next.Blob
		m.addConflict(c, nil)
		return next, nil
	}
	theirs := m.theirs(item.at)
	if renamedApart := item.at != item.from && item.at != item.path; item.open != nil || renamedApart {
		if item.path == item.at && *ours == *theirs {
			return next, nil
		}
		kind := ContentConflict
		if before == nil || item.open != nil && item.open.Kind == AddedByBoth {
			kind = AddedByBoth
		}
		return next, m.addTextConflict(conflictOf(item.path, kind, before), before, ours, theirs)
	}
	merged, clean, err := m.content(before, ours, theirs)
	if err != nil {
		return next, err
	}
	if !clean {
		c := conflictOf(item.path, ContentConflict, before)
		return next, m.addTextConflict(c, before, ours, theirs)
	}
	next.Blob, next.Size, next.Type = merged.blob, merged.size, merged.contentType
	if !sameFileState(before, theirs) || item.at != item.from {
		m.plan.Merged = append(m.plan.Merged, item.path)
	}
	return next, nil
}

func stateOf(one *Overlaid) *fileState {
	return &fileState{blob: one.Blob, size: one.Size, contentType: one.Type}
}

// addTextConflict adds a conflict of two files with the text of both sides.
func (m *treeMerge) addTextConflict(c Conflict, before, ours, theirs *fileState) error {
	c.Ours, c.Theirs = ours.blob, theirs.blob
	merged, err := m.join(before, ours, theirs)
	if err != nil {
		return err
	}
	var marked []byte
	if !merged.Unread && m.hasRoom(merged.Bytes) {
		if marked, err = m.textOf(merged); err != nil {
			return err
		}
	}
	m.addConflict(c, marked)
	return nil
}

// content merges the changes of both sides to a file; clean is false if they contradict each
// other.
func (m *treeMerge) content(
	before, ours, theirs *fileState,
) (merged fileState, clean bool, err error) {
	merged = *ours
	switch {
	case ours.contentType == before.contentType:
		merged.contentType = theirs.contentType
	case theirs.contentType != before.contentType && theirs.contentType != ours.contentType:
		return merged, false, nil
	}
	switch {
	case ours.blob == before.blob:
		merged.blob, merged.size = theirs.blob, theirs.size
		return merged, true, nil
	case theirs.blob == before.blob, theirs.blob == ours.blob:
		return merged, true, nil
	}
	joined, err := m.join(before, ours, theirs)
	if err != nil || joined.Conflicts > 0 || joined.Bytes > min(m.fresh, FileBytesMax) {
		return merged, false, err
	}
	m.fresh -= joined.Bytes
	m.joins.clean = append(m.joins.clean, joined)
	merged.blob, merged.size = joined.Text, joined.Bytes
	return merged, true, nil
}
