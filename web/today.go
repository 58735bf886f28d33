package web

import (
	"cmp"
	"slices"

	"pws/api"
)

// The numbers of entries on the first page. The projects are those with the latest activity.
const (
	todayProjects = "10"
	todayEach     = "5"
	todayEntries  = 20
	todayInbox    = "10"
)

func (w *Web) todayPages() []*api.Operation {
	return []*api.Operation{w.page("today", api.WebPath, nil, (*visit).today)}
}

// today is what a signed-in person sees first.
type today struct {
	Inbox    []api.InboxItem
	Unread   int
	Pending  []inProject[api.Contribution]
	Working  []inProject[api.Task]
	Blocked  []inProject[api.Task]
	Earlier  []inProject[api.Changeset]
	Projects []api.Project
}

// inProject is an entity with the project that it belongs to.
type inProject[T any] struct {
	Project api.Project
	One     T
}

// of adds the project to entities.
func of[T any](project api.Project, all []T) (with []inProject[T]) {
	for _, one := range all {
		with = append(with, inProject[T]{project, one})
	}
	return with
}

func (v *visit) today() (view, error) {
	if v.Session == nil {
		found, err := read[api.ProjectsData](v, "project.list", nil, "limit", "30")
		return view{
			Template: "welcome", Title: "Public projects", Tab: "today",
			Source: "/api/v1/projects", Data: found,
		}, err
	}
	made := view{
		Template: "today", Title: "Today", Tab: "today", Source: "/api/v1/agents/me/overview",
	}
	var all today
	inbox, err := read[api.InboxData](v, "inbox.read", nil, "status", "UNREAD", "limit", todayInbox)
	if err != nil {
		return made, err
	}
	all.Inbox, all.Unread = inbox.Items, inbox.UnreadCount
	mine, err := read[api.OwnProjectsData](v, "project.mine", nil, "limit", todayProjects)
	if err != nil {
		return made, err
	}
	all.Projects = mine.Projects
	for _, project := range mine.Projects {
		if err := all.add(v, project); err != nil {
			return made, err
		}
	}
	slices.SortStableFunc(all.Earlier, func(a, b inProject[api.Changeset]) int {
		return cmp.Compare(b.One.CreatedAt, a.One.CreatedAt)
	})
	all.Earlier = all.Earlier[:min(len(all.Earlier), todayEntries)]
	made.Data = all
	return made, nil
}

// add adds what goes on in a project.
func (t *today) add(v *visit, project api.Project) error {
	params := []string{project.ID}
	if project.Counts.ContributionsPending > 0 {
		for _, status := range []string{"APPROVED", "SUBMITTED"} {
			found, err := read[api.ContributionsData](v, "contribution.list", params,
				"status", status, "limit", todayEach)
			if err != nil {
				return err
			}
			t.Pending = append(t.Pending, of(project, found.Contributions)...)
		}
	}
	working, err := read[api.TasksData](v, "task.list", params, "claimed", "true",
		"limit", todayEach)
	if err != nil {
		return err
	}
	t.Working = append(t.Working, of(project, working.Tasks)...)
	blocked, err := read[api.TasksData](v, "task.list", params, "status", "BLOCKED",
		"limit", todayEach)
	if err != nil {
		return err
	}
	t.Blocked = append(t.Blocked, of(project, blocked.Tasks)...)
	earlier, err := read[api.ChangesetsData](v, "changeset.list", params, "limit", todayEach)
	t.Earlier = append(t.Earlier, of(project, earlier.Changesets)...)
	return err
}
