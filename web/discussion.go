package web

import "pws/api"

func (w *Web) discussionPages() []*api.Operation {
	return []*api.Operation{
		w.page("discussions", at("p")+"/{project}/discussions",
			query("discussion.list", "cursor"), (*visit).discussions),
		w.page("discussion", at("d")+"/{discussion}", query("discussion.read", "cursor"),
			(*visit).discussion),
	}
}

func (v *visit) discussions() (view, error) {
	made, list, head, err := listOf[api.DiscussionsData](v, "discussions", "Discussions",
		"discussion.list", "discussions", "limit", "50")
	made.Data = inHead[[]api.Discussion]{head, list.Discussions, next(list.NextCursor)}
	return made, err
}

// talk is a discussion with a page of its comments.
type talk struct {
	Project    api.Project
	Discussion api.Discussion
	Comments   []api.Comment
	// First is set on the first page, which has the text of the discussion.
	First bool
	Next  string
}

func (v *visit) discussion() (view, error) {
	made := view{Template: "discussion"}
	found, err := read[api.DiscussionWithComments](v, "discussion.read",
		[]string{v.Param("discussion")}, "limit", "20", "cursor", v.Query["cursor"])
	if err != nil {
		return made, err
	}
	project, err := v.projectAt(found.Discussion.ProjectID)
	made.Title = "Discussion of " + project.Name
	if found.Discussion.Title != "" {
		made.Title = found.Discussion.Title
	}
	made.inInterface(project, "discussions/"+found.Discussion.ID)
	made.Data = talk{
		Project: project, Discussion: found.Discussion, Comments: found.Comments,
		First: v.Query["cursor"] == "", Next: next(found.NextCursor),
	}
	return made, err
}

// SubjectLink is the address of what the discussion is about.
func (t talk) SubjectLink() string {
	about := t.Discussion.Subject
	switch about.Type {
	case "TASK":
		return at("t", about.ID)
	case "CONTRIBUTION":
		return at("c", about.ID)
	case "CHANGESET":
		return at("p", t.Project.ID, "changeset", about.ID)
	case "FILE":
		return at("p", t.Project.ID, "file", about.ID)
	case "HANDOFF":
		return at("p", t.Project.ID, "handoffs")
	case "ARTIFACT":
		return at("p", t.Project.ID, "provenance")
	}
	return at("p", t.Project.ID)
}
