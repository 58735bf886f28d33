package work_test

import (
	"encoding/binary"
	"testing"

	"pws/work"
)

// remember stores results with answers of a size on clones, as an actor does, and returns the
// newest state.
func remember(p *work.Project, results, bodyBytes int) *work.Project {
	for nth := range results {
		p = p.Clone()
		record := work.Idempotent{ExpiresAt: testNow + 1000, Body: make([]byte, bodyBytes)}
		binary.BigEndian.PutUint64(record.Key[:], uint64(nth))
		p.Remember(record, testNow)
	}
	return p
}

func keptResults(p *work.Project) (count, bytes int) {
	first, end := p.IdempotentRange()
	for nth := first; nth < end; nth++ {
		record, _ := p.IdempotentAt(nth)
		bytes += len(record.Body)
	}
	return int(end - first), bytes
}

// The oldest results are dropped first, older states keep theirs, and a restored project goes on as
// the live one does.
func TestStoredResultsAreBounded(t *testing.T) {
	for _, c := range []struct {
		name               string
		results, bodyBytes int
		least              int
	}{
		{"large answers", 60, 1 << 20, 6},
		{"answers over the limit", 3, work.ResultBytesMax + 1, 1},
		{"many", work.ResultsMax + 100, 0, work.ResultsMax / 8 * 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			w.create(t)
			before := remember(w.project, 5, 1)
			live := remember(before, c.results, c.bodyBytes)
			count, bytes := keptResults(live)
			if count > work.ResultsMax || bytes > max(work.ResultBytesMax, c.bodyBytes) {
				t.Errorf("kept %d results of %d bytes", count, bytes)
			}
			if count < c.least {
				t.Errorf("kept only %d results", count)
			}
			_, end := live.IdempotentRange()
			newest, ok := live.IdempotentAt(end - 1)
			if !ok || binary.BigEndian.Uint64(newest.Key[:]) != uint64(c.results-1) {
				t.Errorf("the newest result is not kept: %v %v", newest, ok)
			}
			if count, _ := keptResults(before); count < 5 {
				t.Errorf("an older state has %d results", count)
			}
			restored, err := mustSave(t, live).restore()
			if err != nil {
				t.Fatal(err)
			}
			live, restored = remember(live, 20, 1<<20), remember(restored, 20, 1<<20)
			first, end := live.IdempotentRange()
			if f, e := restored.IdempotentRange(); f != first || e != end {
				t.Errorf("restored [%d, %d), live [%d, %d)", f, e, first, end)
			}
		})
	}
}
