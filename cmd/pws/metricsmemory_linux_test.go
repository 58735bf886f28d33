package main

import (
	"testing"

	"pws/actors"
)

// TestMemoryTableIsWhatTheSystemSays compares the sum of all owners with the resident memory.
func TestMemoryTableIsWhatTheSystemSays(t *testing.T) {
	held := make([]byte, 256*mib)
	for at := range held {
		held[at] = byte(at)
	}
	table := newMemoryTable(func() []actors.MemoryOwner {
		return []actors.MemoryOwner{{Name: "held", Bytes: int64(len(held))}}
	})
	sum := int64(0)
	for _, one := range table.owners() {
		t.Logf("%-8s %d", one.Name, one.Bytes)
		sum += one.Bytes
	}
	if resident := residentOf("VmRSS:"); sum < resident*9/10 || sum > resident*11/10 {
		t.Errorf("the owners have %d bytes, and %d are resident", sum, resident)
	}
}
