package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// collecting sets how much garbage may be in memory BEFORE the Go runtime collects it. A percentage
// of the heap, which the runtime uses, would grow with contents and other memory without pointers,
// which a collection does not look at. So garbage may take twice the memory that a collection looks
// at, at least headroom; and less where little garbage is made, so that a server that has become
// idle gives memory back.
type collecting struct {
	// headroom is the garbage that may be in memory under full load, at least.
	headroom int64
	// set changes the percentage, collect runs a collection.
	set     func(percent int)
	collect func()

	mu struct {
		sync.Mutex
		last    heapSample
		at      time.Time
		percent int
		// quiet counts the looks since garbage was made quickly.
		quiet int
	}
}

// heapSample is what the runtime says of its heap.
type heapSample struct {
	// cycles are the collections so far, allocated the bytes that were ever allocated.
	cycles, allocated uint64
	// live is what the last collection has left, scanned what it has looked at, with stacks.
	live, scanned int64
	// held is the memory of the heap that the system has not got back.
	held int64
}

const (
	// collectEvery is how often the speed is measured at which garbage is made.
	collectEvery = 5 * time.Second
	// scanRate is how many bytes a second collections may look at, on average; about a twentieth of
	// what one processor can.
	scanRate = 50 << 20
	// intervalLeast is the shortest time between two collections where headroom allows it.
	intervalLeast = time.Second
	// idlePart is the part of the headroom that garbage may take at least.
	idlePart = 16
	// quietLooks is the number of looks without load AFTER which memory is given back, quietMost the
	// one AFTER which no more is expected.
	quietLooks, quietMost = 2, 5
	// quietRate is the garbage, in bytes a second, that counts as no load.
	quietRate = 1 << 20
	// A change of the percentage by less than a changePart is not made.
	changePart = 8
)

// garbage is how many bytes of garbage may be in memory, if so many are made in a second.
func (c *collecting) garbage(scanned int64, perSecond float64) int64 {
	interval := max(intervalLeast.Seconds(), float64(scanned)/scanRate)
	wanted := int64(min(perSecond*interval, math.MaxInt64/2))
	return min(max(wanted, c.headroom/idlePart), max(c.headroom, 2*scanned))
}

// percent is GOGC for an amount of garbage.
func percent(garbage int64, heap heapSample) int {
	return int(max(1, garbage*100/max(heap.live, 4<<20)))
}

// look adapts the percentage to a sample.
func (c *collecting) look(now time.Time, heap heapSample) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &c.mu
	seconds := now.Sub(m.at).Seconds()
	perSecond := float64(heap.allocated-m.last.allocated) / max(seconds, 0.001)
	m.last, m.at = heap, now
	garbage := c.garbage(heap.scanned, perSecond)
	to := percent(garbage, heap)
	if d := to - m.percent; d*changePart > m.percent || -d*changePart > m.percent {
		m.percent = to
		c.set(to)
	}
	if m.quiet++; perSecond > quietRate {
		m.quiet = 0
	}
	// The runtime returns what is above the heap that it expects, which it learns by collecting.
	more := heap.held > heap.live+2*garbage+heap.live/4
	if more && m.quiet >= quietLooks && m.quiet <= quietMost {
		c.collect()
	}
}

// run adapts the percentage until stop is closed, AFTER each collection and from time to time.
func (c *collecting) run(stop chan struct{}) {
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	collected := make(chan struct{}, 1)
	notifyCollected(collected, stop)
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		case <-collected:
		}
		c.look(time.Now(), sampleHeap())
	}
}

// notifyCollected sends AFTER each collection: an object that nothing refers to is finalized then.
func notifyCollected(to, stop chan struct{}) {
	type mark struct{ to chan struct{} }
	runtime.SetFinalizer(&mark{to}, func(*mark) {
		select {
		case to <- struct{}{}:
		default:
		}
		select {
		case <-stop:
		default:
			notifyCollected(to, stop)
		}
	})
}

// sampleHeap reads the figures of the runtime.
func sampleHeap() heapSample {
	s := []metrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/total:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(s)
	n := func(at int) uint64 { return s[at].Value.Uint64() }
	return heapSample{
		cycles: n(0), allocated: n(1), live: int64(n(2)), scanned: int64(n(3)),
		held: int64(n(4) + n(5) + n(6)),
	}
}

// startCollecting sets the percentage from now on, unless the environment does. The returned
// function ends it.
func startCollecting(headroom int64) (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	c := &collecting{headroom: headroom, collect: runtime.GC,
		set: func(percent int) { debug.SetGCPercent(percent) }}
	c.mu.last, c.mu.at, c.mu.percent = sampleHeap(), time.Now(), 100
	// A start allocates as much as full load.
	c.mu.percent = percent(max(headroom, 4<<20), c.mu.last)
	c.set(c.mu.percent)
	done := make(chan struct{})
	go c.run(done)
	return func() { close(done) }
}
