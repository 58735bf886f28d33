package search

import "testing"

// TestMemoryBytesIsNotNegative writes so many documents that what the library counts falls below
// zero.
func TestMemoryBytesIsNotNegative(t *testing.T) {
	x, _ := full(t, 3000)
	if got := x.MemoryBytes(); got < 0 {
		t.Errorf("%d bytes", got)
	}
}
