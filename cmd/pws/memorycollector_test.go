package main

import (
	"math"
	"testing"
	"time"
)

// TestGarbageFollowsPointersAndLoad checks how much garbage is allowed.
func TestGarbageFollowsPointersAndLoad(t *testing.T) {
	for _, one := range []struct {
		name      string
		scanned   int64
		perSecond float64
		want      int64
	}{
		{"idle", 10 * mib, 0, 32 * mib},
		{"idle and large", 1000 * mib, 0, 32 * mib},
		{"some load", 10 * mib, 8 * mib, 40 * mib},
		{"more load", 10 * mib, 16 * mib, 80 * mib},
		{"half load, few pointers", 10 * mib, 24 * mib, 180 * mib},
		{"full load, few pointers", 10 * mib, 300 * mib, 256 * mib},
		{"full load, many pointers", 500 * mib, 300 * mib, 1000 * mib},
		{"half load, many pointers", 500 * mib, 20 * mib, 200 * mib},
		{"more than can be", 500 * mib, math.MaxFloat64, 1000 * mib},
	} {
		if got := garbage(one.scanned, one.perSecond, 256*mib); got != one.want {
			t.Errorf("%s: %d MiB instead of %d", one.name, got/mib, one.want/mib)
		}
	}
}

// TestCollectingAdapts drives the settings through load and silence.
func TestCollectingAdapts(t *testing.T) {
	var set []int
	collected := 0
	c := &collecting{headroom: 512 * mib, collect: func() { collected++ },
		set: func(percent int) { set = append(set, percent) }}
	now := time.Unix(1_000_000, 0)
	c.at, c.percentage = now, 100
	heap := heapSample{live: 400 * mib, scanned: 100 * mib, held: 600 * mib}
	step := func(seconds int, allocated uint64) {
		now = now.Add(time.Duration(seconds) * time.Second)
		heap.allocated += allocated
		c.look(now, heap)
	}
	step(1, 300*mib)
	if len(set) != 1 || set[0] != 50 {
		t.Fatalf("in a burst the percentages are %v", set)
	}
	step(1, 290*mib)
	if len(set) != 2 || set[1] != 128 {
		t.Fatalf("under load the percentages are %v", set)
	}
	step(1, 310*mib)
	if len(set) != 2 || collected > 0 {
		t.Fatalf("without a change the percentages are %v, %d collections", set, collected)
	}
	for range 20 {
		step(5, 1000)
	}
	if len(set) != 3 || set[2] != 4 {
		t.Errorf("AFTER the load the percentages are %v", set)
	}
	if collected != quietMost-quietLooks+1 {
		t.Errorf("%d collections when it was quiet", collected)
	}
	step(1, 300*mib)
	heap.held = 430 * mib
	for range 20 {
		step(5, 1000)
	}
	if collected != quietMost-quietLooks+1 {
		t.Errorf("%d collections where nothing is to be given back", collected)
	}
}

// TestCollectingRises begins a load AFTER silence, on a heap that takes long to look at.
func TestCollectingRises(t *testing.T) {
	var set []int
	c := &collecting{headroom: 256 * mib, set: func(percent int) { set = append(set, percent) }}
	now := time.Unix(1_000_000, 0)
	heap := heapSample{live: 1000 * mib, scanned: 500 * mib, allocated: 5000 * mib}
	rise := func(allocated uint64) {
		now = now.Add(riseEvery)
		heap.allocated += allocated
		c.rise(now, heap.allocated)
	}
	rise(0)
	if len(set) != 0 {
		t.Fatalf("BEFORE anything is known of the heap, %v is set", set)
	}
	c.look(now, heap)
	now = now.Add(collectEvery)
	c.look(now, heap)
	idle := set[len(set)-1]
	for range 10 {
		rise(1000)
	}
	if got := set[len(set)-1]; idle != 1 || got != idle {
		t.Fatalf("without load %d is set, then %d", idle, got)
	}
	// 100 MiB a second, at which 1000 may gather.
	rise(10 * mib)
	if got := set[len(set)-1]; got != 100 {
		t.Errorf("when load begins, %d is set", got)
	}
	for range 10 {
		rise(10 * mib)
	}
	rise(1000)
	if got := set[len(set)-1]; got != 100 {
		t.Errorf("a rise lowered it to %d", got)
	}
	now = now.Add(collectEvery)
	c.look(now, heap)
	now = now.Add(collectEvery)
	c.look(now, heap)
	if got := set[len(set)-1]; got != idle {
		t.Errorf("AFTER the load, %d is set", got)
	}
}
