package index

import "unsafe"

// The sizes of records in memory, in bytes, with their places in maps, lists and trees.
// TestMemoryBytes compares them with the heap.
const (
	listingMemory    = 30
	memberMemory     = 176
	membershipMemory = 24
	ownerMemory      = 160
	nodeMemory       = 90
	linkMemory       = 130
	termMemory       = 1 << 10
	proofMemory      = 50
	watchMemory      = 48
	agentMemory      = 120
)

// MemoryBytes estimates the memory of all indexes, in bytes, without a walk over their records.
func (p *Projections) MemoryBytes() int64 {
	return p.Listing.memoryBytes() + p.Memberships.memoryBytes() +
		p.Tasks.memoryBytes() + p.Reviews.memoryBytes() + p.Links.memoryBytes() +
		p.Subjects.memoryBytes() + p.Profiles.memoryBytes() + p.Watches.memoryBytes() +
		p.Workspaces.memoryBytes() + p.Claims.memoryBytes() + p.Undecided.memoryBytes()
}

func (l *Listing) memoryBytes() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return int64(l.mu.order.Len()) * listingMemory
}

func (m *Memberships) memoryBytes() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return int64(len(m.mu.projects))*(memberMemory+membershipMemory) +
		int64(len(m.mu.of))*agentMemory + int64(m.mu.ends.Len())*listingMemory
}

func (b *byProject[R, P]) memoryBytes() int64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return int64(len(b.mu.projects))*ownerMemory + int64(b.mu.count)*nodeMemory +
		int64(len(b.mu.members))*agentMemory
}

func (l *Links) memoryBytes() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return int64(l.mu.order.Len()+len(l.mu.counted)+len(l.mu.open)+len(l.mu.own)+
		len(l.mu.heavy)) * linkMemory
}

func (s *Subjects) memoryBytes() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return int64(len(s.mu.projects.orders)) * termMemory
}

func (p *Profiles) memoryBytes() int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return int64(p.mu.proofs)*proofMemory + int64(len(p.mu.agents)+len(p.mu.hidden))*agentMemory
}

func (w *Watches) memoryBytes() int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return int64(w.mu.order.Len()) * watchMemory
}

func (w *Workspaces) memoryBytes() int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return int64(len(w.mu.of)) * agentMemory
}

func (c *Claims) memoryBytes() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return int64(len(c.mu.of)) * 4 * agentMemory
}

func (u *Undecided) memoryBytes() int64 {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return int64(len(u.mu.of)) * agentMemory
}

// inboxItemMemory and inboxCountMemory are the sizes of their records in memory, in bytes.
const (
	inboxItemMemory  = int64(unsafe.Sizeof(InboxItem{}))
	inboxCountMemory = int64(unsafe.Sizeof(InboxCount{}))
)

// MemoryBytes estimates the memory of all inboxes, in bytes. It walks over the agents that have
// one.
func (b *Inbox) MemoryBytes() (bytes int64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, box := range b.mu.boxes {
		bytes += agentMemory + int64(cap(box.items))*inboxItemMemory +
			int64(cap(box.counts))*inboxCountMemory
	}
	return bytes
}
