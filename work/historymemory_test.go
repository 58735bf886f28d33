package work_test

import (
	"fmt"
	"runtime"
	"testing"

	"pws/work"
)

// The bounds of a small changeset in memory. Objects are counted with those without pointers.
const (
	changesetBytesMax   = 115
	changesetObjectsMax = 0.1
)

// TestSmallChangesetsAreCompact publishes changesets of one small file, as actors do, and counts
// the bytes and the objects that stay.
func TestSmallChangesetsAreCompact(t *testing.T) {
	const projects, changesets = 40, 300
	for _, files := range []int{1, 10} {
		t.Run(fmt.Sprint("files=", files), func(t *testing.T) {
			all := make([]*work.Project, projects)
			for n := range all {
				w := newWorld()
				w.create(t)
				for file := range files {
					w.put(t, fmt.Sprintf("folder/file-%d.go", file), "first")
				}
				all[n] = w.project
			}
			moment := work.Moment{Now: testNow, Agent: agent("ann")}
			publish := func(p *work.Project, n int) *work.Project {
				next := p.Clone()
				next.Apply(&work.ChangesetPublished{
					ID: p.Head().ID.Next(), Source: work.SourceFilePut,
					Ops: []work.OpRecord{{
						Action: work.Modify, Path: fmt.Sprintf("folder/file-%d.go", n%files),
						Blob: blob(fmt.Sprint(n)).Hash, Size: 300, Type: "text/plain",
					}},
				}, moment)
				return next
			}
			before := heapStats()
			for at := range all {
				for n := range changesets {
					all[at] = publish(all[at], n)
				}
			}
			after := heapStats()
			runtime.KeepAlive(all)
			bytes := float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / projects / changesets
			more := int64(after.HeapObjects) - int64(before.HeapObjects)
			objects := float64(more) / projects / changesets
			t.Logf("%.1f bytes in %.3f objects", bytes, objects)
			if bytes > changesetBytesMax || objects > changesetObjectsMax {
				t.Errorf("a changeset takes %.1f bytes in %.3f objects, want at most %d in %.1f",
					bytes, objects, changesetBytesMax, changesetObjectsMax)
			}
		})
	}
}

func heapStats() (stats runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats
}
