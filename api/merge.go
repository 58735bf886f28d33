package api

import (
	"pws/internal/fault"
	"pws/internal/id"
)

// MergeData is the data of contribution.merge.
type MergeData struct {
	// The merge.
	Merge Merge `json:"merge"`
}

// Merge says what accepting the current revision of a contribution would do now.
type Merge struct {
	// The contribution that is merged.
	ContributionID string `json:"contribution_id" check:"id=ctr_"`
	// Its current revision.
	RevisionID string `json:"revision_id" check:"id=rev_"`
	// The base changeset of the revision.
	BaseID string `json:"base_changeset_id" check:"id=chg_"`
	// The newest changeset of the project.
	HeadID string `json:"head_changeset_id" check:"id=chg_"`
	// Number of changesets since the base.
	ChangesetsSinceBase int `json:"changesets_since_base"`
	// UNMERGED: it is published as it is, because its base is the head. CLEAN: it is merged and
	// published. CONFLICT, NOTHING_TO_SUBMIT and FILE_LIMIT_REACHED: it is refused for that.
	Outcome string `json:"outcome" check:"enum=UNMERGED|CLEAN|CONFLICT|NOTHING_TO_SUBMIT|FILE_LIMIT_REACHED"`
	// Files that both sides changed and that can be merged, in the order of their paths.
	MergedFiles []string `json:"merged_files"`
	// Files that both sides changed in contradictory ways; us is the contribution.
	Conflicts []Conflict `json:"conflicts"`
}

// The outcomes of a merge that no error has.
const (
	mergeUnmerged = "UNMERGED"
	mergeClean    = "CLEAN"
	mergeConflict = "CONFLICT"
)

var mergeOperations = []*Operation{
	declare[None, MergeData](Operation{
		Name: "contribution.merge", Method: "GET", Path: contributionPath + "/merge",
		Auth: Optional, Category: CategoryRead, Expensive: true, Statuses: []int{200},
		Params: contributionParam,
		Errors: []fault.Code{
			fault.ContributionNotFound, fault.ContributionClosed, fault.BlobCorrupt,
		},
		Tag: "contributions", Summary: "Try the merge of a contribution",
		Doc: "Says whether the current revision can be merged with the newest changeset, and where " +
			"they conflict, as contribution.accept would find it now. It changes nothing.",
	}, readMerge),
}

func readMerge(c *Call, _ *None) (Reply, error) {
	view, from, err := c.readableContribution()
	if err != nil {
		return Reply{}, err
	}
	if from.Status.Final() || from.Deleted.Is() {
		return Reply{}, fault.New(fault.ContributionClosed, "The contribution has been decided.").
			With("status", from.Status.String())
	}
	revision := view.CurrentRevision(from)
	plan, err := view.PlanAcceptance(revision, c.Service.Engine.Blob, c.Service.knownMerges())
	if err != nil {
		return Reply{}, err
	}
	data := Merge{
		ContributionID: from.ID.Format(id.Contribution),
		RevisionID:     revision.ID.Format(id.Revision), BaseID: revision.Base.Format(id.Changeset),
		HeadID: view.Head().ID.Format(id.Changeset), ChangesetsSinceBase: view.ChangesetsCount(),
		Outcome: mergeUnmerged, MergedFiles: []string{}, Conflicts: []Conflict{},
	}
	if base, known := view.Changeset(revision.Base); known {
		data.ChangesetsSinceBase = int(view.Head().Sequence - base.Sequence)
	}
	if plan != nil {
		data.Outcome, data.MergedFiles = mergeClean, append(data.MergedFiles, plan.Merged...)
	}
	conflicts, err := view.Acceptance(revision, plan)
	switch code := fault.CodeOf(err); {
	case len(conflicts) > 0:
		data.Outcome, data.Conflicts = mergeConflict, c.conflicts(conflicts, plan)
	case code == fault.NothingToSubmit || code == fault.FileLimitReached:
		data.Outcome = string(code)
	case err != nil:
		return Reply{}, err
	}
	return Reply{Data: MergeData{Merge: data}}, nil
}
