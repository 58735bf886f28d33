package work

import (
	"slices"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
)

// RevertedMax is the maximum number of operations of a changeset that can be reverted. Only the
// first changeset of a fork has more.
const RevertedMax = 200

// reversal returns the changes that undo a changeset, in the form that a merge accepts: the files
// of its parent on top of its own.
func (p *Project) reversal(c *Changeset) *Workspace {
	parent := p.Parent(c)
	before := func(path string) *fileState {
		if parent == nil {
			return nil
		}
		return p.fileStateAt(path, parent)
	}
	renamed := map[string]string{}
	for _, change := range p.Changes(parent, c) {
		if change.Action == Rename {
			renamed[change.From] = change.Path
		}
	}
	files := make([]Overlaid, 0, len(c.Ops))
	add := func(path string) {
		one, after := Overlaid{Path: path}, p.fileStateAt(path, c)
		if was := before(path); was != nil {
			one.Blob, one.Size, one.Type = was.blob, was.size, was.contentType
			if to, moved := renamed[path]; moved {
				one.From = to
			} else if after != nil {
				one.From = path
			}
		}
		files = append(files, one)
	}
	for i := range c.Ops {
		add(*c.Ops[i].Path)
		if c.Ops[i].From != nil {
			add(*c.Ops[i].From)
		}
	}
	slices.SortFunc(files, byOverlaidPath)
	files = slices.CompactFunc(files, func(a, b Overlaid) bool { return a.Path == b.Path })
	return &Workspace{ID: c.ID, Base: c.ID, Files: withoutUnchanged(p, c, files)}
}

// PlanReversal merges the changes that undo a changeset with those published since, as
// PlanPublication does with a workspace. It returns nil if there is nothing to merge.
func (p *Project) PlanReversal(
	c *Changeset, read func(Hash) ([]byte, error), known KnownMerges,
) (*MergePlan, error) {
	if c.OpCount > RevertedMax {
		return nil, nil
	}
	return p.PlanPublication(p.reversal(c), read, known)
}

// RevertChangeset publishes a changeset that undoes another one.
type RevertChangeset struct {
	Changeset id.ID
	// Message is the message of the new changeset; if empty, one that names the reverted changeset.
	Message string
	// Reverted is the message of the reverted changeset if it is stored away.
	Reverted string
	// Plan merges with the head; nil if the head is the changeset.
	Plan *MergePlan
}

// Authorize accepts maintainers and owners. It returns CHANGESET_NOT_FOUND if the caller cannot
// read the project.
func (c *RevertChangeset) Authorize(p *Project, agent id.ID) error {
	if err := readableOr(p, agent, errNoSuchChangeset()); err != nil {
		return err
	}
	if !p.HasChangeset(c.Changeset) {
		return errNoSuchChangeset()
	}
	return MayWriteFiles.Require(p, agent)
}

func errNoSuchChangeset() error {
	return fault.New(fault.ChangesetNotFound, "There is no such changeset.")
}

// Decide returns PROJECT_ARCHIVED, TURN_HELD, VALIDATION_FAILED for too many operations,
// EMPTY_CHANGESET if there is nothing to undo, CHANGESET_CONFLICT, FILE_LIMIT_REACHED, and an error
// that is Stale if another plan is needed.
func (c *RevertChangeset) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := requireWritable(p, stamp); err != nil {
		return Decision{}, err
	}
	reverted, known := p.Changeset(c.Changeset)
	if !known {
		return Decision{}, errNoSuchChangeset()
	}
	if reverted.OpCount > RevertedMax {
		return Decision{}, fault.Invalid(fault.Field{
			Field: "changeset", Problem: "has too many operations to be reverted",
		})
	}
	published, blobs, err := p.decidePublication(p.reversal(reverted), c.Plan)
	switch fault.CodeOf(err) {
	case fault.NothingToSubmit:
		return Decision{}, fault.New(fault.EmptyChangeset,
			"The project contains no change of this changeset that could be undone.")
	case fault.ContributionConflict:
		return Decision{}, fault.New(fault.ChangesetConflict,
			"Later changesets changed the same lines. Change the files by hand.").
			With("conflicts", c.Plan.conflicts)
	}
	if err != nil {
		return Decision{}, err
	}
	published.ID = p.nextChangesetID(stamp.ID(0))
	published.Message = c.Message
	if c.Message == "" {
		published.Message = revertMessage(reverted, c.Reverted)
	}
	published.Source = SourceChangeset
	return Decision{
		Events: []Event{published}, Blobs: blobs,
		Result: Result{Created: true, Changeset: published.ID},
	}, nil
}

// revertMessage names a changeset by its ID and the first line of its message, which is long if the
// changeset does not have it.
func revertMessage(c *Changeset, long string) string {
	text := "Revert " + c.ID.Format(id.Changeset)
	if c.Away == nil {
		long = c.Message
	}
	if line, _, _ := strings.Cut(long, "\n"); line != "" {
		text += ": " + line
	}
	if chars := []rune(text); len(chars) > MessageCharsMax {
		text = string(chars[:MessageCharsMax])
	}
	return text
}
