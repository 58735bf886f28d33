package web

import (
	"pws/api"
	"pws/internal/fault"
)

func (w *Web) contributionPages() []*api.Operation {
	path := at("c") + "/{contribution}"
	return []*api.Operation{
		w.page("contributions", at("p")+"/{project}/contributions",
			query("contribution.list", "cursor", "status"), (*visit).contributions),
		w.expensive(w.page("contribution", path, revisionParams, (*visit).contribution)),
	}
}

func (v *visit) contributions() (view, error) {
	status := v.Query["status"]
	made, list, head, err := listOf[api.ContributionsData](v, "contributions", "Contributions",
		"contribution.list", "contributions", "limit", "50", "status", status)
	made.Data = inHead[[]api.Contribution]{
		head, list.Contributions, next(list.NextCursor, "status", status),
	}
	return made, err
}

// contributionView is a contribution with the diff of a revision.
type contributionView struct {
	Project      api.Project
	Contribution api.Contribution
	Revision     revisionShown
	Diff         *diff
	// Merge is what accepting it would do now, nil if that is decided or not known.
	Merge     *api.Merge
	Conflicts []conflict
	Evidence  evidence
	// AllReviews says that the page has all reviews, and no changes.
	AllReviews bool
	// Decides says that the visitor may accept and reject it, Reviews that it may be reviewed.
	Decides, Reviews bool
}

func (v *visit) contribution() (view, error) {
	made := view{Template: "contribution"}
	found, err := read[api.ContributionData](v, "contribution.read",
		[]string{v.Param("contribution")})
	if err != nil {
		return made, err
	}
	all := contributionView{Contribution: found.Contribution}
	if all.Project, err = v.projectAt(all.Contribution.ProjectID); err != nil {
		return made, err
	}
	all.Revision = v.revision(all.Contribution)
	params := []string{all.Contribution.ID, all.Revision.ID}
	one := func(path string) (string, []api.DiffFile, bool, error) {
		found, err := read[api.RevisionDiffData](v, "contribution.diff", params, "path", path)
		return found.Diff.Text, found.Diff.Files, found.Diff.Truncated, err
	}
	all.Diff, err = v.shownDiff(all.Revision.Operations, one)
	if err != nil {
		return made, err
	}
	all.Diff.files, all.Diff.at = all.Project.ID, deref(all.Contribution.AcceptedID)
	if err := all.standing(v); err != nil {
		return made, err
	}
	if all.Evidence, err = v.evidence(all.Contribution.ID); err != nil {
		return made, err
	}
	all.AllReviews = v.Query["reviews"] == "all"
	own := all.Contribution.Author.Handle == v.CallerHandle()
	if all.Project.Viewer != nil && all.open() && all.Revision.Current {
		all.Decides, all.Reviews = moderates(all.Project), !own
	}
	made.Title, made.Data = cut(80, all.Contribution.Summary), all
	made.inInterface(all.Project, "contributions/"+all.Contribution.ID)
	return made, nil
}

// open says that nobody has decided on the contribution.
func (c *contributionView) open() bool {
	return c.Contribution.DecidedAt == nil && c.Contribution.AcceptedID == nil &&
		c.Contribution.DeletedAt == nil
}

// standing reads how an open contribution stands to the project: its conflicts are those of now,
// not of the last attempt to accept it.
func (c *contributionView) standing(v *visit) error {
	conflicts := c.Contribution.Conflicts
	if c.open() && c.Revision.Current {
		found, err := read[api.MergeData](v, "contribution.merge", []string{c.Contribution.ID})
		switch fault.CodeOf(err) {
		case "":
			c.Merge, conflicts = &found.Merge, found.Merge.Conflicts
		case fault.ContributionClosed, fault.ContentRemoved:
		default:
			return err
		}
	}
	c.Conflicts = conflictsOf(conflicts, c.Diff)
	return nil
}

// Mergeable says that nothing is known that keeps it from being accepted.
func (c contributionView) Mergeable() bool {
	return c.Merge == nil || c.Merge.Outcome == "UNMERGED" || c.Merge.Outcome == "CLEAN"
}

// LongSummary says that the heading has only a part of the summary.
func (c contributionView) LongSummary() bool {
	return cut(summaryChars, c.Contribution.Summary) != c.Contribution.Summary
}

// summaryChars is how much of a summary the heading of a contribution has.
const summaryChars = 120
