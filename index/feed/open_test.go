package feed

import (
	"math/rand/v2"
	"testing"
	"time"

	"pws/internal/heaptest"
	"pws/internal/id"
	"pws/work"
)

// populated fills a new directory with records of projects in a random order, as in a service with
// many projects, and closes it.
func populated(t testing.TB, records, projects int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	l := reopen(t, Options{Dir: dir})
	dice := rand.New(rand.NewPCG(1, 1))
	random := func() (out id.ID) {
		for i := range out {
			out[i] = byte(dice.Uint32())
		}
		return out
	}
	names := make([]id.ID, projects)
	for i := range names {
		names[i] = random()
	}
	const batch = 1024
	for i := 0; i < records; i += batch {
		var some []Record
		for nth := i; nth < min(i+batch, records); nth++ {
			some = append(some, Record{
				Position: At(uint64(nth+1), 0, 0), Project: names[dice.IntN(projects)],
				At: int64(nth), Activity: work.Activity{
					Type: work.ActivityTaskClaimed, Actor: names[nth%1000],
					Subject: work.Subject{Type: work.SubjectTask, ID: random()},
					Facts:   []work.Fact{{Name: work.FactClaim, ID: random()}},
				},
			})
		}
		if err := l.Append(some, uint64(min(i+batch, records))); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// opened opens a log and returns the heap memory that it occupies and the processor time that
// opening took, including that of the garbage collector.
func opened(t testing.TB, dir string) (l *Log, heap int64, took time.Duration) {
	t.Helper()
	heap = -heaptest.Live()
	took = -processorTime(t)
	l = reopen(t, Options{Dir: dir})
	took += processorTime(t)
	heap += heaptest.Live()
	return l, heap, took
}

// TestOpenTakesLittleMemory bounds the memory of a log for each stored record (its number in a
// chain) and for each project (the chain).
func TestOpenTakesLittleMemory(t *testing.T) {
	const records, projects = 100_000, 10_000
	const recordBytes, projectBytes = 12, 100
	l, heap, _ := opened(t, populated(t, records, projects))
	t.Logf("%d bytes", heap)
	if most := int64(records*recordBytes + projects*projectBytes); heap > most {
		t.Errorf("%d bytes for %d records of %d projects, more than %d", heap, records, projects, most)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkOpen1M opens a log of a million records of a hundred thousand projects.
func BenchmarkOpen1M(b *testing.B) {
	dir := populated(b, 1_000_000, 100_000)
	var heap int64
	var took time.Duration
	size := int64(0)
	for b.Loop() {
		l, more, spent := opened(b, dir)
		heap, took, size = heap+more, took+spent, l.Stats().Bytes
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	const mega = 1e6
	b.ReportMetric(float64(size)/mega, "disk-MB")
	b.ReportMetric(float64(heap)/mega/float64(b.N), "heap-MB")
	b.ReportMetric(took.Seconds()*1000/float64(b.N), "cpu-ms/op")
}
