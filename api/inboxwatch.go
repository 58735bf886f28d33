package api

import (
	"errors"

	"pws/identity"
	"pws/index"
	"pws/index/feed"
	"pws/internal/id"
	"pws/work"
)

const (
	// watchedItemsMax is the maximum number of items from watched projects in an inbox.
	// watchedReadMax is the maximum number of records that are read for them.
	watchedItemsMax = 1000
	watchedReadMax  = 5000
)

// watchedFinder finds the activity in the projects that the caller watches.
type watchedFinder struct {
	call   *Call
	access *access
	head   uint64
	// notified are the events that the caller is notified of anyway.
	notified map[identity.Place]bool
}

// eventOf returns the place of the first activity of an event.
func eventOf(place identity.Place) identity.Place {
	place.Nth -= place.Nth % work.ActivitiesMax
	return place
}

// items returns the activity in watched projects since they are watched, the newest first. It
// leaves out the caller's own actions and what the caller is notified of anyway.
func (l *watchedFinder) items() (found []boxed, err error) {
	engine := l.call.Service.Engine
	watched := l.call.watches().Of(l.call.Agent)
	projects, since := make([]id.ID, len(watched)), make(map[id.ID]int64, len(watched))
	for i, one := range watched {
		projects[i], since[one.Project] = one.Project, one.Since
	}
	looked := 0
	failed := engine.NewestActivity(feed.Position{Entry: l.head + 1}, projects,
		func(record *feed.Record) feed.Step {
			if record.At < since[record.Project] {
				return feed.Leave
			}
			view, unread := l.access.project(record.Project)
			if err = unread; err != nil {
				return feed.End
			}
			if looked++; looked > watchedReadMax {
				return feed.End
			}
			if view == nil {
				return feed.Leave
			}
			item, ok, unread := l.item(record)
			if err = unread; err != nil {
				return feed.End
			}
			if ok {
				found = append(found, item)
			}
			if len(found) == watchedItemsMax {
				return feed.End
			}
			return feed.Next
		})
	return found, errors.Join(err, failed)
}

// item returns a record as an item if the caller may see it.
func (l *watchedFinder) item(record *feed.Record) (item boxed, ok bool, err error) {
	activity := &record.Activity
	place := identity.Place(record.Position)
	if activity.Actor == l.call.Agent || l.notified[eventOf(place)] {
		return item, false, nil
	}
	if ok, err = l.access.sees(record); err != nil || !ok {
		return item, false, err
	}
	item.InboxItem = index.InboxItem{
		Place: place, At: record.At, Kind: work.NoticeWatchedActivity, Project: record.Project,
		Actor: activity.Actor, Subject: activity.Subject,
	}
	item.watched = activity.Type
	return item, true, nil
}
