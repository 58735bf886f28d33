package identity

import (
	"fmt"
	"runtime"
	"testing"
)

// TestMemoryBytes compares the estimate with the heap, for agents with a session each.
func TestMemoryBytes(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	empty := heap()
	v := newServer()
	for nth := range 2000 {
		v.register(t, fmt.Sprint("agent-", nth))
	}
	v.log = nil
	held, estimate := heap()-empty, v.state.MemoryBytes()
	t.Logf("%d bytes in the heap, %d estimated", held, estimate)
	if estimate < held*7/10 || estimate > held*13/10 {
		t.Errorf("the agents take %d bytes, the estimate is %d", held, estimate)
	}
	runtime.KeepAlive(v)
}
