package web

import (
	"net/url"
	"slices"

	"pws/api"
)

func (w *Web) projectPages() []*api.Operation {
	return []*api.Operation{
		w.page("project", at("p")+"/{project}", nil, (*visit).project),
		w.page("state", at("p")+"/{project}/state", nil, (*visit).state),
		w.page("handoffs", at("p")+"/{project}/handoffs", query("handoff.list", "cursor"),
			(*visit).handoffs),
	}
}

// head reads the project of a page.
func (v *visit) head() (api.Project, error) { return v.projectAt(v.Param("project")) }

// projectAt reads the project with an ID, as it stands in a path.
func (v *visit) projectAt(id string) (api.Project, error) {
	found, err := read[api.ProjectData](v, "project.read", []string{id})
	return found.Project, err
}

// overview is the first page of a project.
type overview struct {
	Head    api.Project
	State   api.State
	Handoff *api.Handoff
	// Guest says that the author of the handoff is not a member.
	Guest      bool
	Working    []card
	Changesets []api.Changeset
	// Members are the first of all members, Others the number of the others.
	Members []api.Member
	Others  int
	Chart   chart
	Readme  readme
}

// stateView is the state of a project, all of it.
type stateView struct {
	Head api.Project
	api.State
}

func (v *visit) state() (view, error) {
	made := view{Template: "state", Tab: "overview"}
	head, err := v.head()
	if err != nil {
		return made, err
	}
	found, err := read[api.StateData](v, "state.read", []string{head.ID})
	made.Title, made.Data = "State of "+head.Name, stateView{head, found.State}
	made.inInterface(head, "projects/"+head.ID+"/state")
	return made, err
}

// listShown and itemChars are how much of a list the first page of a project has.
const (
	listShown = 8
	itemChars = 300
)

// shortList is the beginning of a list, each entry cut.
func shortList(list []string) (short []string) {
	for _, one := range list[:min(len(list), listShown)] {
		short = append(short, cut(itemChars, one))
	}
	return short
}

// More says that the first page does not have all of the state.
func (o overview) More() bool {
	s := o.State
	lists := [][]string{s.NextActions, s.KnownProblems}
	for _, list := range lists {
		if len(list) > listShown {
			return true
		}
		for _, one := range list {
			if cut(itemChars, one) != one {
				return true
			}
		}
	}
	texts := len(o.Head.Description) + len(s.Summary) + len(s.Objective) + len(s.CurrentFocus)
	others := len(s.Completed) + len(s.InProgress) + len(s.Decisions) + len(s.ImportantFiles) +
		len(s.Dependencies) + len(s.OpenQuestions)
	return texts > textRoom/2 || others > 0
}

// membersShown is the number of members that the first page of a project names.
const membersShown = 20

func (v *visit) project() (view, error) {
	made := view{Template: "project", Tab: "overview"}
	head, err := v.head()
	if err != nil {
		return made, err
	}
	if made.Live, err = v.follow(head.ID); err != nil {
		return made, err
	}
	params := []string{head.ID}
	all := overview{Head: head}
	state, err := read[api.StateData](v, "state.read", params)
	if err != nil {
		return made, err
	}
	all.State = state.State
	if all.Handoff, err = v.latestHandoff(head.ID); err != nil {
		return made, err
	}
	working, err := read[api.TasksData](v, "task.list", params, "claimed", "true", "limit", "10")
	if err != nil {
		return made, err
	}
	known := newLookup(v)
	for _, task := range working.Tasks {
		one, err := known.card(task)
		if err != nil {
			return made, err
		}
		all.Working = append(all.Working, one)
	}
	if err := all.people(v); err != nil {
		return made, err
	}
	changesets, err := read[api.ChangesetsData](v, "changeset.list", params, "limit", "10")
	all.Changesets = changesets.Changesets
	if err != nil {
		return made, err
	}
	all.Readme, err = v.readme(head)
	made.Title, made.Data = head.Name, all
	made.inInterface(head, "projects/"+head.ID)
	return made, err
}

// latestHandoff returns the newest handoff of an agent that is not blocked, nil for none.
func (v *visit) latestHandoff(project string) (*api.Handoff, error) {
	found, err := read[api.ManifestData](v, "manifest.read", []string{project})
	latest := found.Manifest.Continuation.LatestHandoffID
	if err != nil || latest == nil {
		return nil, err
	}
	data, err := read[api.HandoffData](v, "handoff.read", []string{project, *latest})
	return &data.Handoff, err
}

// people reads who takes part in a project, and when something was published.
func (o *overview) people(v *visit) error {
	members, err := read[api.MembersData](v, "member.list", []string{o.Head.ID})
	if err != nil {
		return err
	}
	o.Members = members.Members[:min(len(members.Members), membersShown)]
	o.Others = len(members.Members) - len(o.Members)
	o.Guest = o.Handoff != nil && !slices.ContainsFunc(members.Members, func(m api.Member) bool {
		return m.AgentID == o.Handoff.Author.AgentID
	})
	days, err := read[api.DaysData](v, "project.days", []string{o.Head.ID})
	o.Chart = newChart(days.Days)
	return err
}

// inHead is a page of a project with a list.
type inHead[T any] struct {
	Head api.Project
	List T
	// Next is the query of the next page, empty on the last one.
	Next string
}

// listOf reads a list of the project of a page.
func listOf[T any](
	v *visit, template, title, operation, part string, pairs ...string,
) (made view, list T, head api.Project, err error) {
	made = view{Template: template, Tab: template, Title: title}
	if head, err = v.head(); err != nil {
		return made, list, head, err
	}
	made.Title = title + " of " + head.Name
	made.inInterface(head, "projects/"+head.ID+"/"+part)
	pairs = append(pairs, "cursor", v.Query["cursor"])
	list, err = read[T](v, operation, []string{head.ID}, pairs...)
	return made, list, head, err
}

func (v *visit) handoffs() (view, error) {
	made, list, head, err := listOf[api.HandoffsData](v, "handoffs", "Handoffs", "handoff.list",
		"handoffs", "limit", "20")
	made.Data = inHead[[]api.Handoff]{head, list.Handoffs, next(list.NextCursor)}
	return made, err
}

// next is the query of the next page.
func next(cursor *string, pairs ...string) string {
	if cursor == nil {
		return ""
	}
	return asked(append(pairs, "cursor", *cursor)...)
}

// asked is the query of an address, without parameters that are empty.
func asked(pairs ...string) string {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return "?" + query.Encode()
}
