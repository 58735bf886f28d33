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

// InboxItem is a notification of an agent. It holds no text that somebody wrote.
type InboxItem struct {
	Place identity.Place
	// At is when it happened, in Unix milliseconds.
	At   int64
	Kind work.NoticeKind
	// Archived items go first where there are too many.
	Archived bool
	// Project is zero where it happened in none: a change of the agent's keys.
	Project id.ID
	Actor   id.ID
	Subject work.Subject
	// Part is the revision or the review that it is about, zero for none.
	Part id.ID
}

// Delivery is an item with the agent that receives it.
type Delivery struct {
	Agent id.ID
	InboxItem
}

// Inbox holds the inboxes of all agents. It is a function of the log: one goroutine passes it the
// entries in order. Its methods are safe for concurrent use.
type Inbox struct {
	mu struct {
		sync.RWMutex
		boxes map[id.ID]*inboxBox
		// dirty are the agents whose boxes changed since they were taken to be saved.
		dirty map[id.ID]struct{}
	}
	// head is the newest entry; the items of it and of those before it are there.
	head atomic.Uint64
	// max is InboxItemsMax.
	max int
}

// NewInbox makes one in which all inboxes are empty.
func NewInbox() *Inbox {
	b := &Inbox{max: InboxItemsMax}
	b.mu.boxes, b.mu.dirty = map[id.ID]*inboxBox{}, map[id.ID]struct{}{}
	return b
}

// Deliver adds the items of an entry. They have their numbers in the entry already.
func (b *Inbox) Deliver(entry uint64, deliveries []Delivery) {
	if len(deliveries) == 0 {
		b.reach(entry)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for at := range deliveries {
		deliveries[at].Place.Entry = entry
		b.add(&deliveries[at])
	}
	// Whoever saves the items saves the entry with them, under this lock.
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

// Mark takes in the marks that an agent set on its items, for archived ones go first.
func (b *Inbox) Mark(entry uint64, e *identity.InboxMarked) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reach(entry)
	box := b.mu.boxes[e.Agent]
	if box == nil || entry <= box.covered {
		return
	}
	meant, spared := placesOf(e.Items), placesOf(e.Spared)
	var next []InboxItem
	for at := range box.items {
		archived := box.items[at].archivedBy(e, meant, spared)
		if archived == box.items[at].Archived {
			continue
		}
		if next == nil {
			// Readers hold the old list.
			next = slices.Clone(box.items)
		}
		next[at].Archived = archived
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

// archivedBy reports whether an item is archived after an event of the agent, which means or spares
// some places.
func (i *InboxItem) archivedBy(
	e *identity.InboxMarked, meant, spared map[identity.Place]bool,
) bool {
	switch {
	case meant[i.Place]:
		return e.Status == identity.ItemArchived
	case i.Archived || i.Place.Compare(e.Through) > 0 || spared[i.Place]:
		return i.Archived
	}
	return e.Status == identity.ItemArchived
}

// Items are the inbox of an agent, the oldest first, up to an entry, and that entry: items that are
// added later are of later entries. Callers do not modify the list.
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

// Agents are those who have an inbox, in no order.
func (b *Inbox) Agents() []id.ID {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Collect(maps.Keys(b.mu.boxes))
}

// Saved is what is to be saved of an agent, and the entry up to which it is complete. Callers do
// not modify it.
func (b *Inbox) Saved(agent id.ID) (saved SavedInbox, head uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if box := b.mu.boxes[agent]; box != nil {
		saved.Items, saved.Counts = slices.Clip(box.items), slices.Clone(box.counts)
	}
	return saved, b.head.Load()
}

// Restore replaces the inbox of an agent by the saved one. Entries up to the one that it was saved
// with no longer add to it.
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

// RequeueDirty takes back agents whose inboxes could not be saved.
func (b *Inbox) RequeueDirty(dirty map[id.ID]struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(b.mu.dirty, dirty)
}
