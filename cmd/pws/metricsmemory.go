package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"pws/actors"
)

// memoryTable is the resident memory by owner. What the runtime counts is divided: parts that are
// known are named, "other" is the rest of the live heap, and "slack" is garbage and free memory.
type memoryTable struct {
	description *prometheus.Desc
	known       func() []actors.MemoryOwner
}

func newMemoryTable(known func() []actors.MemoryOwner) memoryTable {
	return memoryTable{known: known, description: prometheus.NewDesc("pws_memory_bytes",
		"Resident memory by owner; the sum is about that of the process.", []string{"owner"}, nil)}
}

// Describe implements prometheus.Collector.
func (m memoryTable) Describe(to chan<- *prometheus.Desc) { to <- m.description }

// Collect implements prometheus.Collector.
func (m memoryTable) Collect(to chan<- prometheus.Metric) {
	for _, one := range m.owners() {
		to <- prometheus.MustNewConstMetric(m.description, prometheus.GaugeValue,
			float64(one.Bytes), one.Name)
	}
}

func (m memoryTable) owners() []actors.MemoryOwner {
	n := readRuntime("/memory/classes/total:bytes", "/memory/classes/heap/released:bytes",
		"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes",
		"/memory/classes/heap/free:bytes", "/memory/classes/heap/stacks:bytes",
		"/gc/heap/live:bytes")
	objects, stacks := n[2], n[5]
	live := min(n[6], objects)
	slack := objects - live + n[3] + n[4]
	owners := m.known()
	other := live
	for _, one := range owners {
		other -= one.Bytes
	}
	return append(owners,
		actors.MemoryOwner{Name: "other", Bytes: max(0, other)},
		actors.MemoryOwner{Name: "stacks", Bytes: stacks},
		actors.MemoryOwner{Name: "slack", Bytes: slack},
		actors.MemoryOwner{Name: "runtime", Bytes: n[0] - n[1] - objects - n[3] - n[4] - stacks},
		actors.MemoryOwner{Name: "file", Bytes: residentOf("RssFile:")})
}

// residentOf reads a line of the status of this process, zero where the system has none.
func residentOf(line string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), line)
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	kilobytes, _ := strconv.ParseInt(fields[0], 10, 64)
	return kilobytes << 10
}
