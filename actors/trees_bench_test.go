package actors

import (
	"testing"

	"pws/internal/heaptest"
	"pws/internal/id"
	"pws/work"
)

// BenchmarkFork forks 5,000 files: the first time, when the tree has to be built and stored, then
// again and again. It reports what each fork adds to the log, and to memory.
func BenchmarkFork(b *testing.B) {
	e := start(b, quiet(b.TempDir()))
	ann := register(b, e, "ann")
	source := createMany(b, e, ann, work.FilesMax)
	b.Run("first", func(b *testing.B) {
		// Each fork is of another head, of which nobody has built the tree yet.
		logged := uint64(0)
		for b.Loop() {
			b.StopTimer()
			fresh := e.stamp(ann).ID(0).Format(id.Project)
			mustPut(b, e, source, ann, "packages/group-3/part-31/file-1560.go", fresh)
			before := e.journal.Stats().RawBytes
			b.StartTimer()
			fork(b, e, source, ann, work.Public)
			logged += e.journal.Stats().RawBytes - before
		}
		b.ReportMetric(float64(logged)/float64(b.N), "log-B/op")
	})
	b.Run("again", func(b *testing.B) {
		fork(b, e, source, ann, work.Public)
		before, heap := e.journal.Stats().RawBytes, heaptest.Live()
		for b.Loop() {
			fork(b, e, source, ann, work.Public)
		}
		b.ReportMetric(float64(e.journal.Stats().RawBytes-before)/float64(b.N), "log-B/op")
		b.ReportMetric(float64(heaptest.Live()-heap)/float64(b.N), "heap-B/op")
	})
}
