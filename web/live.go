package web

import (
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"

	"pws/api"
	"pws/internal/fault"
)

// liveShown is the number of events that the page of events begins with.
const liveShown = 50

// livePage declares the events that the visitor follows: as a page, and as a stream for its script,
// which has the limits, the checks and the slots of the stream of the interface.
func (w *Web) livePage() *api.Operation {
	path := at("live")
	return api.Declare[api.None, api.WebPage](api.Operation{
		Name: "page.live", Method: "GET", Path: path, Auth: api.Optional,
		Category: api.CategoryPage, Statuses: []int{200}, Page: true, Streams: true,
		Query: []api.Param{
			{Name: "project", Check: "chars=1..40", Doc: "Only events of this project."},
			{Name: "after", Check: "chars=1..200", Doc: "A cursor, for a stream."},
			{Name: "as", Check: "chars=1..64", Doc: "The handle that the page was made for."},
		},
	}, func(c *api.Call, _ *api.None) (api.Reply, error) {
		v := &visit{Call: c, web: w}
		if c.Streams {
			return v.stream()
		}
		made, err := v.live()
		if err != nil {
			return api.Reply{}, err
		}
		return api.Reply{Data: api.WebPage{Body: w.render(c, made)}}, nil
	})
}

func (w *Web) liveOperations() []*api.Operation { return []*api.Operation{w.livePage()} }

// happening is an event as a person reads it, for the page and for its script.
type happening struct {
	At      string `json:"at"`
	Who     string `json:"who"`
	What    string `json:"what"`
	Title   string `json:"title"`
	Link    string `json:"link"`
	Project string `json:"project"`
	In      string `json:"in"`
	time    api.Time
}

func newHappening(from *api.Happening) happening {
	one := happening{
		At: stamp(from.CreatedAt), Who: "@" + from.Actor.Handle, What: spoken(from.Type),
		Title: cut(120, from.Title), Project: cut(60, from.Project),
		In: at("p", from.ProjectID), time: from.CreatedAt,
	}
	switch from.Subject.Type {
	case "TASK":
		one.Link = at("t", from.Subject.ID)
	case "CONTRIBUTION":
		one.Link = at("c", from.Subject.ID)
	case "DISCUSSION":
		one.Link = at("d", from.Subject.ID)
	case "CHANGESET":
		one.Link = at("p", from.ProjectID, "changeset", from.Subject.ID)
	case "HANDOFF":
		one.Link = at("p", from.ProjectID, "handoffs")
	default:
		one.Link = one.In
	}
	if one.Title == "" {
		one.Title = word(from.Subject.Type)
	}
	return one
}

// Time is when it happened.
func (h happening) Time() api.Time { return h.time }

// spoken is the type of an event, such as task.created, in words.
func spoken(kind string) string {
	return word(strings.ReplaceAll(kind, ".", " "))
}

// liveView is the newest events.
type liveView struct {
	Events []happening
	// Project is the one that is followed alone; its ID is empty for all that the visitor follows.
	Project api.Project
}

func (v *visit) live() (view, error) {
	made := view{Template: "live", Title: "Live", Tab: "live"}
	var all liveView
	if wanted := v.Query["project"]; wanted != "" {
		var err error
		if all.Project, err = v.projectAt(url.PathEscape(wanted)); err != nil {
			return made, err
		}
		made.Title = "Live: " + all.Project.Name
	}
	followed, err := v.Follow(all.Project.ID)
	if err != nil {
		return made, err
	}
	found, cursor, err := followed.Newest(liveShown)
	for i := range found {
		all.Events = append(all.Events, newHappening(&found[i]))
	}
	made.Live, made.Data, made.Source = v.liveAddress(all.Project.ID, cursor), all, "/api/v1/events"
	return made, err
}

// stream answers with the events as they come. A page that was made for somebody who is not signed
// in any more gets none.
func (v *visit) stream() (api.Reply, error) {
	if as := v.Query["as"]; as != "" && as != v.CallerHandle() {
		return api.Reply{}, fault.New(fault.AuthenticationRequired, "Sign in to follow this.")
	}
	followed, err := v.Follow(v.Query["project"])
	if err != nil {
		return api.Reply{}, err
	}
	return followed.Stream(v.Query["after"], func(to []byte, one *api.Happening) []byte {
		text, err := json.Marshal(newHappening(one))
		if err != nil {
			// All members are strings that are valid UTF-8.
			panic(err)
		}
		return append(to, text...)
	})
}

// follow is the address of the stream that a page follows from now on. A page takes it BEFORE it
// reads what it shows, so that it misses nothing.
func (v *visit) follow(project string) (string, error) {
	followed, err := v.Follow(project)
	if err != nil {
		return "", err
	}
	return v.liveAddress(project, followed.Now()), nil
}

func (v *visit) liveAddress(project, cursor string) string {
	query := url.Values{"after": {cursor}}
	if handle := v.CallerHandle(); handle != "" {
		query.Set("as", handle)
	}
	if project != "" {
		query.Set("project", project)
	}
	return at("live") + "?" + query.Encode()
}
