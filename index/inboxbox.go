package index

import (
	"slices"

	"pws/identity"
	"pws/internal/id"
	"pws/work"
)

// InboxItemsMax is the number of items kept for an agent in each class; older ones are removed.
const InboxItemsMax = 1000

// Every key of an agent is added and revoked at most once, so items about keys are never pushed
// out.
const _ = uint(InboxItemsMax - 2*identity.KeysMax)

// InboxCountsMax is the number of counts kept for an agent; older ones are removed.
const InboxCountsMax = 1000

const dayMillis = 86_400_000

// InboxCount is the number of items of one kind that an agent received from one other agent on one
// day. It is stored separately from the items, because those may have been pushed out since.
type InboxCount struct {
	Actor id.ID
	Kind  work.NoticeKind
	// Day counts the days in UTC since 1970.
	Day   int64
	Items int
}

func (c *InboxCount) sameAs(other *InboxCount) bool {
	return c.Actor == other.Actor && c.Kind == other.Kind && c.Day == other.Day
}

// CountOf returns the key under which an item is counted, with a count of zero.
func CountOf(item *InboxItem) InboxCount {
	return InboxCount{Actor: item.Actor, Kind: item.Kind, Day: item.At / dayMillis}
}

// CountItems counts the items of a section that was saved without counts, the oldest item first.
func CountItems(items []InboxItem) []InboxCount {
	var box inboxBox
	for i := range items {
		box.admit(&items[i])
	}
	return box.counts
}

// SavedInbox is the saved data of one agent's inbox.
type SavedInbox struct {
	// Items are sorted, the oldest first.
	Items []InboxItem
	// Counts are in the order in which they last grew.
	Counts []InboxCount
}

// inboxBox is the inbox of one agent.
type inboxBox struct {
	// items has those of all classes, the oldest first.
	items []InboxItem
	// ofClass counts the items by class.
	ofClass [work.NoticeClasses]int
	counts  []InboxCount
	// covered is the entry up to which the box is complete.
	covered uint64
}

func newInboxBox(saved SavedInbox, covered uint64) *inboxBox {
	box := &inboxBox{items: saved.Items, counts: saved.Counts, covered: covered}
	for i := range box.items {
		box.ofClass[box.items[i].Kind.Class()]++
	}
	return box
}

// admit counts an item and reports whether the daily limit of its kind allows it. Only counts of
// the item's day, the day before and the day after are kept: entries of two projects written around
// midnight may come in either order.
func (b *inboxBox) admit(item *InboxItem) bool {
	limit := item.Kind.PerDay()
	if limit == 0 {
		return true
	}
	count := CountOf(item)
	at := slices.IndexFunc(b.counts, func(c InboxCount) bool { return c.sameAs(&count) })
	if at >= 0 {
		if count = b.counts[at]; count.Items >= limit {
			return false
		}
		b.counts = slices.Delete(b.counts, at, at+1)
	}
	count.Items++
	b.counts = slices.DeleteFunc(b.counts, func(c InboxCount) bool {
		return c.Day < count.Day-1 || c.Day > count.Day+1
	})
	b.counts = append(b.counts, count)
	b.counts = slices.Delete(b.counts, 0, max(0, len(b.counts)-InboxCountsMax))
	return true
}

// add appends an item. If its class is full, it removes the oldest archived item of the class, or
// if none is archived, the oldest one of the actor with the most items of the class, or of the
// actor with the most items in the project with the most: so nobody can displace what others send
// from their projects, not with many projects either, nor what others send from the same project.
func (b *inboxBox) add(item *InboxItem, most int) {
	b.items = append(b.items, *item)
	class := item.Kind.Class()
	b.ofClass[class]++
	if b.ofClass[class] <= most {
		return
	}
	b.ofClass[class]--
	removed := slices.IndexFunc(b.items, func(i InboxItem) bool {
		return i.Archived && i.Kind.Class() == class
	})
	if removed < 0 {
		removed = b.mostFrequent(class)
	}
	if removed == 0 {
		b.items = b.items[1:]
		return
	}
	// Readers may hold the old list.
	b.items = slices.Concat(b.items[:removed], b.items[removed+1:])
}

// mostFrequent returns the place of the oldest item of a class among those of the actor with the
// most of them. If a project has more than any actor, only its items count.
func (b *inboxBox) mostFrequent(class work.NoticeClass) int {
	projects, actors := map[id.ID]int{}, map[id.ID]int{}
	ofProject, ofActor := 0, 0
	for i := range b.items {
		if one := &b.items[i]; one.Kind.Class() == class {
			projects[one.Project]++
			actors[one.Actor]++
			ofProject, ofActor = max(ofProject, projects[one.Project]), max(ofActor, actors[one.Actor])
		}
	}
	all := ofProject <= ofActor
	counts := func(one *InboxItem) bool {
		return one.Kind.Class() == class && (all || projects[one.Project] == ofProject)
	}
	clear(actors)
	ofActor = 0
	for i := range b.items {
		if one := &b.items[i]; counts(one) {
			actors[one.Actor]++
			ofActor = max(ofActor, actors[one.Actor])
		}
	}
	return slices.IndexFunc(b.items, func(one InboxItem) bool {
		return counts(&one) && actors[one.Actor] == ofActor
	})
}
