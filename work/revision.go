package work

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// Revision holds the changes of a workspace at the time when it was submitted. It never changes,
// whatever happens to the workspace, until the contribution is deleted.
type Revision struct {
	ID           id.ID `cbor:"1,keyasint"`
	Contribution id.ID `cbor:"2,keyasint"`
	// Number counts from 1 within the contribution.
	Number  int    `cbor:"3,keyasint"`
	Base    id.ID  `cbor:"4,keyasint"`
	Summary string `cbor:"5,keyasint"`
	// Files are the paths that differ from the base, in the order of their bytes.
	Files []Overlaid `cbor:"6,keyasint,omitempty"`
	// CreatedAt is Unix milliseconds.
	CreatedAt int64 `cbor:"7,keyasint"`
}

func (r *Revision) ident() id.ID { return r.ID }

// sound reports whether a saved revision is valid.
func (r *Revision) sound() bool {
	return r != nil && r.Number > 0 && slices.IsSortedFunc(r.Files, byOverlaidPath)
}

// shows reports whether a workspace has the files of a revision, on the same base.
func (r *Revision) shows(w *Workspace) bool {
	return r.Base == w.Base && sameOverlay(r.Files, w.Files)
}

func sameOverlay(a, b []Overlaid) bool {
	return slices.EqualFunc(a, b, func(one, other Overlaid) bool { return one.same(&other) })
}

// workspace returns a revision in the form that a merge accepts.
func (r *Revision) workspace() *Workspace {
	return &Workspace{ID: r.ID, Base: r.Base, Files: r.Files}
}

// Contents yields the contents that the revision names, with their sizes.
func (r *Revision) Contents(yield func(path string, blob Hash, size int)) {
	r.workspace().Contents(yield)
}

// RevisionsOf returns the revisions of a contribution, the oldest first.
func (p *Project) RevisionsOf(c *Contribution) []*Revision {
	list := make([]*Revision, len(c.Revisions))
	for i, one := range c.Revisions {
		list[i], _ = p.revisions.get(one)
	}
	return list
}

// RevisionOf finds a revision of a contribution.
func (p *Project) RevisionOf(c *Contribution, wanted id.ID) (*Revision, bool) {
	if !slices.Contains(c.Revisions, wanted) {
		return nil, false
	}
	return p.revisions.get(wanted)
}

// CurrentRevision returns the newest revision of a contribution.
func (p *Project) CurrentRevision(c *Contribution) *Revision {
	current, _ := p.revisions.get(c.Current())
	return current
}

// requireCurrent returns the revision that a caller names, which must be the newest one:
// REVISION_NOT_FOUND, REVISION_SUPERSEDED.
func (p *Project) requireCurrent(c *Contribution, wanted id.ID) (*Revision, error) {
	revision, ok := p.RevisionOf(c, wanted)
	if !ok {
		return nil, errRevisionNotFound()
	}
	if current := p.CurrentRevision(c); current != revision {
		return nil, fault.New(fault.RevisionSuperseded, "A newer revision has replaced this one.").
			With("current_revision", current.Number).
			With("current_revision_id", current.ID.Format(id.Revision))
	}
	return revision, nil
}

func errRevisionNotFound() error {
	return fault.New(fault.RevisionNotFound, "The contribution has no such revision.")
}

// RevisionOperation is one operation of a submitted revision.
type RevisionOperation struct {
	OpRecord
	// Before is the content that the operation replaces or moves, zero if there is none;
	// BeforeSize is its size.
	Before     Hash
	BeforeSize int
}

// RevisionOperations returns the operations of a revision, in an order in which they can be
// published.
func (p *Project) RevisionOperations(r *Revision) []RevisionOperation {
	return p.overlayOperations(r.Base, r.Files)
}

// overlayOperations returns the operations of an overlay on a changeset.
func (p *Project) overlayOperations(on id.ID, files []Overlaid) []RevisionOperation {
	base, _ := p.Changeset(on)
	ops := p.netOperations(base, files)
	list := make([]RevisionOperation, len(ops))
	for i := range ops {
		list[i].OpRecord = ops[i]
		from := ops[i].Path
		if ops[i].Action == Rename {
			from = ops[i].From
		}
		if before := p.fileStateAt(from, base); before != nil && ops[i].Action != Create {
			list[i].Before, list[i].BeforeSize = before.blob, before.size
		}
	}
	return list
}

// RevisionChanges returns the net differences of a revision from its base, in the order of the
// paths' bytes. As in Changes, a change of the media type alone is not a change.
func (p *Project) RevisionChanges(r *Revision) []Change { return p.overlayChanges(r.Base, r.Files) }

