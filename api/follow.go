package api

import (
	"errors"
	"slices"
	"strings"

	"pws/index"
	"pws/index/feed"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Happening is an event as the web page shows it.
type Happening struct {
	Event
	// Project is the name of the project, Title that of the subject, as they are now.
	Project, Title string
}

// Followed is what a visitor of the web page follows: one project, or else the projects that the
// visitor is a member of and those that it watches. An anonymous visitor follows all PUBLIC ones.
// It is never part of the interface.
type Followed struct {
	call   *Call
	filter eventFilter
}

// followedProjects is the most projects whose newest events are looked for.
const followedProjects = 500

// Follow checks what the visitor follows; project is empty for none. Errors: PROJECT_NOT_FOUND.
func (c *Call) Follow(project string) (*Followed, error) {
	inner := *c
	inner.Query = map[string]string{}
	if project != "" {
		inner.Query["project"] = project
	}
	filter, err := inner.eventFilter()
	filter.own = project == "" && !c.Agent.IsZero()
	return &Followed{call: &inner, filter: filter}, err
}

// Now is the cursor of what comes after all that has happened.
func (f *Followed) Now() string {
	_, head := f.call.Service.Engine.Inbox(f.call.Agent)
	return f.call.eventCursor(&f.filter, feed.EndOf(head))
}

// Newest returns the newest events, the newest first, and the cursor of what comes after them.
func (f *Followed) Newest(limit int) (found []Happening, cursor string, err error) {
	c := f.call
	_, head := c.Service.Engine.Inbox(c.Agent)
	cursor = c.eventCursor(&f.filter, feed.EndOf(head))
	projects, err := f.projects()
	if err != nil {
		return nil, "", err
	}
	access := c.accessFor(&f.filter)
	looked := 0
	failed := c.Service.Engine.NewestActivity(feed.Position{Entry: head + 1}, projects,
		func(record *feed.Record) feed.Step {
			if looked++; looked > eventsReadMax {
				return feed.End
			}
			seen, unread := access.sees(record)
			if err = unread; err != nil {
				return feed.End
			}
			if !seen {
				return feed.Next
			}
			var one Happening
			if one, err = c.happening(record, access); err != nil {
				return feed.End
			}
			if found = append(found, one); len(found) == limit {
				return feed.End
			}
			return feed.Next
		})
	return found, cursor, errors.Join(err, failed)
}

// projects are those with the newest events.
func (f *Followed) projects() (list []id.ID, err error) {
	c := f.call
	if !f.filter.project.IsZero() {
		return []id.ID{f.filter.project}, nil
	}
	if f.filter.own {
		memberships := c.Service.Engine.Indexes(index.ForMemberships).Memberships
		for _, one := range memberships.Of(
			c.Agent, new(index.MembershipFilter), index.Position{}, followedProjects,
		) {
			list = append(list, one.ID)
		}
		for _, one := range c.watches().Of(c.Agent) {
			if !slices.Contains(list, one.Project) {
				list = append(list, one.Project)
			}
		}
		return list, nil
	}
	views, err := c.Service.Engine.PublicProjects(index.Position{}, followedProjects/10)
	for _, view := range views {
		list = append(list, view.ID)
	}
	return list, err
}

// Stream answers with the events after a cursor, as they come. Write appends one to a stream; each
// gets its cursor as its id. Errors: PAGINATION_CURSOR_INVALID.
func (f *Followed) Stream(
	after string, write func(to []byte, one *Happening) []byte,
) (Reply, error) {
	c := f.call
	if c.LastEventID != "" {
		after = c.LastEventID
	}
	if after == "" {
		return Reply{}, fault.Invalid(fault.Field{Field: "after", Problem: "is required"})
	}
	position, err := c.eventPosition(&f.filter, after)
	if err != nil {
		return Reply{}, err
	}
	filter := f.filter
	filter.write = func(to []byte, record *feed.Record, seen *access) ([]byte, error) {
		one, err := seen.call.happening(record, seen)
		if err != nil {
			return to, err
		}
		to = append(to, "id: "...)
		to = append(to, seen.call.eventCursor(&filter, record.Position)...)
		to = append(to, "\ndata: "...)
		return append(write(to, &one), "\n\n"...), nil
	}
	return c.streamEvents(filter, position)
}

// follows reports whether a record is of what the caller follows.
func (f *eventFilter) follows(record *feed.Record, access *access) (bool, error) {
	if !f.own {
		return true, nil
	}
	view, err := access.project(record.Project)
	if err != nil || view == nil {
		return false, err
	}
	agent := access.call.Agent
	return view.IsMember(agent) ||
		access.call.watches().Watching(agent, record.Project), nil
}

// happening adds to an event that the caller may see the names of what it is about.
func (c *Call) happening(record *feed.Record, access *access) (Happening, error) {
	one := Happening{Event: c.event(record, access)}
	view, err := Intact(c.Service.Engine.ProjectFor(record.Project, c.Agent))
	if view == nil {
		return one, err
	}
	one.Project = view.Name
	subject := record.Activity.Subject
	switch subject.Type {
	case work.SubjectDiscussion, work.SubjectComment:
		wanted := subject.ID
		if comment, ok := view.Comment(subject.ID); ok {
			wanted = comment.Discussion
			one.Subject = EventSubject{
				Type: work.SubjectDiscussion.String(), ID: wanted.Format(id.Discussion),
			}
		}
		if d, ok := view.Discussion(wanted); ok {
			one.Title = d.Title
		}
	default:
		title, _ := c.subjectTexts(view, &boxed{InboxItem: index.InboxItem{
			Project: record.Project, Subject: subject, Actor: record.Activity.Actor,
		}})
		one.Title = strings.ToValidUTF8(title, "")
	}
	one.Title = beginning(one.Title)
	return one, nil
}
