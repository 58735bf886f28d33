package web

import "pws/api"

func (w *Web) logPages() []*api.Operation {
	return []*api.Operation{
		w.page("log", at("p")+"/{project}/log", query("changeset.list", "cursor", "path"),
			(*visit).log),
		w.expensive(w.page("changeset", at("p")+"/{project}/changeset/{changeset}",
			diffParams, (*visit).changeset)),
	}
}

// expensive declares that a page computes for long.
func (w *Web) expensive(page *api.Operation) *api.Operation {
	page.Expensive = true
	return page
}

// history is a page of the changesets of a project, or of one of its files.
type history struct {
	inHead[[]api.Changeset]
	Path string
}

func (v *visit) log() (view, error) {
	path := v.Query["path"]
	made, list, head, err := listOf[api.ChangesetsData](v, "log", "History", "changeset.list",
		"changesets", "limit", "50", "path", path)
	made.Data = history{
		inHead[[]api.Changeset]{head, list.Changesets, next(list.NextCursor, "path", path)}, path,
	}
	return made, err
}

// change is a changeset with its diff.
type change struct {
	Head      api.Project
	Changeset api.Changeset
	Diff      *diff
}

func (v *visit) changeset() (view, error) {
	made := view{Template: "changeset", Tab: "log"}
	head, err := v.head()
	if err != nil {
		return made, err
	}
	params := []string{head.ID, v.Param("changeset")}
	found, err := read[api.ChangesetData](v, "changeset.read", params)
	if err != nil {
		return made, err
	}
	var operations []api.OperationRecord
	if all := found.Changeset.Operations; all != nil {
		operations = *all
	}
	differs, err := v.shownDiff(operations, func(path string) (string, []api.DiffFile, bool, error) {
		found, err := read[api.DiffData](v, "changeset.diff", params, "path", path)
		return found.Diff.Text, found.Diff.Files, found.Diff.Truncated, err
	})
	if err != nil {
		return made, err
	}
	differs.files, differs.at = head.ID, found.Changeset.ID
	made.Title = "Changeset of " + head.Name
	made.inInterface(head, "projects/"+head.ID+"/changesets/"+found.Changeset.ID)
	made.Data = change{head, found.Changeset, differs}
	return made, nil
}
