package work

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work/path"
)

// WorkspaceMode says how a workspace is published: as a contribution that maintainers decide on,
// or as a changeset of a community project.
type WorkspaceMode uint8

// The modes of a workspace.
const (
	ContributionMode WorkspaceMode = iota + 1
	CommunityMode
)

var workspaceModeNames = [...]string{"", "CONTRIBUTION", "COMMUNITY"}

// String is the name on the wire.
func (m WorkspaceMode) String() string { return workspaceModeNames[m] }

// WorkspaceStatus is the status of a workspace.
type WorkspaceStatus uint8

// The statuses of a workspace. WorkspaceDone is PUBLISHED. WorkspaceDone and WorkspaceClosed are
// final.
const (
	WorkspaceOpen WorkspaceStatus = iota + 1
	WorkspaceSubmitted
	WorkspaceConflict
	WorkspaceDone
	WorkspaceClosed
)

var workspaceStatusNames = [...]string{
	"", "OPEN", "SUBMITTED", "CONFLICT", "PUBLISHED", "CLOSED",
}

// String is the name on the wire.
func (s WorkspaceStatus) String() string { return workspaceStatusNames[s] }

// Final reports whether a workspace of this status accepts no changes.
func (s WorkspaceStatus) Final() bool { return s == WorkspaceDone || s == WorkspaceClosed }

// Workspace is one agent's changes on top of a changeset, before they are published.
type Workspace struct {
	ID     id.ID           `cbor:"1,keyasint"`
	Agent  id.ID           `cbor:"2,keyasint"`
	Mode   WorkspaceMode   `cbor:"3,keyasint"`
	Status WorkspaceStatus `cbor:"4,keyasint"`
	// Base is the changeset that the workspace is based on.
	Base id.ID `cbor:"5,keyasint"`
	// Published is the resulting changeset, zero until the workspace is published.
	Published    id.ID `cbor:"6,keyasint,omitzero"`
	Contribution id.ID `cbor:"7,keyasint,omitzero"`
	// Revision grows with every change.
	Revision uint64 `cbor:"8,keyasint"`
	// Files are the paths that differ from the base, in the order of their bytes.
	Files []Overlaid `cbor:"9,keyasint,omitempty"`
	// Conflicts are in the order of their paths' bytes.
	Conflicts []Conflict `cbor:"10,keyasint,omitempty"`
	// CreatedAt and UpdatedAt are Unix milliseconds.
	CreatedAt int64 `cbor:"11,keyasint"`
	UpdatedAt int64 `cbor:"12,keyasint"`
}

// Overlaid is the result of a workspace's changes at one path: a file, or no file.
type Overlaid struct {
	Path string `cbor:"1,keyasint"`
	// From is the path of the file at the base, empty for a file that was created in the workspace.
	From string `cbor:"2,keyasint,omitempty"`
	// Blob is zero if there is no file.
	Blob Hash   `cbor:"3,keyasint,omitzero"`
	Size int    `cbor:"4,keyasint,omitempty"`
	Type string `cbor:"5,keyasint,omitempty"`
	// At is when it was written, Unix milliseconds.
	At int64 `cbor:"6,keyasint,omitempty"`
}

func (o *Overlaid) exists() bool { return o.Blob != Hash{} }

// isNew reports whether it is a file that the base has nowhere.
func (o *Overlaid) isNew() bool { return o.exists() && o.From == "" }

func (o *Overlaid) is(other *fileState) bool {
	return other != nil && o.Blob == other.blob && o.Type == other.contentType
}

// ConflictKind says how two changes of a file contradict each other.
type ConflictKind uint8

// The kinds of conflicts; "us" is the workspace.
const (
	ContentConflict ConflictKind = iota + 1
	DeletedByThem
	DeletedByUs
	AddedByBoth
)

var conflictKindNames = [...]string{
	"", "CONTENT", "DELETED_BY_THEM", "DELETED_BY_US", "ADDED_BY_BOTH",
}

// String is the name on the wire.
func (k ConflictKind) String() string { return conflictKindNames[k] }

