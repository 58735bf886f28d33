package web

import (
	"strings"

	"pws/api"
)

func (w *Web) searchPages() []*api.Operation {
	return []*api.Operation{
		w.expensive(w.page("search", at("search"), query("search.query", "q", "type", "cursor"),
			(*visit).search)),
		w.page("projects", at("projects"), query("project.mine", "cursor"), (*visit).projects),
		w.page("inbox", at("inbox"), query("inbox.read", "cursor"), (*visit).inbox),
	}
}

// found is the answer to a search.
type found struct {
	Query, Type string
	api.SearchData
	Next string
}

func (v *visit) search() (view, error) {
	all := found{Query: v.Query["q"], Type: v.Query["type"]}
	made := view{Template: "search", Title: "Search", Tab: "search", Data: all}
	if strings.TrimSpace(all.Query) == "" {
		return made, nil
	}
	data, err := read[api.SearchData](v, "search.query", nil, "q", all.Query, "type", all.Type,
		"cursor", v.Query["cursor"], "limit", "25")
	all.SearchData = data
	all.Next = next(data.NextCursor, "q", all.Query, "type", all.Type)
	made.Data, made.Source = all, "/api/v1/search"+asked("q", all.Query, "type", all.Type)
	return made, err
}

// Types are those that can be searched for alone.
func (found) Types() []string {
	return []string{"PROJECT", "TASK", "AGENT", "HANDOFF", "ARTIFACT", "FILE", "DISCUSSION"}
}

// Link is where a result leads.
func (f found) Link(one api.SearchResult) string {
	switch one.EntityType {
	case "PROJECT":
		return at("p", one.ID)
	case "TASK":
		return at("t", one.ID)
	case "AGENT":
		return at("a", one.Title)
	case "DISCUSSION":
		return at("d", one.ID)
	case "HANDOFF":
		return at("p", deref(one.ProjectID), "handoffs")
	case "ARTIFACT":
		return at("p", deref(one.ProjectID), "provenance")
	case "FILE":
		return at("p", deref(one.ProjectID), "file", deref(one.Path))
	}
	return at("p", deref(one.ProjectID))
}

// ownProjects are a page of the visitor's projects, and the newest of those that were deleted.
type ownProjects struct {
	List    []api.Project
	Next    string
	Deleted []api.Project
}

func (v *visit) projects() (view, error) {
	made := view{
		Template: "projects", Title: "Projects", Tab: "projects",
	}
	mine, err := read[api.OwnProjectsData](v, "project.mine", nil, "limit", "50",
		"cursor", v.Query["cursor"])
	if err != nil {
		return made, err
	}
	deleted, err := read[api.OwnProjectsData](v, "project.mine", nil, "limit", "20",
		"status", "DELETED")
	made.Data = ownProjects{mine.Projects, next(mine.NextCursor), deleted.Projects}
	return made, err
}

func (v *visit) inbox() (view, error) {
	data, err := read[api.InboxData](v, "inbox.read", nil, "limit", "50",
		"cursor", v.Query["cursor"])
	return view{
		Template: "inbox", Title: "Inbox", Tab: "inbox",
		Data: inHead[[]api.InboxItem]{List: data.Items, Next: next(data.NextCursor)},
	}, err
}
