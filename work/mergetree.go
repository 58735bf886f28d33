package work

import (
	"crypto/sha256"
	"slices"

	"pws/work/merge"
)

// markedBytesMax limits the total size of the texts with conflict markers of a workspace.
const markedBytesMax = 4 << 20

// mergedBytesMax limits the total size of the files that a merge produces, because they go into
// one entry of the log. A file beyond the limit becomes a conflict.
const mergedBytesMax = 48 << 20

// treeMerge makes a MergePlan.
type treeMerge struct {
	project    *Project
	workspace  *Workspace
	base, head *Changeset
	read       func(Hash) ([]byte, error)
	budget     merge.Budget
	joins      joins
	// moved maps paths of the base to the paths that the project has renamed them to.
	moved map[string]string
	items []mergeItem
	// settled are files of the workspace that the head has too, see settle.
	settled []Overlaid
	// agreed are the paths at which both sides were found to be the same.
	agreed []string
	// leaves are the paths of the head that the workspace deletes or renames.
	leaves map[string]bool
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
}

// gather collects the items. A file goes to the path that the workspace gave it, else to the
// path that the project gave it.
func (m *treeMerge) gather() {
	p, files := m.project, m.workspace.Files
	for at := range files {
		one := &files[at]
		// left means that the workspace does not have the file of this base path at any path.
		left := p.fileStateAt(one.Path, m.base) != nil && movedTo(files, one.Path) == ""
		item := mergeItem{ours: one, from: one.From, path: one.Path}
		switch {
		case !one.exists():
			if left {
				m.addDeletion(one.Path)
			}
			continue
		case one.From == one.Path:
		case one.From == "":
			if left {
				item.from = one.Path
			}
		default:
			if overlaidAt(files, one.From) == nil {
				// The workspace still has the source as at the base, so this is a new file.
				item.from = ""
			}
			if left {
				m.addDeletion(one.Path)
			}
		}
		if !m.settle(&item) {
			m.add(item)
		}
	}
	m.place()
}

// place determines the target path of each file, and the paths that become free. If two files
// have the same target, those that the workspace moved keep the path they have there.
func (m *treeMerge) place() {
	taken := map[string]int{}
	for at := range m.settled {
		taken[m.settled[at].Path]++
	}
	for at := range m.items {
		if item := &m.items[at]; item.ours != nil {
			if item.from == item.path && item.at != "" {
				item.path = item.at
			}
			taken[item.path]++
		}
	}
	for at := range m.items {
		item := &m.items[at]
		if item.ours != nil && taken[item.path] > 1 {
			item.path = item.ours.Path
		}
		if item.at != "" && (item.ours == nil || item.at != item.path) {
			m.leaves[item.at] = true
		}
	}
}