// Conflict is a file that was changed in the workspace and in the project in contradictory ways.
// Hashes are zero if there is no file.
type Conflict struct {
	Path   string       `cbor:"1,keyasint"`
	Kind   ConflictKind `cbor:"2,keyasint"`
	Base   Hash         `cbor:"3,keyasint,omitzero"`
	Ours   Hash         `cbor:"4,keyasint,omitzero"`
	Theirs Hash         `cbor:"5,keyasint,omitzero"`
	// Marked is the text of both sides between conflict markers; zero if there is none, or if it
	// would be too long.
	Marked Hash `cbor:"6,keyasint,omitzero"`
	// BaseType is the media type at the base. The sizes are those of base, ours and the marked text.
	BaseType   string `cbor:"7,keyasint,omitempty"`
	BaseSize   int    `cbor:"8,keyasint,omitempty"`
	MarkedSize int    `cbor:"9,keyasint,omitempty"`
}

func (w *Workspace) ident() id.ID { return w.ID }

// sound reports whether a saved workspace is valid.
func (w *Workspace) sound() bool {
	return w != nil && w.Mode >= ContributionMode && w.Mode <= CommunityMode &&
		w.Status >= WorkspaceOpen && w.Status <= WorkspaceClosed &&
		slices.IsSortedFunc(w.Files, byOverlaidPath) &&
		!slices.ContainsFunc(w.Conflicts, func(c Conflict) bool {
			return c.Kind < ContentConflict || c.Kind > AddedByBoth
		})
}

func byOverlaidPath(a, b Overlaid) int { return cmp.Compare(a.Path, b.Path) }

func byConflictPath(a, b Conflict) int { return cmp.Compare(a.Path, b.Path) }

// file returns the changed file at a path, nil if it is unchanged from the base.
func (w *Workspace) file(path string) *Overlaid { return overlaidAt(w.Files, path) }

func overlaidAt(files []Overlaid, path string) *Overlaid {
	at, found := slices.BinarySearchFunc(files, Overlaid{Path: path}, byOverlaidPath)
	if !found {
		return nil
	}
	return &files[at]
}

func (w *Workspace) conflict(path string) *Conflict {
	at, found := slices.BinarySearchFunc(w.Conflicts, Conflict{Path: path}, byConflictPath)
	if !found {
		return nil
	}
	return &w.Conflicts[at]
}

// reopenIfResolved reopens a workspace whose contribution came into conflict when no conflict is
// left.
func (w *Workspace) reopenIfResolved() {
	if w.Status == WorkspaceConflict && len(w.Conflicts) == 0 {
		w.Status = WorkspaceOpen
	}
}

// Contents yields the contents that the workspace itself names, with their sizes.
func (w *Workspace) Contents(yield func(path string, blob Hash, size int)) {
	for i := range w.Files {
		if one := &w.Files[i]; one.exists() {
			yield(one.Path, one.Blob, one.Size)
		}
	}
	for i := range w.Conflicts {
		if one := &w.Conflicts[i]; one.Marked != (Hash{}) {
			yield(one.Path, one.Marked, one.MarkedSize)
		}
	}
}

// WorkspaceConflicts returns the conflicts of a workspace, or those of its contribution if the
// workspace was not refreshed since.
func (p *Project) WorkspaceConflicts(w *Workspace) []Conflict {
	if c, ok := p.Contribution(w.Contribution); ok && w.Status == WorkspaceConflict &&
		len(w.Conflicts) == 0 {
		return c.Conflicts
	}
	return w.Conflicts
}

// Workspace finds a workspace by ID.
func (p *Project) Workspace(wanted id.ID) (*Workspace, bool) { return p.workspaces.get(wanted) }

// Workspaces yields all workspaces, the oldest first.
func (p *Project) Workspaces(yield func(*Workspace) bool) {
	for nth := range p.workspaces.len() {
		if !yield(p.workspaces.at(nth)) {
			return
		}
	}
}

// tree returns the changeset that a workspace is based on.
func (p *Project) tree(w *Workspace) *Changeset {
	on := w.Base
	if !w.Published.IsZero() {
		on = w.Published
	}
	changeset, _ := p.Changeset(on)
	return changeset
}

// WorkspaceFile is a file in a workspace. If the workspace changed the file, Updated is zero; if
// the workspace created it, Created is zero too.
type WorkspaceFile struct {
	FileInfo
	// ChangedAt is when the workspace changed it, in Unix milliseconds; zero if it did not.
	ChangedAt int64
}

