package index

import (
	"slices"

	"pws/identity"
	"pws/internal/id"
	"pws/work"
)

// InboxItemsMax is how many items are kept for one agent in each class, the newest.
const InboxItemsMax = 1000

// Every key of an agent is added and revoked once, so that items of keys are never pushed out.
const _ = uint(InboxItemsMax - 2*identity.KeysMax)

// InboxCountsMax is how many counts of one agent's inbox are kept: the newest.
const InboxCountsMax = 1000

const dayMillis = 86_400_000

// InboxCount is how many items of one kind an agent got from one other agent on one day. It is kept
// apart from the items, because those may have been pushed out by others since.
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

// CountOf is what an item counts for, without a number.
func CountOf(item *InboxItem) InboxCount {
	return InboxCount{Actor: item.Actor, Kind: item.Kind, Day: item.At / dayMillis}
}

// CountItems counts items of a section that was saved without counts, the oldest item first.
func CountItems(items []InboxItem) []InboxCount {
	var box inboxBox
	for at := range items {
		box.admit(&items[at])
	}
	return box.counts
}

// SavedInbox is what is saved of one agent's inbox.
type SavedInbox struct {
	// Items are in order, the oldest first.
	Items []InboxItem
	// Counts are in the order in which they last grew.
	Counts []InboxCount
}

// inboxBox is the inbox of one agent.
type inboxBox struct {
	// items are those of all classes, the oldest first.
	items []InboxItem
	// ofClass counts the items by class.
	ofClass [work.NoticeClasses]int
	counts  []InboxCount
	// covered says that the box has all of the entries up to one already.
	covered uint64
}

func newInboxBox(saved SavedInbox, covered uint64) *inboxBox {
	box := &inboxBox{items: saved.Items, counts: saved.Counts, covered: covered}
	for at := range box.items {
		box.ofClass[box.items[at].Kind.Class()]++
	}
	return box
}

// admit counts an item and reports whether its kind still allows it on its day. Counts
// of other days than this one, the day before and the day after are dropped: entries of two
// projects that are written at midnight may come in either order.
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

// add puts an item behind all others and takes one out of its class where that is too full: the
// oldest archived one, or the oldest.
func (b *inboxBox) add(item *InboxItem, most int) {
	b.items = append(b.items, *item)
	class := item.Kind.Class()
	b.ofClass[class]++
	if b.ofClass[class] <= most {
		return
	}
	b.ofClass[class]--
	goes := slices.IndexFunc(b.items, func(i InboxItem) bool {
		return i.Archived && i.Kind.Class() == class
	})
	if goes < 0 {
		goes = slices.IndexFunc(b.items, func(i InboxItem) bool { return i.Kind.Class() == class })
	}
	if goes == 0 {
		b.items = b.items[1:]
		return
	}
	// Readers hold the old list.
	b.items = slices.Concat(b.items[:goes], b.items[goes+1:])
}
