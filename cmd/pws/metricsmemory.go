package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"pws/actors"
	"pws/http"
)

// memoryTable is the resident memory by owner. Each owner is computed from what its package holds.
// What no owner has at the start is the program: its operations, schemas, documents and libraries.
// Some of these are made at their first use, about 10 MB in all, and are not counted. Slack is what
// the runtime keeps for garbage: memory that was allocated since the last collection, unless an
// owner has it, free memory, and free places between objects.
type memoryTable struct {
	description *prometheus.Desc
	known       func() []actors.MemoryOwner
	// server is nil until there is one.
	server atomic.Pointer[http.Server]
	// program is what was in the heap at the start and belongs to no other owner.
	program atomic.Int64
	// collected is what the owners had AFTER the last collection.
	collected atomic.Int64
}

func newMemoryTable(known func() []actors.MemoryOwner) *memoryTable {
	return &memoryTable{known: known, description: prometheus.NewDesc("pws_memory_bytes",
		"Resident memory by owner; the sum is about that of the process.", []string{"owner"}, nil)}
}

// begin adds the server, which may be nil, once all of the program is in memory. It collects
// garbage, because figures are compared with those AFTER the last collection.
func (m *memoryTable) begin(server *http.Server) {
	m.server.Store(server)
	runtime.GC()
	m.program.Store(max(0, readRuntime("/gc/heap/live:bytes")[0]-sumOf(m.holders())))
	m.noteCollection()
}

// watch notes what the owners have AFTER each collection, until stop is closed.
func (m *memoryTable) watch(stop chan struct{}) {
	eachCollection(stop, m.noteCollection)
}

func (m *memoryTable) noteCollection() { m.collected.Store(sumOf(m.holders())) }

func sumOf(owners []actors.MemoryOwner) (sum int64) {
	for _, one := range owners {
		sum += one.Bytes
	}
	return sum
}

// Describe implements prometheus.Collector.
func (m *memoryTable) Describe(to chan<- *prometheus.Desc) { to <- m.description }

// Collect implements prometheus.Collector.
func (m *memoryTable) Collect(to chan<- prometheus.Metric) {
	for _, one := range m.owners() {
		to <- prometheus.MustNewConstMetric(m.description, prometheus.GaugeValue,
			float64(one.Bytes), one.Name)
	}
}

// holders are the owners of what is in the heap.
func (m *memoryTable) holders() []actors.MemoryOwner {
	owners := append(m.known(), actors.MemoryOwner{Name: "program", Bytes: m.program.Load()})
	if server := m.server.Load(); server != nil {
		connections, limits := server.MemoryBytes()
		owners = append(owners, actors.MemoryOwner{Name: "requests", Bytes: connections},
			actors.MemoryOwner{Name: "rate limits", Bytes: limits})
	}
	return owners
}

func (m *memoryTable) owners() []actors.MemoryOwner {
	n := readRuntime("/memory/classes/total:bytes", "/memory/classes/heap/released:bytes",
		"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes",
		"/memory/classes/heap/free:bytes", "/memory/classes/heap/stacks:bytes",
		"/gc/heap/live:bytes")
	objects, stacks, free := n[2], n[5], n[3]+n[4]
	owners := m.holders()
	grown := sumOf(owners) - m.collected.Load()
	return append(owners,
		actors.MemoryOwner{Name: "stacks", Bytes: stacks},
		actors.MemoryOwner{Name: "slack", Bytes: max(0, objects-n[6]-grown) + free},
		actors.MemoryOwner{Name: "runtime", Bytes: n[0] - n[1] - objects - free - stacks},
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
