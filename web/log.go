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
	// Files is the file at each changeset, if it is the history of one. Stands says that there is a
	// file at the path now.
	Files  []api.FileThen
	Stands bool
}

func (v *visit) log() (view, error) {
	made := view{Template: "log", Tab: "log"}
	head, err := v.head()
	if err != nil {
		return made, err
	}
	const list = "changeset.list"
	path := v.Query["path"]
	reply, err := v.run(list, []string{head.ID}, nil, "limit", "50", "path", path,
		"cursor", v.Query["cursor"])
	if err != nil {
		return made, err
	}
	found, err := data[api.ChangesetsData](list, reply)
	if err != nil {
		return made, err
	}
	all := history{
		inHead: inHead[[]api.Changeset]{head, found.Changesets, next(found.NextCursor, "path", path)},
		Path:   path, Files: reply.FilesThen(),
	}
	if path != "" {
		if all.Stands, err = v.stands(head.ID, head.HeadChangesetID, path); err != nil {
			return made, err
		}
	}
	made.Title, made.Data = "History of "+head.Name, all
	made.inInterface(head, "projects/"+head.ID+"/changesets")
	return made, nil
}

// stands reports whether there is a file at a path after a changeset.
func (v *visit) stands(project, changeset, path string) (bool, error) {
	found, err := read[api.FilesData](v, "changeset.tree", []string{project, changeset},
		"prefix", path, "limit", "1")
	return len(found.Files) > 0 && found.Files[0].Path == path, err
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
