package actors

import (
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"testing"

	"pws/work"
)

// TestHistoriesAreSpilled writes so many changesets that a part of them leaves the heap, and
// compares the state with that of an engine whose disk has no room for them.
func TestHistoriesAreSpilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("files are not mapped on this system")
	}
	var free atomic.Int64
	free.Store(math.MaxInt64)
	config := Config{Dir: t.TempDir(), ReserveBytes: 1 << 20, free: freeIn(&free)}
	e := start(t, config)
	ann := register(t, e, "ann")
	project := createProject(t, e, ann, work.Public)
	for n := range 1_200 {
		mustPut(t, e, project, ann, fmt.Sprintf("file-%d", n%700), fmt.Sprint("content ", n))
	}
	spilled := func() int64 { return e.spill.Stats().UsedBytes }
	const least = 2 * work.SpillBytes
	if spilled() < least {
		t.Fatalf("%d bytes were spilled", spilled())
	}
	saveAll(t, e)
	want := fullState(t, e)
	if passive := e.sweep(e.Now() + e.config.PassivateAfter.Milliseconds() + 1); passive != 1 {
		t.Fatalf("%d projects became passive", passive)
	}
	for spilled() > 0 {
		runtime.GC()
	}
	sameState(t, "loaded again", want, fullState(t, e))
	if spilled() < least {
		t.Errorf("%d bytes were spilled when the project was loaded", spilled())
	}
	stop(t, e)
	if _, err := Verify(config.Dir); err != nil {
		t.Errorf("a long history does not verify: %v", err)
	}
	e = start(t, config)
	free.Store(0)
	sameState(t, "started on a full disk", want, fullState(t, e))
	if spilled() != 0 {
		t.Errorf("%d bytes were spilled on a full disk", spilled())
	}
	free.Store(math.MaxInt64)
	mustPut(t, e, project, ann, "file-0", "new content")
	if spilled() < least {
		t.Errorf("%d bytes were spilled once the disk had room", spilled())
	}
	if p := viewOf(t, e, project); !p.HasChangeset(p.Step(9).ID) {
		t.Error("a changeset is missing")
	}
}
