package identity

import (
	"fmt"
	"runtime"
	"testing"

	"pws/internal/heaptest"
)

// TestMemoryBytes compares the estimate with the heap, for agents with a session each.
func TestMemoryBytes(t *testing.T) {
	empty := heaptest.Live()
	v := newServer()
	for nth := range 2000 {
		v.register(t, fmt.Sprint("agent-", nth))
	}
	v.log = nil
	held, estimate := heaptest.Live()-empty, v.state.MemoryBytes()
	t.Logf("%d bytes in the heap, %d estimated", held, estimate)
	if estimate < held*7/10 || estimate > held*13/10 {
		t.Errorf("the agents take %d bytes, the estimate is %d", held, estimate)
	}
	runtime.KeepAlive(v)
}
