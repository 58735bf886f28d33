package search

import (
	"unsafe"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// The sizes of what waits in a queue, in bytes, with their places in maps and lists, and of an
// entry of a cached list.
const (
	keyMemory     = int64(unsafe.Sizeof(Key{})) + int64(unsafe.Sizeof(marked{})) + 16
	waitingMemory = int64(unsafe.Sizeof(waiting{})) + 120
	placeMemory   = 8
	// segmentMemory is what a segment takes beside its file, which is mapped.
	segmentMemory = 24 << 10
)

// MemoryBytes estimates the memory of the index, in bytes: segments that are not in files yet, and
// cached lists and facts. Mapped files are not included. It is 0 if the index has failed.
func (x *Index) MemoryBytes() (bytes int64) {
	_ = x.use(func() error {
		if store, ok := x.scorch.(*scorch.Scorch); ok {
			// Scorch counts more bytes of buffers as removed than as added, so its sum falls below
			// zero with the documents that were ever indexed.
			bytes = max(0, int64(store.MemoryUsed()))
		}
		return nil
	})
	return bytes + x.cache.memoryBytes()
}

func (c *cache) memoryBytes() int64 {
	c.mu.Lock()
	segments := make([]*cachedSegment, 0, len(c.bySegment))
	for _, one := range c.bySegment {
		segments = append(segments, one)
	}
	c.mu.Unlock()
	bytes := c.places.Load()*placeMemory + int64(len(segments))*segmentMemory
	for _, one := range segments {
		known, _ := one.content()
		bytes += int64(cap(known)) * int64(unsafe.Sizeof(facts{}))
	}
	return bytes
}

// MemoryBytes estimates the memory of what waits, in bytes.
func (q *Queue) MemoryBytes() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	bytes := int64(len(q.mu.keys)) * keyMemory
	for i := range q.mu.lines {
		bytes += int64(len(q.mu.lines[i].projects)) * waitingMemory
	}
	return bytes
}
