package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Revision holds the changes of a workspace at the time when it was submitted; it never changes.
type Revision struct {
	// The revision's ID.
	ID string `json:"id" check:"id=rev_"`
	// Number of the revision, starting at 1.
	Number int `json:"number"`
	// The base changeset.
	BaseID string `json:"base_changeset_id" check:"id=chg_"`
	// Its changes of the base.
	Operations []OperationRecord `json:"operations"`
	// Summary of the changes.
	Summary string `json:"summary"`
	// When it was submitted.
	CreatedAt Time `json:"created_at"`

	// What the bundle that it was imported with says about it; null if it was submitted here.
	Origin *RecordOrigin `json:"origin"`
}

// RevisionDiffData is the data of a revision's diff.
type RevisionDiffData struct {
	// The diff.
	Diff RevisionDiff `json:"diff"`
}

// RevisionDiff is a unified diff between the base of a revision and the revision.
type RevisionDiff struct {
	// The base changeset of the revision.
	BaseID string `json:"base_changeset_id" check:"id=chg_"`
	// The changeset that was published from the revision; null if none was.
	ChangesetID *string `json:"changeset_id" check:"id=chg_"`
	// The contribution of the revision.
	ContributionID string `json:"contribution_id" check:"id=ctr_"`
	// The revision whose changes it shows.
	RevisionID string `json:"revision_id" check:"id=rev_"`
	// Always unified.
	Format string `json:"format" check:"enum=unified"`
	// At most 200000 characters, truncated at the end of a line.
	Text string `json:"text"`
	// Whether something was omitted.
	Truncated bool `json:"truncated"`
	// Every file that differs.
	Files []DiffFile `json:"files"`
}

var revisionOperations = []*Operation{
	declare[None, RevisionDiffData](Operation{
		Name: "contribution.diff", Method: "GET",
		Tool: "contribution.diff",
		ToolDoc: "Get the changes of a revision, as a unified diff that git apply accepts unless " +
			"truncated.",
		Path: contributionPath + "/revisions/{revision}/diff",
		Auth: Optional, Category: CategoryRead, Expensive: true, Statuses: []int{200},
		Params: append(contributionParam[:1:1], Param{
			Name: "revision", Doc: "The revision's ID.",
		}),
		Query: []Param{diffPathParam},
		Errors: []fault.Code{
			fault.ContributionNotFound, fault.RevisionNotFound, fault.BlobCorrupt, fault.ContentRemoved,
		},
		Tag: "contributions", Summary: "Get the diff of a revision",
		Doc: "Returns the changes of a revision to its base, as a unified diff that git apply " +
			"accepts unless it is truncated. Later changes of the workspace do not affect it.",
	}, readRevisionDiff),
}

// revision returns the wire form.
func revision(p *work.Project, from *work.Revision) Revision {
	record := Revision{
		ID: from.ID.Format(id.Revision), Number: from.Number,
		BaseID: from.Base.Format(id.Changeset), Operations: []OperationRecord{},
		Summary: from.Summary, CreatedAt: Time(from.CreatedAt),
	}
	for _, op := range p.RevisionOperations(from) {
		one := OperationRecord{
			Action: op.Action.String(), Path: op.Path, PreviousBlob: hashOrNil(op.Before),
		}
		if op.Action == work.Rename {
			one.PreviousPath = &op.From
		}
		if op.Action != work.Delete {
			one.BlobHash, one.SizeBytes, one.ContentType = hashOrNil(op.Blob), &op.Size, &op.Type
		}
		record.Operations = append(record.Operations, one)
	}
	return record
}

func readRevisionDiff(c *Call, _ *None) (Reply, error) {
	view, contribution, err := c.readableContribution()
	if err != nil {
		return Reply{}, err
	}
	wanted, _ := id.Parse(id.Revision, c.Param("revision"))
	from, ok := view.RevisionOf(contribution, wanted)
	if !ok || contribution.Deleted.Is() {
		return Reply{}, fault.New(fault.RevisionNotFound, "The contribution has no such revision.")
	}
	sides := diffSides{project: view.ID, revision: from.ID}
	made, err := c.fileDiffs(sides, func() []work.Change { return view.RevisionChanges(from) })
	if err != nil {
		return Reply{}, err
	}
	data := RevisionDiff{
		BaseID:         from.Base.Format(id.Changeset),
		ContributionID: contribution.ID.Format(id.Contribution),
		RevisionID:     from.ID.Format(id.Revision), Format: "unified",
		Text: made.text, Truncated: made.truncated, Files: made.files,
	}
	if contribution.Current() == from.ID {
		data.ChangesetID = idOrNil(id.Changeset, contribution.Changeset)
	}
	return Reply{Data: RevisionDiffData{Diff: data}}, nil
}
