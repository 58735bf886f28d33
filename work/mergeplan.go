package work

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"pws/internal/id"
	"pws/work/merge"
)

// MergePlan merges a workspace with a head of its project. It is made outside of the project's
// mailbox, because that requires reading contents; a command carries it. It is valid for one
// revision of the workspace and one head.
type MergePlan struct {
	// Merged are the files that both sides changed and that were merged without a conflict, in
	// the order of their paths.
	Merged []string
	// Blobs are the contents that the merge has produced.
	Blobs []Blob
	// Last makes the workspace use the head of the plan as its new base even if the project has
	// changed the same files since.
	Last bool

	workspace id.ID
	revision  uint64
	head      id.ID
	files     []Overlaid
	conflicts []Conflict
	// touched are the paths that the merge has read, in the order of their bytes.
	touched []string
}

// errStale means that the plan was made for another head or another revision. It never reaches
// the caller.
var errStale = errors.New("the merge was planned on another state of the project")

// Stale reports whether an error means that the command needs a new plan.
func Stale(err error) bool { return errors.Is(err, errStale) }

// fits reports whether the plan is valid for the current head: it was made for that head, or no
// later changeset touched its files.
func (m *MergePlan) fits(p *Project, w *Workspace) bool {
	if !m.of(w) {
		return false
	}
	planned, known := p.history.find(m.head)
	if !known {
		return false
	}
	for changeset := range p.Changesets(planned, uint32(p.history.len()), true) {
		for at := range changeset.Ops {
			op := &changeset.Ops[at]
			if m.concerns(*op.Path) || op.From != nil && m.concerns(*op.From) {
				return false
			}
		}
	}
	return true
}

// of reports whether the plan was made for this revision of the workspace.
func (m *MergePlan) of(w *Workspace) bool {
	return m != nil && m.workspace == w.ID && m.revision == w.Revision
}

// concerns reports whether a path is one that the plan has read, a folder of one, or below one.
func (m *MergePlan) concerns(path string) bool {
	for at := range len(path) {
		if _, found := slices.BinarySearch(m.touched, path[:at]); found && path[at] == '/' {
			return true
		}
	}
	at, found := slices.BinarySearch(m.touched, path)
	if found {
		return true
	}
	below, _ := slices.BinarySearch(m.touched[at:], path+"/")
	return at+below < len(m.touched) && strings.HasPrefix(m.touched[at+below], path+"/")
}

// decide returns the event that merges a workspace with the head, nil if the head is its base.
// It returns an error that is Stale if the plan does not fit.
func (m *MergePlan) decide(p *Project, w *Workspace) (Decision, error) {
	onto := p.Head().ID
	if w.Base == onto {
		return Decision{}, nil
	}
	if !m.of(w) {
		return Decision{}, errStale
	}
	if !m.fits(p, w) {
		if !m.Last {
			return Decision{}, errStale
		}
		onto = m.head
	}
	return Decision{
		Events: []Event{&WorkspaceRefreshed{
			Workspace: w.ID, Base: onto, Files: m.files, Conflicts: m.conflicts,
		}},
		Blobs: m.Blobs,
	}, nil
}

// RefreshWorkspace merges a workspace with the head.
type RefreshWorkspace struct {
	Workspace id.ID
	// Plan is nil if there is nothing to merge.
	Plan *MergePlan
}

// Authorize accepts the author.
func (c *RefreshWorkspace) Authorize(p *Project, agent id.ID) error {
	return authorOf(p, c.Workspace, agent)
}

// Decide returns PROJECT_ARCHIVED, WORKSPACE_CLOSED, TURN_LOST, and an error that is Stale if
// another plan is needed.
func (c *RefreshWorkspace) Decide(p *Project, stamp Stamp) (Decision, error) {
	w, err := requireChangeable(p, c.Workspace, stamp)
	if err != nil {
		return Decision{}, err
	}
	decision, err := c.Plan.decide(p, w)
	if w.Base == p.Head().ID && w.Status == WorkspaceConflict && len(w.Conflicts) == 0 {
		// The workspace was refreshed before its contribution came into conflict.
		decision.Events = []Event{&WorkspaceRefreshed{
			Workspace: w.ID, Base: w.Base, Files: w.Files,
		}}
	}
	if err == nil && len(decision.Events) > 0 {
		decision.Events = p.renewed(w, stamp, decision.Events)
	}
	decision.Result.Subject = w.ID
	return decision, err
}

// WorkspaceRefreshed is the event of a workspace that was moved to another base.
type WorkspaceRefreshed struct {
	Workspace id.ID      `cbor:"1,keyasint"`
	Base      id.ID      `cbor:"2,keyasint"`
	Files     []Overlaid `cbor:"3,keyasint,omitempty"`
	Conflicts []Conflict `cbor:"4,keyasint,omitempty"`
}

func (e *WorkspaceRefreshed) apply(p *Project, at Moment) {
	p.changeWorkspace(e.Workspace, at, func(next *Workspace) {
		next.Base, next.Files, next.Conflicts = e.Base, e.Files, e.Conflicts
		next.reopenIfResolved()
	})
}

// PlanMerge merges a workspace with the changes published since its base: file by file,
// following renames of either side, and then line by line. Contradictory changes become a
// conflict; the file stays as in the workspace. It returns nil if the workspace is based on the
// head. It returns an error only if read, which returns contents, does. Known may be nil.
func (p *Project) PlanMerge(
	w *Workspace, read func(Hash) ([]byte, error), known KnownMerges,
) (*MergePlan, error) {
	return p.planMerge(w, read, joins{known: known})
}

// PlanPublication is PlanMerge for a command that is refused if there is a conflict: the plan then
// lacks the contents that only the merged files need.
func (p *Project) PlanPublication(
	w *Workspace, read func(Hash) ([]byte, error), known KnownMerges,
) (*MergePlan, error) {
	return p.planMerge(w, read, joins{known: known, refused: true})
}

func (p *Project) planMerge(
	w *Workspace, read func(Hash) ([]byte, error), joins joins,
) (*MergePlan, error) {
	base, exists := p.Changeset(w.Base)
	if head := p.Head(); !exists || head == base {
		return nil, nil
	}
	m := &treeMerge{
		project: p, workspace: w, base: base, head: p.Head(), read: read,
		moved: map[string]string{}, leaves: map[string]bool{},
		room: markedBytesMax, fresh: mergedBytesMax, joins: joins,
		plan: &MergePlan{workspace: w.ID, revision: w.Revision, head: p.Head().ID},
	}
	for _, change := range p.Changes(base, m.head) {
		if change.Action == Rename {
			m.moved[change.From] = change.Path
		}
	}
	m.gather()
	if err := m.mergeAll(); err != nil {
		return nil, err
	}
	return m.plan, m.bring()
}

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
	for at := range m.items {
		item := &m.items[at]
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
