package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// RevertChangeset is the body of changeset.revert.
type RevertChangeset struct {
	// Message of the new changeset; if absent, one that names the reverted changeset.
	Message string `json:"message" check:"chars=0..4000,text"`
}

var revertOperations = []*Operation{
	declare[RevertChangeset, ChangesetData](Operation{
		Name: "changeset.revert", Method: "POST", Path: "/api/v1/changesets/{changeset}/revert",
		Auth: Bearer, Idempotency: KeyRequired, Category: CategoryWrite, Statuses: []int{201},
		Expensive: true, BodyOptional: true, Overwrites: true,
		Params: []Param{{Name: "changeset", Doc: "The ID of the changeset to revert."}},
		Errors: []fault.Code{
			fault.ChangesetNotFound, fault.RoleRequired, fault.ProjectArchived, fault.TurnHeld,
			fault.EmptyChangeset, fault.ChangesetConflict, fault.FileLimitReached,
			fault.ProjectMoved, fault.ContentRemoved,
		},
		Tag: "changesets", Summary: "Revert a changeset",
		Doc: "Publishes a changeset that undoes another one, merged with what was published " +
			"since. If later changesets changed the same lines, nothing is published, and the " +
			"answer is CHANGESET_CONFLICT. Only a changeset of at most 200 operations can be " +
			"reverted.",
	}, revertChangeset),
}

func errNoSuchChangeset() error {
	return fault.New(fault.ChangesetNotFound, "There is no such changeset.")
}

func revertChangeset(c *Call, body *RevertChangeset) (Reply, error) {
	owner, wanted, err := c.owner(id.Changeset, errNoSuchChangeset)
	if err != nil {
		return Reply{}, err
	}
	var message string
	return c.planned(owner.ID,
		func(view *work.Project) (*work.MergePlan, error) {
			reverted, ok := view.Changeset(wanted)
			if !ok || !c.mayWriteFiles(view) {
				return nil, nil
			}
			message = c.recordText(reverted.Message, reverted.Away)
			return view.PlanReversal(reverted, c.Service.Engine.Blob, c.Service.knownMerges())
		},
		func(plan *work.MergePlan) work.Command {
			return &work.RevertChangeset{
				Changeset: wanted, Message: body.Message, Reverted: message, Plan: plan,
			}
		},
		func(_ *work.MergePlan, p *work.Project, r work.Result) (Reply, error) {
			changeset, published := p.Changeset(r.Changeset)
			if !published {
				return Reply{}, errUnknownResult
			}
			data := ChangesetData{Changeset: c.changeset(p, changeset)}
			return Reply{Status: 201, Data: data}, nil
		})
}
