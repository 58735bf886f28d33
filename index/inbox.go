package index

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"pws/identity"
	"pws/internal/id"
	"pws/work"
)

// InboxItem is a notification of an agent. It contains no user-written text.
type InboxItem struct {
	Place identity.Place
	// At is the time of the event, in Unix milliseconds.
	At   int64
	Kind work.NoticeKind
	// Archived items are removed first when there are too many.
	Archived bool
	// Project is zero if the event belongs to no project, such as a change of the agent's keys.
	Project id.ID
	Actor   id.ID
	Subject work.Subject
	// Part is the ID of the revision or review concerned, zero if there is none.
	Part id.ID
}

// Delivery is an item with the agent that receives it.
type Delivery struct {
	Agent id.ID
	InboxItem
}

// Inbox holds the inboxes of all agents. It is a function of the log: one goroutine calls it with
// the entries in order. Its methods are safe for concurrent use.
type Inbox struct {
	mu struct {
		sync.RWMutex
		boxes map[id.ID]*inboxBox
		// dirty are the agents whose boxes changed since the last DrainDirty.
		dirty map[id.ID]struct{}
	}
	// head is the newest entry whose items were added.
	head atomic.Uint64
	// max is InboxItemsMax.
	max int
}

// NewInbox makes an inbox without items.
func NewInbox() *Inbox {
	b := &Inbox{max: InboxItemsMax}
	b.mu.boxes, b.mu.dirty = map[id.ID]*inboxBox{}, map[id.ID]struct{}{}
	return b
}

// Deliver adds the items of an entry. Their numbers within the entry are already set.
func (b *Inbox) Deliver(entry uint64, deliveries []Delivery) {
	if len(deliveries) == 0 {
		b.reach(entry)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range deliveries {
		deliveries[i].Place.Entry = entry
		b.add(&deliveries[i])
	}
	// Saved reads the items and the head under this lock, so they are consistent.
	b.reach(entry)
}

func (b *Inbox) reach(entry uint64) { b.head.Store(max(entry, b.head.Load())) }

func (b *Inbox) add(one *Delivery) {
	box := b.mu.boxes[one.Agent]
	if box == nil {
		box = new(inboxBox)
		b.mu.boxes[one.Agent] = box
	}
	if one.Place.Entry <= box.covered {
		return
	}
	if !box.admit(&one.InboxItem) {
		return
	}
	b.mu.dirty[one.Agent] = struct{}{}
	box.add(&one.InboxItem, b.max)
}

// Mark applies the marks that an agent set on its items. They matter here because archived items
// are removed first.
func (b *Inbox) Mark(entry uint64, e *identity.InboxMarked) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reach(entry)
	box := b.mu.boxes[e.Agent]
	if box == nil || entry <= box.covered {
		return
	}
	named, spared := placesOf(e.Items), placesOf(e.Spared)
	var next []InboxItem
	for i := range box.items {
		archived := box.items[i].archivedBy(e, named, spared)
		if archived == box.items[i].Archived {
			continue
		}
		if next == nil {
			// Copy the list: readers may hold the old one.
			next = slices.Clone(box.items)
		}
		next[i].Archived = archived
	}
	if next != nil {
		box.items = next
		b.mu.dirty[e.Agent] = struct{}{}
	}
}

func placesOf(list []identity.Place) map[identity.Place]bool {
	set := make(map[identity.Place]bool, len(list))
	for _, place := range list {
		set[place] = true
	}
	return set
}

// archivedBy reports whether an item is archived after an event of the agent, which applies to some
// places or to all but some.
func (i *InboxItem) archivedBy(
	e *identity.InboxMarked, named, spared map[identity.Place]bool,
) bool {
	switch {
	case named[i.Place]:
		return e.Status == identity.ItemArchived
	case i.Archived || i.Place.Compare(e.Through) > 0 || spared[i.Place]:
		return i.Archived
	}
	return e.Status == identity.ItemArchived
}

// Items returns the inbox of an agent up to an entry, the oldest item first, and that entry. Items
// added later belong to later entries. Callers do not modify the list.
func (b *Inbox) Items(agent id.ID) (items []InboxItem, head uint64) {
	head = b.head.Load()
	b.mu.RLock()
	defer b.mu.RUnlock()
	if box := b.mu.boxes[agent]; box != nil {
		items = box.items
	}
	for len(items) > 0 && items[len(items)-1].Place.Entry > head {
		items = items[:len(items)-1]
	}
	return slices.Clip(items), head
}

// Agents returns the agents that have an inbox, in no order.
func (b *Inbox) Agents() []id.ID {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Collect(maps.Keys(b.mu.boxes))
}

// Saved returns the data to save for an agent, and the entry up to which it is complete. Callers do
// not modify it.
func (b *Inbox) Saved(agent id.ID) (saved SavedInbox, head uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if box := b.mu.boxes[agent]; box != nil {
		saved.Items, saved.Counts = slices.Clip(box.items), slices.Clone(box.counts)
	}
	return saved, b.head.Load()
}

// Restore replaces the inbox of an agent by the saved one. Entries up to the saved one are not
// added again.
func (b *Inbox) Restore(agent id.ID, saved SavedInbox, entry uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	saved.Counts = slices.Clone(saved.Counts)
	b.mu.boxes[agent] = newInboxBox(saved, entry)
	b.reach(entry)
}

// DrainDirty returns the agents whose inboxes changed since the last call.
func (b *Inbox) DrainDirty() map[id.ID]struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	dirty := b.mu.dirty
	b.mu.dirty = map[id.ID]struct{}{}
	return dirty
}

// RequeueDirty returns agents to the dirty set after their inboxes could not be saved.
func (b *Inbox) RequeueDirty(dirty map[id.ID]struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(b.mu.dirty, dirty)
}