// WorkspaceDiff returns the net differences of a workspace from its base as RevisionChanges does,
// or the changes of its changeset if it was published.
func (p *Project) WorkspaceDiff(w *Workspace) []Change {
	if published, done := p.Changeset(w.Published); done {
		return p.Changes(p.Parent(published), published)
	}
	return p.overlayChanges(w.Base, w.Files)
}

func (p *Project) overlayChanges(on id.ID, files []Overlaid) (changes []Change) {
	for _, op := range p.overlayOperations(on, files) {
		change := Change{Action: op.Action, Path: op.Path, From: op.From}
		if op.Before != (Hash{}) {
			change.Old, change.OldSize = &op.Before, op.BeforeSize
		}
		if op.Action != Delete {
			change.New, change.NewSize = &op.Blob, op.Size
		}
		if op.Action != Modify || op.Before != op.Blob {
			changes = append(changes, change)
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return changes
}

// touches reports whether a revision writes, deletes or renames the file at a path.
func (r *Revision) touches(path string) bool { return overlaidAt(r.Files, path) != nil }

// PlanAcceptance merges a revision with the changes published since its base, as PlanMerge does
// with a workspace.
func (p *Project) PlanAcceptance(
	r *Revision, read func(Hash) ([]byte, error), known KnownMerges,
) (*MergePlan, error) {
	return p.PlanPublication(r.workspace(), read, known)
}

// Acceptance says what AcceptContribution would do with a revision and a plan for it: it returns
// the conflicts with the head, or NOTHING_TO_SUBMIT, FILE_LIMIT_REACHED, or nothing if it would
// publish the revision.
func (p *Project) Acceptance(r *Revision, plan *MergePlan) ([]Conflict, error) {
	_, _, err := p.decidePublication(r.workspace(), plan)
	var refusal *fault.Error
	if errors.As(err, &refusal) {
		if conflicts, has := refusal.Details["conflicts"].([]Conflict); has {
			return conflicts, nil
		}
	}
	return nil, err
}

// SubmitWorkspace submits the changes of a workspace for review. The first submission creates a
// contribution, later ones add revisions to it.
type SubmitWorkspace struct {
	Workspace id.ID
	Summary   string
}

// Authorize accepts the author.
func (c *SubmitWorkspace) Authorize(p *Project, agent id.ID) error {
	return authorOf(p, c.Workspace, agent)
}

// Decide returns PROJECT_ARCHIVED, PROJECT_IS_COMMUNITY, WORKSPACE_CLOSED, CONTRIBUTION_CONFLICT,
// APPROVAL_PENDING, NOTHING_TO_SUBMIT, QUOTA_EXCEEDED.
func (c *SubmitWorkspace) Decide(p *Project, stamp Stamp) (Decision, error) {
	w, err := requireSubmittable(p, c.Workspace, stamp)
	if err != nil {
		return Decision{}, err
	}
	revision := p.revisions.next(stamp.ID(2))
	known, again := p.Contribution(w.Contribution)
	if err := p.requireRevisionQuota(known, w, len(c.Summary)); err != nil {
		return Decision{}, err
	}
	result := Result{Created: true, Subject: w.Contribution}
	var event Event = &RevisionSubmitted{
		Contribution: w.Contribution, ID: revision, Summary: c.Summary,
		Deciders: p.deciders(stamp.Agent),
	}
	if !again {
		result.Subject = p.contributions.next(stamp.ID(1))
		event = &ContributionSubmitted{
			ID: result.Subject, Workspace: w.ID, Revision: revision, Summary: c.Summary,
			Deciders: p.deciders(stamp.Agent),
		}
	}
	return Decision{Events: []Event{event}, Result: result}, nil
}

// requireSubmittable returns a workspace that has new changes to submit, and no conflicts.
func requireSubmittable(p *Project, workspace id.ID, stamp Stamp) (*Workspace, error) {
	if w, ok := p.Workspace(workspace); ok && w.Mode == CommunityMode {
		if err := requireActive(p); err != nil {
			return nil, err
		}
		return nil, fault.New(fault.ProjectIsCommunity,
			"The workspace belongs to a turn. Submit the turn instead.")
	}
	w, err := requireChangeable(p, workspace, stamp)
	if err != nil {
		return nil, err
	}
	if len(w.Conflicts) > 0 {
		return nil, errConflicts(w.Conflicts)
	}
	if c, ok := p.Contribution(w.Contribution); ok && p.CurrentRevision(c).shows(w) {
		if c.Status == ConflictStatus {
			return nil, errConflicts(c.Conflicts)
		}
		return nil, errUnchanged(c)
	}
	if len(p.netOperations(p.tree(w), w.Files)) == 0 {
		return nil, errNothingToSubmit(w)
	}
	return w, nil
}

// errUnchanged is the error for a workspace that is as the current revision of its contribution.
func errUnchanged(c *Contribution) error {
	message := "It was submitted and is waiting for a decision."
	if c.Status == ChangesRequestedStatus {
		message = "A review asks for changes, and the workspace has none since it was submitted."
	}
	return fault.New(fault.ApprovalPending, message).
		With("contribution_id", c.ID.Format(id.Contribution))
}

// requireRevisionQuota checks the limits for another revision: QUOTA_EXCEEDED.
func (p *Project) requireRevisionQuota(c *Contribution, w *Workspace, summaryBytes int) error {
	if c != nil && len(c.Revisions) >= RevisionsMax {
		return errQuota("revisions_of_contribution", RevisionsMax)
	}
	if c == nil {
		if err := p.requireQuota(w.Agent, quotaUndecided, 1); err != nil {
			return err
		}
		if err := p.requireQuota(w.Agent, quotaContributions, 1); err != nil {
			return err
		}
	}
	if err := p.requireQuota(w.Agent, quotaFiles, len(w.Files)); err != nil {
		return err
	}
	return p.requireQuota(w.Agent, quotaTexts, summaryBytes)
}

// RevisionSubmitted is the event of a new revision, which is a copy of the workspace at that
// moment.
type RevisionSubmitted struct {
	Contribution id.ID  `cbor:"1,keyasint"`
	ID           id.ID  `cbor:"2,keyasint"`
	Summary      string `cbor:"3,keyasint"`
	// Deciders are the agents that are notified to decide.
	Deciders []id.ID `cbor:"4,keyasint,omitempty"`
}

func (e *RevisionSubmitted) apply(p *Project, at Moment) {
	p.changeContribution(e.Contribution, at, func(next *Contribution) {
		p.addRevision(next, e.ID, e.Summary, at)
	})
}

// addRevision adds the current files of a contribution's workspace as its newest revision.
func (p *Project) addRevision(next *Contribution, revision id.ID, summary string, at Moment) {
	w, _ := p.Workspace(next.Workspace)
	next.Revisions = append(slices.Clip(next.Revisions), revision)
	next.Status, next.Conflicts = SubmittedStatus, nil
	made := &Revision{
		ID: revision, Contribution: next.ID, Number: len(next.Revisions), Base: w.Base,
		Summary: summary, Files: w.Files, CreatedAt: at.Now,
	}
	p.revisions.put(made, p.Revision+1)
	p.countRevision(made)
	p.changeWorkspace(w.ID, at, func(w *Workspace) {
		w.Status, w.Contribution = WorkspaceSubmitted, next.ID
	})
}

func (p *Project) countRevision(r *Revision) { p.countRevisionTimes(r, 1) }

// countRevisionTimes counts a revision, or removes it from the counts if times is -1.
func (p *Project) countRevisionTimes(r *Revision, times int) {
	p.revisionFiles += times * len(r.Files)
	p.texts += times * len(r.Summary)
}

// restoreContributions reads the revisions BEFORE the contributions that name them.
func (p *Project) restoreContributions(
	head *headRecord, chunk func(Chunk) ([]byte, error),
) error {
	var misplaced error
	err := p.revisions.restore(RevisionChunk, head.Revisions, chunk, func(one *Revision) {
		if !p.HasChangeset(one.Base) {
			misplaced = fmt.Errorf("revision %s: its base is not a changeset of the project",
				one.ID.Format(id.Revision))
		}
		p.countRevision(one)
	})
	if err != nil || misplaced != nil {
		return errors.Join(err, misplaced)
	}
	named := 0
	err = p.contributions.restore(ContributionChunk, head.Contributions, chunk,
		func(one *Contribution) {
			named += len(one.Revisions)
			if !p.knows(one) {
				misplaced = fmt.Errorf("contribution %s: it names what there is not",
					one.ID.Format(id.Contribution))
				return
			}
			p.countContribution(one, 1)
		})
	if err == nil && misplaced == nil && (named != head.Revisions || p.saved.Pending != head.Pending) {
		err = fmt.Errorf("project head: %d revisions, %d contributions pending; the chunks have "+
			"%d, %d", head.Revisions, head.Pending, named, p.saved.Pending)
	}
	return errors.Join(err, misplaced)
}

// knows reports whether the records that a saved contribution names exist.
func (p *Project) knows(c *Contribution) bool {
	if _, ok := p.Workspace(c.Workspace); !ok && !c.Workspace.IsZero() {
		return false
	}
	for i, one := range c.Revisions {
		r, ok := p.revisions.get(one)
		if !ok || r.Contribution != c.ID || r.Number != i+1 {
			return false
		}
	}
	for _, one := range c.Reviews {
		if !slices.Contains(c.Revisions, one.Revision) {
			return false
		}
	}
	return p.HasChangeset(c.Changeset) == (c.Status == AcceptedStatus)
}
