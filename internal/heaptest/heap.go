// Package heaptest measures the heap for tests of what values take of it.
package heaptest

import "runtime"

// Live is the size of the heap AFTER a collection, in bytes. What only a finalizer refers to is
// gone too, because it collects twice.
func Live() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
