package web

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"pws/api"
)

// The numbers of entries on the first page.
const (
	todayInbox     = 10
	todayUndecided = "10"
)

func (w *Web) todayPages() []*api.Operation {
	return []*api.Operation{w.page("today", api.WebPath, nil, (*visit).today)}
}

// today is what a signed-in person sees first.
type today struct {
	Inbox     []api.InboxItem
	Unread    int
	Undecided []api.UndecidedContribution
	// More says that more contributions wait.
	More    bool
	Working []api.OwnTask
	Expired []api.OwnTask
	Blocked []api.OwnTask
	Earlier []happened
}

// happened is an event with the page of its subject.
type happened struct {
	api.OwnEvent
	Link, What string
}

func whatHappened(one api.OwnEvent) happened {
	return happened{one, eventLink(&one.Event), eventWords(&one.Event)}
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
		Template: "today", Title: "Today", Tab: "today",
	}
	var err error
	if made.Live, err = v.follow(""); err != nil {
		return made, err
	}
	inbox, err := read[api.InboxData](v, "inbox.read", nil, "status", "UNREAD", "limit", "50")
	if err != nil {
		return made, err
	}
	undecided, err := read[api.UndecidedData](v, "contribution.undecided", nil,
		"limit", todayUndecided)
	if err != nil {
		return made, err
	}
	activity, err := read[api.OwnActivity](v, "agent.activity", nil)
	all := today{
		Inbox: besideReviews(inbox.Items), Unread: inbox.UnreadCount,
		Undecided: undecided.Contributions, More: undecided.NextCursor != nil,
		Working: activity.Held, Expired: activity.Expired, Blocked: activity.Blocked,
	}
	for _, one := range activity.Events {
		all.Earlier = append(all.Earlier, whatHappened(one))
	}
	made.Data = all
	return made, err
}

// besideReviews are the first items that do not ask for a review: the contributions themselves are
// shown.
func besideReviews(items []api.InboxItem) []api.InboxItem {
	items = slices.DeleteFunc(items, func(one api.InboxItem) bool {
		return one.Kind == "REVIEW_REQUESTED"
	})
	return items[:min(len(items), todayInbox)]
}

// eventWords is what happened, in words: "task completed".
func eventWords(event *api.Event) string {
	return strings.NewReplacer(".", " ", "_", " ").Replace(event.Type)
}

// eventLink is the page of what an event is about.
func eventLink(event *api.Event) string {
	project := event.ProjectID
	switch event.Subject.Type {
	case "TASK":
		return at("t", event.Subject.ID)
	case "CONTRIBUTION":
		return at("c", event.Subject.ID)
	case "CHANGESET":
		return at("p", project, "changeset", event.Subject.ID)
	case "DISCUSSION":
		return at("d", event.Subject.ID)
	case "COMMENT":
		var data struct {
			Discussion string `json:"discussion_id"`
		}
		if json.Unmarshal(event.Data, &data) == nil && data.Discussion != "" {
			return at("d", data.Discussion)
		}
	case "AGENT":
		return at("a", event.Subject.ID)
	case "HANDOFF":
		return at("p", project, "handoffs")
	case "ARTIFACT", "IMPORT", "RELATION":
		return at("p", project, "provenance")
	}
	return at("p", project)
}
