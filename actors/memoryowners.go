package actors

import "unsafe"

// MemoryOwner is a part of the memory.
type MemoryOwner struct {
	Name  string
	Bytes int64
}

const (
	// handleMemory is what is kept of each project, in memory or passive: its handle, with its places
	// in the registry and in the index of owners.
	handleMemory = int64(unsafe.Sizeof(handle{})) + 90
	// noteMemory is an entry that waits for the feed.
	noteMemory = int64(unsafe.Sizeof(feedNote{})) + int64(unsafe.Sizeof(entryActivity{}))
	// accountMemory is what is kept of each agent, with its place.
	accountMemory = int64(unsafe.Sizeof(account{})) + 60
)

// MemoryOwners are the parts of the memory that the engine has. Each is computed by the package
// that holds it, from counters or from what it holds at this moment. Only the stored results need a
// walk, over the projects in memory.
func (e *Engine) MemoryOwners() []MemoryOwner {
	stored, results := e.blobs.Stats(), e.residents.resultBytes()
	return []MemoryOwner{
		{Name: "projects", Bytes: e.residents.shares.total() - results},
		{Name: "results", Bytes: results},
		{Name: "registry", Bytes: int64(e.handles.Size()) * handleMemory},
		{Name: "recent contents", Bytes: stored.SlabBytes - stored.CachedBytes},
		{Name: "cache", Bytes: stored.CachedBytes},
		{Name: "pack indexes", Bytes: stored.IndexBytes},
		{Name: "snapshot index", Bytes: e.snapshot.Stats().IndexBytes},
		{Name: "indexes", Bytes: e.projections.indexes.MemoryBytes() + e.inbox.MemoryBytes()},
		{Name: "agents", Bytes: e.Identity().MemoryBytes() +
			int64(e.accounts.of.Size())*accountMemory},
		{Name: "feed", Bytes: e.feed.memoryBytes()},
		{Name: "search", Bytes: e.search.memoryBytes()},
		{Name: "log queue", Bytes: int64(e.journal.Stats().QueueBytes)},
	}
}

// resultBytes is what the stored results of Idempotency-Keys of projects in memory take.
func (r *residents) resultBytes() (bytes int64) {
	r.mu.Lock()
	loaded := make([]*handle, 0, len(r.mu.handles))
	for h := range r.mu.handles {
		loaded = append(loaded, h)
	}
	r.mu.Unlock()
	for _, h := range loaded {
		if view := h.view.Load(); view != nil {
			bytes += view.project.ResultMemoryBytes()
		}
	}
	return min(bytes, r.shares.total())
}

func (f *follower) memoryBytes() int64 {
	f.queue.Lock()
	waiting := int64(cap(f.queue.waiting)+cap(f.queue.spare)) * noteMemory
	f.queue.Unlock()
	return waiting + f.log.MemoryBytes()
}

func (s *searching) memoryBytes() int64 {
	waiting := s.queue.MemoryBytes()
	if x := s.index.Load(); x != nil {
		return waiting + x.MemoryBytes()
	}
	return waiting
}
