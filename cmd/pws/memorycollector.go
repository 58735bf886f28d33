package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
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

	// last is the sample of the last look, at its time, and percentage what was set.
	last       heapSample
	at         time.Time
	percentage int
	// perSecond is the garbage that was made in a second BEFORE the last look.
	perSecond float64
	// risen are the bytes that were allocated until risenAt, the time of the last rise.
	risen   uint64
	risenAt time.Time
	// quiet counts the looks since garbage was made quickly.
	quiet int
}

// heapSample is what the runtime says of its heap.
type heapSample struct {
	// allocated are the bytes that were ever allocated.
	allocated uint64
	// live is what the last collection has left, scanned what it has looked at, with stacks.
	live, scanned int64
	// held is the memory of the heap that the system has not got back.
	held int64
}

const (
	// collectEvery is how often the speed is measured at which garbage is made.
	collectEvery = 5 * time.Second
	// riseEvery is how often it is measured whether garbage is made faster than BEFORE.
	riseEvery = 100 * time.Millisecond
	// scanRate is how many bytes a second collections may look at, on average; about a twentieth of
	// what one processor can.
	scanRate = 50 << 20
	// intervalLeast is the shortest time between two collections where headroom allows it, and
	// intervalBusy the one where busyRate bytes of garbage are made in a second, some 7,500 writes:
	// the more requests there are, the more of them wait for a collection.
	intervalLeast = 5 * time.Second
	intervalBusy  = 10 * time.Second
	busyRate      = 32 << 20
	// idlePart is the part of the headroom that garbage may take at least.
	idlePart = 8
	// burstPart is the part of the headroom that a burst may fill, such as a snapshot: all of it is
	// for load that lasts from one look to the next.
	burstPart = 4
	// quietLooks is the number of looks without load AFTER which memory is given back, quietMost the
	// one AFTER which no more is expected.
	quietLooks, quietMost = 2, 5
	// quietRate is the garbage, in bytes a second, that counts as no load.
	quietRate = 1 << 20
	// A change of the percentage by less than a changePart is not made.
	changePart = 8
)

// garbage is how many bytes of garbage may be in memory, if so many are made in a second. headroom
// is how many may be there in any case.
func garbage(scanned int64, perSecond float64, headroom int64) int64 {
	busy := min(perSecond/busyRate, 1) * intervalBusy.Seconds()
	interval := max(intervalLeast.Seconds(), busy, float64(scanned)/scanRate)
	wanted := int64(min(perSecond*interval, math.MaxInt64/2))
	return min(max(wanted, headroom/idlePart), max(headroom, 2*scanned))
}

// percent is GOGC for an amount of garbage.
func percent(garbage int64, heap heapSample) int {
	return int(max(1, garbage*100/max(heap.live, 4<<20)))
}

// look adapts the percentage to a sample. It is called by one goroutine.
func (c *collecting) look(now time.Time, heap heapSample) {
	seconds := now.Sub(c.at).Seconds()
	perSecond := float64(heap.allocated-c.last.allocated) / max(seconds, 0.001)
	headroom := c.headroom / burstPart
	if min(perSecond, c.perSecond) >= busyRate {
		headroom = c.headroom
	}
	c.last, c.at, c.perSecond = heap, now, perSecond
	room := garbage(heap.scanned, perSecond, headroom)
	to := percent(room, heap)
	if d := to - c.percentage; -d*changePart > c.percentage {
		c.percentage = to
		c.set(to)
	} else {
		c.raise(to)
	}
	if c.quiet++; perSecond > quietRate {
		c.quiet = 0
	}
	// The runtime returns what is above the heap that it expects, which it learns by collecting.
	more := heap.held > heap.live+2*room+heap.live/4
	if more && c.quiet >= quietLooks && c.quiet <= quietMost {
		c.collect()
	}
}

// raise sets a higher percentage.
func (c *collecting) raise(to int) {
	if (to-c.percentage)*changePart > c.percentage {
		c.percentage = to
		c.set(to)
	}
}

// rise raises the percentage where load begins: a server without load has so little room for
// garbage that it would look at all of a large heap within the first fifth of a second.
func (c *collecting) rise(now time.Time, allocated uint64) {
	seconds := now.Sub(c.risenAt).Seconds()
	perSecond := float64(allocated-c.risen) / max(seconds, 0.001)
	known := c.risen > 0
	c.risen, c.risenAt = allocated, now
	if known && c.last.live > 0 {
		c.raise(percent(garbage(c.last.scanned, perSecond, c.headroom/burstPart), c.last))
	}
}

// run adapts the percentage until stop is closed, AFTER each collection and from time to time.
func (c *collecting) run(stop chan struct{}) {
	tick, rise := time.NewTicker(collectEvery), time.NewTicker(riseEvery)
	defer tick.Stop()
	defer rise.Stop()
	collected := make(chan struct{}, 1)
	notifyCollected(collected, stop)
	for {
		select {
		case <-stop:
			return
		case <-rise.C:
			c.rise(time.Now(), uint64(readRuntime("/gc/heap/allocs:bytes")[0]))
			continue
		case <-tick.C:
		case <-collected:
		}
		c.look(time.Now(), sampleHeap())
	}
}

// eachCollection calls do AFTER each collection, until stop is closed.
func eachCollection(stop chan struct{}, do func()) {
	collected := make(chan struct{}, 1)
	notifyCollected(collected, stop)
	for {
		select {
		case <-stop:
			return
		case <-collected:
			do()
		}
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
	n := readRuntime("/gc/heap/allocs:bytes", "/gc/heap/live:bytes", "/gc/scan/total:bytes",
		"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes",
		"/memory/classes/heap/free:bytes")
	return heapSample{
		allocated: uint64(n[0]), live: n[1], scanned: n[2], held: n[3] + n[4] + n[5],
	}
}

// readRuntime reads metrics of the runtime that are whole numbers.
func readRuntime(names ...string) []int64 {
	samples, values := make([]metrics.Sample, len(names)), make([]int64, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	for i := range samples {
		values[i] = int64(samples[i].Value.Uint64())
	}
	return values
}

// startCollecting sets the percentage from now on, unless the environment does. The returned
// function ends it.
func startCollecting(headroom int64) (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	c := &collecting{headroom: headroom, collect: runtime.GC,
		set: func(percent int) { debug.SetGCPercent(percent) }}
	c.last, c.at = sampleHeap(), time.Now()
	// A start allocates as much as full load.
	c.percentage = percent(max(headroom, 4<<20), c.last)
	c.set(c.percentage)
	done := make(chan struct{})
	go c.run(done)
	return func() { close(done) }
}
