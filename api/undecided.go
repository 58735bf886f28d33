package api

import (
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// UndecidedContribution is a contribution on which the caller is asked to decide.
type UndecidedContribution struct {
	// The contribution's ID.
	ID string `json:"id" check:"id=ctr_"`
	// The project that it belongs to.
	Project ProjectName `json:"project"`
	// The contributor.
	Author AgentRef `json:"author"`
	// Beginning of the summary of the current revision, at most 200 characters in one line.
	Summary string `json:"summary"`
	// APPROVED if a maintainer has approved the current revision.
	Status string `json:"status" check:"enum=SUBMITTED|APPROVED"`
	// Number of the current revision, starting at 1.
	CurrentRevision int `json:"current_revision"`
	// ID of the current revision, for reviews and decisions.
	CurrentRevisionID string `json:"current_revision_id" check:"id=rev_"`
	// Number of files that it changes.
	ChangedFiles int `json:"changed_files"`
	// Number of changesets since its base. With 0 it is published as it is, otherwise it is merged.
	ChangesetsSinceBase int `json:"changesets_since_base"`
	// Number of reviews of the current revision, by verdict.
	Reviews VerdictCounts `json:"reviews"`
	// When the current revision was submitted.
	SubmittedAt Time `json:"submitted_at"`
}

// VerdictCounts counts reviews by verdict.
type VerdictCounts struct {
	// Number of APPROVE.
	Approved int `json:"approved"`
	// Number of REQUEST_CHANGES.
	ChangesRequested int `json:"changes_requested"`
	// Number of COMMENT.
	Commented int `json:"commented"`
}

// UndecidedData is a page of contributions that wait for the caller.
type UndecidedData struct {
	// Oldest first.
	Contributions []UndecidedContribution `json:"contributions"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

const (
	// undecidedPage is the default page of contributions that wait for the caller.
	undecidedPage = 50
	// undecidedProjectsMax limits the projects that one request reads, because each may have to be
	// loaded.
	undecidedProjectsMax = 100
)

var undecidedOperations = []*Operation{
	declare[None, UndecidedData](Operation{
		Name: "contribution.undecided", Method: "GET",
		Path: "/api/v1/agents/me/undecided-contributions",
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200},
		Query:  pageParams(undecidedPage),
		Errors: []fault.Code{fault.PaginationCursorInvalid, fault.PaginationLimitInvalid},
		Tag:    "contributions", Summary: "List contributions that wait for your decision",
		Doc: "Lists the contributions with the status SUBMITTED or APPROVED to all ACTIVE " +
			"projects in which the caller is OWNER or MAINTAINER, oldest first. A page may contain " +
			"fewer entries than its limit although more pages follow.",
	}, listUndecided),
}

func listUndecided(c *Call, _ *None) (Reply, error) {
	payload, limit, err := c.page(undecidedPage)
	if err != nil {
		return Reply{}, err
	}
	var after id.ID
	if payload != nil && len(payload) != len(after) {
		return Reply{}, errCursorInvalid()
	}
	copy(after[:], payload)
	data := UndecidedData{Contributions: []UndecidedContribution{}}
	read, places := map[id.ID]*work.Project{}, c.undecidedPlaces(after, limit+1)
	more := len(places) > limit
	for _, place := range places {
		view, known := read[place.Project]
		if len(data.Contributions) == limit || !known && len(read) == undecidedProjectsMax {
			more = true
			break
		}
		if !known {
			if view, err = Intact(c.Service.Engine.Project(place.Project)); err != nil {
				return Reply{}, err
			}
			read[place.Project] = view
		}
		after = place.Contribution
		if one, waits := c.undecided(view, place.Contribution); waits {
			data.Contributions = append(data.Contributions, one)
		}
	}
	if more {
		data.NextCursor = c.next(after[:])
	}
	return Reply{Data: data}, nil
}

// undecidedPlaces finds up to limit contributions that wait for the caller, after one of them.
func (c *Call) undecidedPlaces(after id.ID, limit int) []index.ReviewPlace {
	of := c.Service.Engine.Indexes(index.ForMemberships | index.ForUndecided)
	return of.Undecided.Of(of.Memberships.AtLeast(c.Agent, work.Maintainer), after, limit)
}

// decides reports whether the caller may decide on contributions to a project now.
func (c *Call) decides(view *work.Project) bool {
	return view != nil && view.Status == work.Active && view.Readable(c.Agent) &&
		view.RoleOf(c.Agent) >= work.Maintainer
}

// undecided returns a contribution if it waits for the caller now, whatever the index says.
func (c *Call) undecided(
	view *work.Project, contribution id.ID,
) (record UndecidedContribution, waits bool) {
	if !c.decides(view) {
		return record, false
	}
	from, ok := view.Contribution(contribution)
	if !ok || !from.AwaitsDecision() {
		return record, false
	}
	current := view.CurrentRevision(from)
	record = UndecidedContribution{
		ID:      from.ID.Format(id.Contribution),
		Project: projectName(view),
		Author:  c.agentRef(from.Author), Summary: beginning(current.Summary),
		Status: from.Status.String(), CurrentRevision: current.Number,
		CurrentRevisionID: current.ID.Format(id.Revision), ChangedFiles: len(current.Files),
		ChangesetsSinceBase: view.ChangesetsCount(), SubmittedAt: Time(current.CreatedAt),
	}
	if base, known := view.Changeset(current.Base); known {
		record.ChangesetsSinceBase = int(view.Head().Sequence - base.Sequence)
	}
	for _, review := range from.Reviews {
		if review.Revision != current.ID || review.Deleted.Is() {
			continue
		}
		switch review.Verdict {
		case work.VerdictApprove:
			record.Reviews.Approved++
		case work.VerdictRequestChanges:
			record.Reviews.ChangesRequested++
		case work.VerdictComment:
			record.Reviews.Commented++
		}
	}
	return record, true
}

// UndecidedCount counts the contributions that wait for the caller, up to a maximum. It reads the
// record of as many projects at most, and none from its history.
func (c *Call) UndecidedCount(most int) (count int, err error) {
	decides := map[id.ID]bool{}
	for _, place := range c.undecidedPlaces(id.ID{}, most) {
		is, known := decides[place.Project]
		if !known {
			view, err := Intact(c.Service.Engine.Summary(place.Project))
			if err != nil {
				return 0, err
			}
			is = c.decides(view)
			decides[place.Project] = is
		}
		if is {
			count++
		}
	}
	return count, nil
}