// WorkspaceFile returns the file at a path of a workspace.
func (p *Project) WorkspaceFile(w *Workspace, path string) (WorkspaceFile, bool) {
	base := p.tree(w)
	if one := w.file(path); one != nil {
		return p.overlaid(base, one), one.exists()
	}
	info, exists := p.FileAt(path, base)
	return WorkspaceFile{FileInfo: info}, exists
}

func (p *Project) overlaid(base *Changeset, one *Overlaid) WorkspaceFile {
	file := WorkspaceFile{ChangedAt: one.At, FileInfo: FileInfo{
		Path: one.Path, Blob: one.Blob, Size: one.Size, ContentType: one.Type,
		Language: path.LanguageOf(one.Path),
	}}
	if before, existed := p.FileAt(one.From, base); existed && one.From != "" {
		file.Created = before.Created
	}
	return file
}

// WorkspaceFiles yields the files of a workspace in the order of their path bytes, starting at a
// path.
func (p *Project) WorkspaceFiles(w *Workspace, from string, yield func(WorkspaceFile) bool) {
	p.filesOver(p.tree(w), w.Files, from, "", yield)
}

// filesOver yields the files of a changeset combined with those of an overlay. Files of the
// changeset whose paths do not begin with the prefix may be left out.
func (p *Project) filesOver(
	base *Changeset, files []Overlaid, from, prefix string, yield func(WorkspaceFile) bool,
) {
	next, _ := slices.BinarySearchFunc(files, Overlaid{Path: from}, byOverlaidPath)
	goOn := true
	before := func(path string) {
		for ; goOn && next < len(files) && (path == "" || files[next].Path < path); next++ {
			if one := &files[next]; one.exists() {
				goOn = yield(p.overlaid(base, one))
			}
		}
	}
	p.versionsAt(base, from, prefix, func(f *File, v version) bool {
		info := p.info(f, v)
		before(info.Path)
		if goOn && next < len(files) && files[next].Path == info.Path {
			return goOn
		}
		goOn = goOn && yield(WorkspaceFile{FileInfo: info})
		return goOn
	})
	before("")
}

// OpenWorkspace opens a workspace on the head.
type OpenWorkspace struct{}

// Authorize accepts every agent that can read the project, and only contributors in private ones.
func (c *OpenWorkspace) Authorize(p *Project, agent id.ID) error {
	return MayContribute.Require(p, agent)
}

// Decide returns PROJECT_ARCHIVED, PROJECT_IS_COMMUNITY, QUOTA_EXCEEDED.
func (c *OpenWorkspace) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	if p.Kind == Community {
		return Decision{}, fault.New(fault.ProjectIsCommunity,
			"A community project accepts changes only during a turn. Take a turn first.")
	}
	if err := p.requireWorkspaceQuota(stamp); err != nil {
		return Decision{}, err
	}
	opened := openedOn(p, ContributionMode, stamp)
	return Decision{
		Events: append(p.expiredWorkspaces(stamp.Now), opened),
		Result: Result{Created: true, Subject: opened.ID},
	}, nil
}

// openedOn returns the event of a new workspace on the head.
func openedOn(p *Project, mode WorkspaceMode, stamp Stamp) *WorkspaceOpened {
	return &WorkspaceOpened{
		ID: p.workspaces.next(stamp.ID(1)), Mode: mode, Base: p.Head().ID,
	}
}

// WorkspaceOpened is the event of a new workspace.
type WorkspaceOpened struct {
	ID   id.ID         `cbor:"1,keyasint"`
	Mode WorkspaceMode `cbor:"2,keyasint"`
	Base id.ID         `cbor:"3,keyasint"`
}

func (e *WorkspaceOpened) apply(p *Project, at Moment) {
	opened := &Workspace{
		ID: e.ID, Agent: at.Agent, Mode: e.Mode, Status: WorkspaceOpen, Base: e.Base, Revision: 1,
		CreatedAt: at.Now, UpdatedAt: at.Now,
	}
	p.putWorkspace(opened)
	p.countOpened(opened)
}

func (p *Project) countOpened(w *Workspace) {
	p.countToday(w.Agent, w.CreatedAt, func(u *usage) { u.workspaces++ })
}

