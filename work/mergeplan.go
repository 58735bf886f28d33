package work

import (
	"errors"
	"slices"
	"strings"

	"pws/internal/id"
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
		for i := range changeset.Ops {
			op := &changeset.Ops[i]
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
	for i := range len(path) {
		if _, found := slices.BinarySearch(m.touched, path[:i]); found && path[i] == '/' {
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

// WorkspaceRefreshed is the event of a workspace whose base, files and conflicts are replaced
// together:
//
//   - by a merge with the head (MergePlan);
//   - by a refresh of one that has nothing to merge, to open it again AFTER its contribution came
//     into conflict (RefreshWorkspace);
//   - where one of its revisions was accepted (rebased);
//   - by a folder that moved with files that keep their conflicts. The base is then as it was.
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
		leaves: map[string]bool{}, results: map[string]*mergeItem{},
		room: markedBytesMax, fresh: mergedBytesMax, joins: joins,
		plan: &MergePlan{workspace: w.ID, revision: w.Revision, head: p.Head().ID},
	}
	m.moved, m.connected = p.movedFiles(base, m.head)
	m.gather()
	if err := m.mergeAll(); err != nil {
		return nil, err
	}
	return m.plan, m.bring()
}