func (m *treeMerge) add(item mergeItem) {
	item.at = m.followed(item.from)
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

// occupant returns another file of the head at the target path of an item, nil if there is none
// or if it moves away.
func (m *treeMerge) occupant(item *mergeItem) *fileState {
	if item.path == item.at || m.leaves[item.path] {
		return nil
	}
	return m.theirs(item.path)
}

func (m *treeMerge) mergeAll() error {
	files := slices.Clone(m.settled)
	for _, item := range m.displacedFirst() {
		if item.ours == nil {
			if err := m.deletion(item); err != nil {
				return err
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

// displacedFirst returns the items in the order in which they are merged. A path has one conflict.
// A file that cannot be merged at the path that the workspace gave it has its conflict at its path
// at the head. The file that the workspace has put there can use its own path at the head instead.
func (m *treeMerge) displacedFirst() []*mergeItem {
	var displaced, others []*mergeItem
	for at := range m.items {
		item := &m.items[at]
		if item.ours == nil || m.occupant(item) != nil {
			displaced = append(displaced, item)
		} else {
			others = append(others, item)
		}
	}
	return append(displaced, others...)
}

// touch records the paths that the plan depends on.
func (m *treeMerge) touch() {
	touched := make([]string, 0, 4*len(m.items))
	for at := range m.items {
		item := &m.items[at]
		touched = append(touched, item.from, item.at, item.path)
		if item.ours != nil {
			touched = append(touched, item.ours.Path)
		}
	}
	for at := range m.plan.files {
		touched = append(touched, m.plan.files[at].Path)
	}
	touched = append(touched, m.agreed...)
	slices.Sort(touched)
	m.plan.touched = slices.DeleteFunc(slices.Compact(touched), func(path string) bool {
		return path == ""
	})
}

// folders finds files at paths where the other side has a folder, or the reverse.
func (m *treeMerge) folders(files []Overlaid) {
	for at := range files {
		one := &files[at]
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

// known returns the conflict that the workspace already had at a path, nil for none. It stays
// until the file is written.
func (m *treeMerge) known(path string) *Conflict { return m.workspace.conflict(path) }

// ancestor returns the common ancestor of both sides of an item: from the base, or from an
// unresolved conflict of an earlier merge.
func (m *treeMerge) ancestor(item *mergeItem, path string) *fileState {
	if known := m.known(path); known != nil {
		if known.Base == (Hash{}) {
			return nil
		}
		return &fileState{blob: known.Base, size: known.BaseSize, contentType: known.BaseType}
	}
	if item.from == "" {
		return nil
	}
	return m.project.fileStateAt(item.from, m.base)
}

// deletion merges the deletion or move of a file from its path. If the project changed or moved
// the file too, or if the workspace has put another file there, this is a conflict.
func (m *treeMerge) deletion(item *mergeItem) error {
	if item.at == "" {
		return nil
	}
	before, theirs := m.ancestor(item, item.from), m.theirs(item.at)
	if m.known(item.from) == nil && item.at == item.from && sameFileState(before, theirs) {
		return nil
	}
	if one := m.workspace.file(item.at); one != nil && one.exists() {
		ours := fileState{blob: one.Blob, size: one.Size, contentType: one.Type}
		return m.addTextConflict(conflictOf(item.at, AddedByBoth, nil), nil, &ours, theirs)
	}
	c := conflictOf(item.at, DeletedByUs, before)
	c.Theirs = theirs.blob
	m.addConflict(c, nil)
	return nil
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

// addConflict adds a conflict, unless its path already has one. The marked text is omitted if it
// exceeds the limits.
func (m *treeMerge) addConflict(c Conflict, marked []byte) {
	if m.hasConflict(c.Path) {
		return
	}
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
	ours := fileState{blob: next.Blob, size: next.Size, contentType: next.Type}
	known, before := m.known(item.ours.Path), m.ancestor(item, item.ours.Path)
	occupant := m.occupant(item)
	switch {
	case occupant != nil:
		if item.from == "" && next.is(occupant) && known == nil {
			next.From = next.Path
			return next, nil
		}
		if item.at == "" {
			next.From = next.Path
		}
		// The changes of the project to the original file cannot be merged into this one.
		if err := m.deletion(item); err != nil {
			return next, err
		}
		if known == nil {
			// The ancestor of this file is not an ancestor of the occupant.
			before = nil
		}
		return next, m.addContentConflict(item, AddedByBoth, before, &ours, occupant)
	case item.from == "" && known != nil:
		c := *known
		c.Path, c.Ours = item.path, next.Blob
		m.addConflict(c, nil)
		return next, nil
	case item.from == "":
		return next, nil
	case item.at == "":
		c := conflictOf(item.path, DeletedByThem, before)
		c.Ours = next.Blob
		m.addConflict(c, nil)
		return next, nil
	}
	theirs := m.theirs(item.at)
	if known != nil && before == nil {
		return next, m.recheckConflict(item, AddedByBoth, before, &ours, theirs)
	}
	if renamedApart := item.at != item.from && item.at != item.path; known != nil || renamedApart {
		return next, m.recheckConflict(item, ContentConflict, before, &ours, theirs)
	}
	merged, clean, err := m.content(before, &ours, theirs)
	if err != nil || !clean {
		if err == nil {
			err = m.addContentConflict(item, ContentConflict, before, &ours, theirs)
		}
		return next, err
	}
	next.Blob, next.Size, next.Type = merged.blob, merged.size, merged.contentType
	if !sameFileState(before, theirs) || item.at != item.from {
		m.plan.Merged = append(m.plan.Merged, item.path)
	}
	return next, nil
}

// recheckConflict is addContentConflict, unless both sides agree now.
func (m *treeMerge) recheckConflict(
	item *mergeItem, kind ConflictKind, before, ours, theirs *fileState,
) error {
	if item.path == item.at && *ours == *theirs {
		return nil
	}
	return m.addContentConflict(item, kind, before, ours, theirs)
}

// addContentConflict adds a conflict of contents with the text of both sides. If the path in the
// workspace already has a conflict, the path at the head is used.
func (m *treeMerge) addContentConflict(
	item *mergeItem, kind ConflictKind, before, ours, theirs *fileState,
) error {
	if m.hasConflict(item.path) {
		return m.deletion(item)
	}
	return m.addTextConflict(conflictOf(item.path, kind, before), before, ours, theirs)
}

// addTextConflict adds a conflict of two files with the text of both sides.
func (m *treeMerge) addTextConflict(c Conflict, before, ours, theirs *fileState) error {
	c.Ours, c.Theirs = ours.blob, theirs.blob
	merged, err := m.join(before, ours, theirs)
	if err != nil {
		return err
	}
	var marked []byte
	if !merged.Unread && m.hasRoom(merged.Bytes) && !m.hasConflict(c.Path) {
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