// putWorkspace stores a new workspace, or a new version of one.
func (p *Project) putWorkspace(next *Workspace) {
	old, existed := p.workspaces.put(next, p.Revision+1)
	p.overlayFiles += len(next.Files)
	if existed {
		p.overlayFiles -= len(old.Files)
	}
	was := existed && !old.Status.Final()
	switch is := !next.Status.Final(); {
	case is && !was:
		p.openWorkspaces = append(slices.Clip(p.openWorkspaces), next.ID)
	case was && !is:
		kept := slices.Clone(p.openWorkspaces)
		at := slices.Index(kept, next.ID)
		p.openWorkspaces = slices.Delete(kept, at, at+1)
	}
}

// changeWorkspace stores a new version of the workspace that an event names.
func (p *Project) changeWorkspace(named id.ID, at Moment, change func(next *Workspace)) {
	old, _ := p.Workspace(named)
	next := *old
	next.Revision++
	next.UpdatedAt = max(next.UpdatedAt, at.Now)
	change(&next)
	p.putWorkspace(&next)
}

// authorOf accepts the author of a workspace while it may work in the project:
// WORKSPACE_NOT_FOUND, FORBIDDEN, ROLE_REQUIRED.
func authorOf(p *Project, workspace, agent id.ID) error {
	if err := readableOr(p, agent, errWorkspaceNotFound()); err != nil {
		return err
	}
	w, ok := p.Workspace(workspace)
	if !ok {
		return errWorkspaceNotFound()
	}
	if w.Agent != agent {
		return fault.New(fault.Forbidden, "The workspace belongs to another agent.")
	}
	return MayContribute.Require(p, agent)
}

func errWorkspaceNotFound() error {
	return fault.New(fault.WorkspaceNotFound, "There is no such workspace.")
}

// AuthorizeWorkspace accepts the agents that may read a workspace: its author, maintainers and
// owners. It returns the workspace as of a time: WORKSPACE_NOT_FOUND, ROLE_REQUIRED.
func (p *Project) AuthorizeWorkspace(wanted, agent id.ID, now int64) (*Workspace, error) {
	if err := readableOr(p, agent, errWorkspaceNotFound()); err != nil {
		return nil, err
	}
	w, ok := p.WorkspaceAt(wanted, now)
	if !ok {
		return nil, errWorkspaceNotFound()
	}
	if w.Agent != agent {
		return w, MayReadWorkspaces.Require(p, agent)
	}
	return w, nil
}

// requireChangeable returns a workspace that its author can change now: PROJECT_ARCHIVED,
// WORKSPACE_CLOSED, TURN_LOST.
func requireChangeable(p *Project, workspace id.ID, stamp Stamp) (*Workspace, error) {
	if err := requireActive(p); err != nil {
		return nil, err
	}
	w, ok := p.WorkspaceAt(workspace, stamp.Now)
	if !ok {
		return nil, errWorkspaceNotFound()
	}
	if w.Status.Final() {
		return nil, fault.New(fault.WorkspaceClosed, "The workspace is closed.").
			With("status", w.Status.String())
	}
	if w.Mode == CommunityMode {
		if turn, held := p.Turn(stamp.Now); !held || turn.Workspace != w.ID {
			return nil, errTurnLost()
		}
	}
	return w, nil
}

func (p *Project) restoreWorkspaces(head *headRecord, chunk func(Chunk) ([]byte, error)) error {
	var misplaced error
	err := p.workspaces.restore(WorkspaceChunk, head.Workspaces, chunk, func(one *Workspace) {
		if !p.HasChangeset(one.Base) {
			misplaced = fmt.Errorf("workspace %s: its base is not a changeset of the project",
				one.ID.Format(id.Workspace))
		}
		p.countOpened(one)
		p.overlayFiles += len(one.Files)
		if !one.Status.Final() {
			p.openWorkspaces = append(p.openWorkspaces, one.ID)
		}
	})
	if err != nil || misplaced != nil {
		return errors.Join(err, misplaced)
	}
	if p.saved.Turn != nil {
		if w, known := p.Workspace(p.saved.Turn.Workspace); !known || w.Status.Final() {
			return errors.New("project head: a turn without a workspace")
		}
	}
	return nil
}
