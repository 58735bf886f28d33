package feed

import (
	"testing"

	"pws/internal/heaptest"
	"pws/work"
)

// TestMemoryBytes compares the estimate with the heap: of records as they are written, of a log
// that was opened, and AFTER a part of it was read and removed.
func TestMemoryBytes(t *testing.T) {
	// What all logs share is made by the first one.
	first := reopen(t, Options{Dir: t.TempDir()})
	if err := fill(first, 1, 1000); err != nil {
		t.Fatal(err)
	}
	chain(t, first, Query{Limit: 500})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	first = nil
	empty := heaptest.Live()
	options := Options{Dir: t.TempDir(), Events: 40_000}
	l := reopen(t, options)
	compare := func(when string) {
		t.Helper()
		held, estimate := heaptest.Live()-empty, l.MemoryBytes()
		t.Logf("%s: %d bytes in the heap, %d estimated", when, held, estimate)
		if estimate < held*7/10 || estimate > held*13/10 {
			t.Errorf("%s: the log takes %d bytes, the estimate is %d", when, held, estimate)
		}
	}
	write := func(from, to int) {
		var records []Record
		for entry := from; entry <= to; entry++ {
			one := recordOf(At(uint64(entry), 0, 0), project(entry%3000), int64(entry))
			one.Activity.Facts = []work.Fact{
				{Name: work.FactVisibility, Text: "src/some-file.txt"}, {Name: work.FactOperations},
			}
			if records = append(records, one); len(records) == 100 || entry == to {
				if err := l.Append(records, uint64(entry)); err != nil {
					t.Fatal(err)
				}
				records = nil
			}
		}
	}
	write(1, 60_000)
	compare("written")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = reopen(t, options)
	compare("opened")
	chain(t, l, Query{Limit: 500})
	compare("read")
	write(60_001, 130_000)
	if err := l.Expire(130_000); err != nil {
		t.Fatal(err)
	}
	compare("partly removed")
	slots := 0
	for _, one := range l.mu.chains {
		slots += cap(one)
	}
	if slots != l.mu.chainSlots {
		t.Errorf("the chains have %d places, %d are counted", slots, l.mu.chainSlots)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
