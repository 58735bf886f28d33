package api

import (
	"container/heap"
	"errors"

	"pws/identity"
	"pws/index"
	"pws/index/feed"
	"pws/work"
)

const (
	// watchedItemsMax is how much of what happens in watched projects is in an inbox, and
	// watchedLookedMax how many records are looked at for it behind the first ones of each project.
	watchedItemsMax  = 1000
	watchedLookedMax = 5000
	// watchedPage is how many records of one project are asked for first, watchedPageMax how many at
	// a time then.
	watchedPage    = 4
	watchedPageMax = 256
)

// watchedLook looks for what happened in the projects that the caller watches.
type watchedLook struct {
	call  *Call
	sight *sight
	head  uint64
	// told are the events that the caller is told of by itself.
	told   map[identity.Place]bool
	looked int
}

// eventOf is the place of the first thing that an event means to others.
func eventOf(place identity.Place) identity.Place {
	place.Nth -= place.Nth % work.ActivitiesMax
	return place
}

// watchedChain is what happened in one project, the newest first.
type watchedChain struct {
	index.Watched
	records []feed.Record
	next    feed.Position
	page    int
	more    bool
}

// watchedChains are ordered by the newest record that is left of each.
type watchedChains []*watchedChain

// Len implements heap.Interface.
func (w watchedChains) Len() int { return len(w) }

// Less implements heap.Interface.
func (w watchedChains) Less(a, b int) bool {
	return w[a].records[0].Compare(w[b].records[0].Position) > 0
}

// Swap implements heap.Interface.
func (w watchedChains) Swap(a, b int) { w[a], w[b] = w[b], w[a] }

// Push implements heap.Interface.
func (w *watchedChains) Push(one any) { *w = append(*w, one.(*watchedChain)) }

// Pop implements heap.Interface.
func (w *watchedChains) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

// items is what happened in watched projects since they are watched, the newest first, but for what
// the caller did itself or is told of besides.
func (l *watchedLook) items() (found []boxed, err error) {
	var chains watchedChains
	for _, watched := range l.call.Service.Engine.Watched(l.call.Agent) {
		view, err := l.sight.project(watched.Project)
		if err != nil {
			return nil, err
		}
		if view == nil {
			continue
		}
		chain := &watchedChain{
			Watched: watched, next: feed.Position{Entry: l.head + 1}, page: watchedPage, more: true,
		}
		if err := l.fill(chain); err != nil {
			return nil, err
		}
		if len(chain.records) > 0 {
			chains = append(chains, chain)
		}
	}
	heap.Init(&chains)
	for len(chains) > 0 && len(found) < watchedItemsMax {
		chain := chains[0]
		record := &chain.records[0]
		chain.records = chain.records[1:]
		if item, ok, err := l.item(record); err != nil {
			return nil, err
		} else if ok {
			found = append(found, item)
		}
		if err := l.fill(chain); err != nil {
			return nil, err
		}
		switch {
		case len(chain.records) > 0:
			heap.Fix(&chains, 0)
		case chain.more:
			// What is older of the others would stand there with a hole.
			return found, nil
		default:
			heap.Pop(&chains)
		}
	}
	return found, nil
}

// fill gets more records of a chain where none is left, within the bounds of one request.
func (l *watchedLook) fill(chain *watchedChain) error {
	for len(chain.records) == 0 && chain.more {
		if chain.page > watchedPage {
			if l.looked >= watchedLookedMax {
				return nil
			}
			l.looked += chain.page
		}
		page, err := l.call.Service.Engine.Activity(ActivityQuery{
			After: chain.next, Project: chain.Project, Limit: chain.page, Backward: true,
		})
		var expired feed.Expired
		if errors.As(err, &expired) {
			chain.more = false
			return nil
		}
		if err != nil {
			return err
		}
		chain.records, chain.next = page.Records, page.Next
		chain.more = page.More && len(page.Records) > 0
		chain.page = min(4*chain.page, watchedPageMax)
		for at := range chain.records {
			if chain.records[at].At < chain.Since {
				chain.records, chain.more = chain.records[:at], false
				break
			}
		}
	}
	return nil
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
