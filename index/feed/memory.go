package feed

import (
	"unsafe"

	"pws/work"
)

// The sizes of what a log has in memory, in bytes. TestMemoryBytes compares them with the heap.
const (
	recordMemory = int64(unsafe.Sizeof(Record{}))
	factMemory   = int64(unsafe.Sizeof(work.Fact{}))
	blockMemory  = int64(unsafe.Sizeof(block{}))
	// chainMemory is the place of a chain among the others.
	chainMemory = 56
)

// MemoryBytes estimates the memory of a log, in bytes: the newest records, those of blocks that
// were read, and the places of all. It looks at the records in memory, and waits for nobody that
// writes to the disk.
func (l *Log) MemoryBytes() int64 {
	l.mu.RLock()
	recent := l.mu.recent
	bytes := int64(cap(l.mu.blocks))*blockMemory +
		int64(len(l.mu.chains))*chainMemory + int64(l.mu.chainSlots)*4
	l.mu.RUnlock()
	bytes += recent.memoryBytes()
	for i := range l.decoded {
		if known := l.decoded[i].Load(); known != nil {
			bytes += int64(cap(known.records))*recordMemory + textBytes(known.records)
		}
	}
	return bytes
}

// textBytes is what the facts of records take.
func textBytes(records []Record) (bytes int64) {
	for i := range records {
		facts := records[i].Activity.Facts
		bytes += int64(cap(facts)) * factMemory
		for nth := range facts {
			bytes += int64(len(facts[nth].Text))
		}
	}
	return bytes
}
