package render

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestOneRenderForManyWhoAsk(t *testing.T) {
	r := New(2)
	var made atomic.Int32
	release := make(chan struct{})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			got := r.get(func() (string, bool) {
				made.Add(1)
				<-release
				return "x", true
			}, "one")
			if !got.OK || got.HTML != "x" {
				t.Errorf("%+v", got)
			}
		})
	}
	close(release)
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

// TestQueueIsBounded holds all workers: as many texts as the queue has places wait, the next one is
// shown plain at once, and those that wait too long are as well. None of this is remembered.
func TestQueueIsBounded(t *testing.T) {
	r := New(1)
	r.wait = time.Hour
	release, begun := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		r.get(func() (string, bool) {
			close(begun)
			<-release
			return "first", true
		}, "first")
	})
	<-begun
	for at := range queueMax {
		all.Go(func() {
			if !r.get(func() (string, bool) { return "x", true }, "wait", string(rune('a'+at))).OK {
				t.Error("one that waited was not made")
			}
		})
	}
	for len(r.queue) < queueMax {
		runtime.Gosched()
	}
	if r.get(func() (string, bool) { return "x", true }, "late").OK {
		t.Error("the queue has no end")
	}
	close(release)
	all.Wait()
	if !r.get(func() (string, bool) { return "x", true }, "late").OK {
		t.Error("a refusal was remembered")
	}

	r.wait = 0
	r.workers <- struct{}{}
	if r.get(func() (string, bool) { return "x", true }, "impatient").OK {
		t.Error("a text waits longer than it may")
	}
	<-r.workers
}

func TestResultsAreRemembered(t *testing.T) {
	r, made := New(1), 0
	get := func(parts ...string) Result {
		return r.get(func() (string, bool) {
			made++
			return "x", parts[0] != "bad"
		}, parts...)
	}
	for range 3 {
		if !get("a", "bc").OK || !get("ab", "c").OK || get("bad").OK {
			t.Error("wrong result")
		}
	}
	if made != 3 {
		t.Errorf("made %d times", made)
	}
	for range 2 {
		if r.get(func() (string, bool) { made++; panic("library") }, "panic").OK {
			t.Error("a panic is a result")
		}
	}
	if made != 4 || len(r.workers) != 0 {
		t.Errorf("made %d times, %d workers", made, len(r.workers))
	}
}
