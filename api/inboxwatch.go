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
	// watchedItemsMax is how much of what happens in watched projects is in an inbox, and
	// watchedLookedMax how many records are looked at for it.
	watchedItemsMax  = 1000
	watchedLookedMax = 5000
)

// watchedLook looks for what happened in the projects that the caller watches.
type watchedLook struct {
	call  *Call
	sight *sight
	head  uint64
	// told are the events that the caller is told of by itself.
	told map[identity.Place]bool
}

// eventOf is the place of the first thing that an event means to others.
func eventOf(place identity.Place) identity.Place {
	place.Nth -= place.Nth % work.ActivitiesMax
	return place
}

// items is what happened in watched projects since they are watched, the newest first, but for what
// the caller did itself or is told of besides.
func (l *watchedLook) items() (found []boxed, err error) {
	engine := l.call.Service.Engine
	watched := l.call.watches().Of(l.call.Agent)
	projects, since := make([]id.ID, len(watched)), make(map[id.ID]int64, len(watched))
	for at, one := range watched {
		projects[at], since[one.Project] = one.Project, one.Since
	}
	looked := 0
	failed := engine.NewestActivity(feed.Position{Entry: l.head + 1}, projects,
		func(record *feed.Record) feed.Step {
			if record.At < since[record.Project] {
				return feed.Leave
			}
			view, unread := l.sight.project(record.Project)
			if err = unread; err != nil {
				return feed.End
			}
			if looked++; looked > watchedLookedMax {
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

// item is a record as an item, where the caller is told of it.
func (l *watchedLook) item(record *feed.Record) (item boxed, ok bool, err error) {
	told := &record.Activity
	place := identity.Place(record.Position)
	if told.Actor == l.call.Agent || l.told[eventOf(place)] {
		return item, false, nil
	}
	if ok, err = l.sight.sees(record); err != nil || !ok {
		return item, false, err
	}
	item.InboxItem = index.InboxItem{
		Place: place, At: record.At, Kind: work.NoticeWatchedActivity, Project: record.Project,
		Actor: told.Actor, Subject: told.Subject,
	}
	item.watched = told.Type
	return item, true, nil
}
