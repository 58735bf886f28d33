package web

import "pws/api"

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
	Diff         diff
	Conflicts    []conflict
	Evidence     evidence
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
	all.Revision = v.revision(all.Contribution, all.Project)
	params := []string{all.Contribution.ID, all.Revision.ID}
	differs, err := read[api.RevisionDiffData](v, "contribution.diff", params,
		"path", v.Query["file"])
	if err != nil {
		return made, err
	}
	all.Diff = v.shownDiff(differs.Diff.Text, differs.Diff.Files, differs.Diff.Truncated)
	all.Conflicts = conflictsOf(all.Contribution.Conflicts, all.Diff)
	if all.Evidence, err = v.evidence(all.Contribution.ID); err != nil {
		return made, err
	}
	own := all.Contribution.Author.Handle == v.CallerHandle()
	open := all.Contribution.DecidedAt == nil && all.Contribution.AcceptedID == nil
	if all.Project.Viewer != nil && open && all.Revision.Current {
		all.Decides, all.Reviews = moderates(all.Project), !own
	}
	made.Title, made.Data = cut(80, all.Contribution.Summary), all
	made.Source = "/api/v1/contributions/" + all.Contribution.ID
	return made, nil
}
