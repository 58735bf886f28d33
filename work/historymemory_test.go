package work_test

import (
	"fmt"
	"runtime"
	"testing"

	"pws/work"
)

// The bounds of a small changeset in memory, and those of a changeset with the stored result of its
// Idempotency-Key. Objects are counted with those without pointers.
const (
	changesetBytesMax = 115
	keyedBytesMax     = 175
	smallObjectsMax   = 0.1
)

// TestSmallChangesetsAreCompact publishes changesets of one small file, as actors do, and counts
// the bytes and the objects that stay.
func TestSmallChangesetsAreCompact(t *testing.T) {
	for _, c := range []struct {
		name     string
		files    int
		keyed    bool
		bytesMax float64
	}{
		{"one file", 1, false, changesetBytesMax},
		{"ten files", 10, false, changesetBytesMax},
		{"with keys", 1, true, keyedBytesMax},
	} {
		t.Run(c.name, func(t *testing.T) {
			const projects, changesets = 40, 300
			all := make([]*work.Project, projects)
			for n := range all {
				w := newWorld()
				w.create(t)
				for file := range c.files {
					w.put(t, fmt.Sprintf("folder/file-%d.go", file), "first")
				}
				all[n] = w.project
			}
			before := heapStats()
			for i := range all {
				for n := range changesets {
					all[i] = published(all[i], n, c.files, c.keyed)
				}
			}
			after := heapStats()
			runtime.KeepAlive(all)
			each := func(after, before uint64) float64 {
				return float64(int64(after)-int64(before)) / projects / changesets
			}
			bytes := each(after.HeapAlloc, before.HeapAlloc)
			objects := each(after.HeapObjects, before.HeapObjects)
			t.Logf("%.1f bytes in %.3f objects", bytes, objects)
			if bytes > c.bytesMax || objects > smallObjectsMax {
				t.Errorf("a changeset takes %.1f bytes in %.3f objects, want at most %.0f in %.1f",
					bytes, objects, c.bytesMax, smallObjectsMax)
			}
		})
	}
}

// published returns a state with one more changeset, as an actor makes it.
func published(p *work.Project, n, files int, keyed bool) *work.Project {
	next := p.Clone()
	next.Apply(&work.ChangesetPublished{
		ID: p.Head().ID.Next(), Source: work.SourceFilePut,
		Ops: []work.OpRecord{{
			Action: work.Modify, Path: fmt.Sprintf("folder/file-%d.go", n%files),
			Blob: blob(fmt.Sprint(n)).Hash, Size: 300, Type: "text/plain",
		}},
	}, work.Moment{Now: testNow, Agent: agent("ann")})
	if keyed {
		next.Remember(work.StoredResult{
			Key: [16]byte(agent(fmt.Sprint("key", n))), Fingerprint: [16]byte(agent("same")),
			ExpiresAt: testNow + 1000*work.IdempotencySeconds,
			Result:    work.Result{Changeset: next.Head().ID},
		}, testNow)
	}
	return next
}

func heapStats() (stats runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats
}
