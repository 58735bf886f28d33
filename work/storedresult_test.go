package work_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pws/work"
)

// remember stores results with answers of a size on clones, as an actor does, and returns the
// newest state.
func remember(p *work.Project, results, bodyBytes int) *work.Project {
	for nth := range results {
		p = p.Clone()
		record := work.StoredResult{ExpiresAt: testNow + 1000, Body: make([]byte, bodyBytes)}
		binary.BigEndian.PutUint64(record.Key[:], uint64(nth))
		p.Remember(record, testNow)
	}
	return p
}

func keptResults(p *work.Project) (count, bytes int) {
	first, end := p.ResultRange()
	for nth := first; nth < end; nth++ {
		record, _ := p.ResultAt(nth)
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
			_, end := live.ResultRange()
			newest, ok := live.ResultAt(end - 1)
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
			first, end := live.ResultRange()
			if f, e := restored.ResultRange(); f != first || e != end {
				t.Errorf("restored [%d, %d), live [%d, %d)", f, e, first, end)
			}
		})
	}
}

// TestResultsOfGuestsAreBounded has guests store answers between those of members. They drop each
// other's only, older states keep theirs, and a restored project goes on as the live one does.
func TestResultsOfGuestsAreBounded(t *testing.T) {
	w := newWorld()
	w.create(t)
	sizes := map[uint64]int{}
	store := func(p *work.Project, nth uint64, guest bool, size int) *work.Project {
		p = p.Clone()
		record := work.StoredResult{
			ExpiresAt: testNow + 1000, Body: bytes.Repeat([]byte{byte(nth)}, size), Guest: guest,
		}
		binary.BigEndian.PutUint64(record.Key[:], nth)
		p.Remember(record, testNow)
		sizes[nth] = size
		return p
	}
	live, early := w.project, w.project
	for nth := range uint64(300) {
		live = store(live, nth, nth%3 > 0, 20_000)
		if nth == 50 {
			early = live
		}
	}
	check := func(p *work.Project, from, to uint64) (guests int) {
		t.Helper()
		for nth := from; nth < to; nth++ {
			one, kept := p.ResultAt(nth)
			whole := len(one.Body) == sizes[nth] && one.Body[0] == byte(nth)
			if nth%3 == 0 && (!kept || !whole) {
				t.Errorf("result %d of a member is lost", nth)
			}
			if nth%3 > 0 && kept {
				if guests += len(one.Body); !whole {
					t.Errorf("result %d of a guest has %d bytes", nth, len(one.Body))
				}
			}
			var key [16]byte
			binary.BigEndian.PutUint64(key[:], nth)
			if stored, ok := p.ResultKey(nth); !ok || stored != key || p.HasResult(key) != kept {
				t.Errorf("result %d: %x, kept %v", nth, stored, kept)
			}
		}
		return guests
	}
	if early := check(early, 0, 51); early != 34*20_000 {
		t.Errorf("an older state has %d bytes of guests", early)
	}
	before := check(live, 0, 300)
	if before > work.GuestResultBytesMax || before < work.GuestResultBytesMax/2 {
		t.Errorf("%d bytes of guests", before)
	}
	restored, err := mustSave(t, live).restore()
	if err != nil {
		t.Fatal(err)
	}
	for nth := uint64(300); nth < 350; nth++ {
		live, restored = store(live, nth, nth%3 > 0, 20_000), store(restored, nth, nth%3 > 0, 20_000)
	}
	if a, b := check(live, 0, 350), check(restored, 0, 350); a != b || a > work.GuestResultBytesMax {
		t.Errorf("the live project has %d bytes of guests, the restored one %d", a, b)
	}
	if a, b := live.ResultMemoryBytes(), restored.ResultMemoryBytes(); a != b {
		t.Errorf("the live project takes %d bytes, the restored one %d", a, b)
	}
}

// TestGuestsAreManyBeforeMembersLoseResults has guests store so many results without answers as a
// project keeps for members: a result of a member stays until there are ResultRecordsMax.
func TestGuestsAreManyBeforeMembersLoseResults(t *testing.T) {
	w := newWorld()
	w.create(t)
	p := w.project.Clone()
	stored := uint64(0)
	store := func(guest bool, count int) {
		for range count {
			record := work.StoredResult{ExpiresAt: testNow + 1000, Guest: guest}
			binary.BigEndian.PutUint64(record.Key[:], stored)
			p.Remember(record, testNow)
			stored++
		}
	}
	store(false, 1)
	store(true, work.ResultRecordsMax-work.ResultsMax)
	store(false, work.ResultsMax-1)
	if _, kept := p.ResultAt(0); !kept {
		t.Error("guests have dropped the result of a member")
	}
	restored, err := mustSave(t, p).restore()
	if err != nil {
		t.Fatal(err)
	}
	last := stored
	store(false, 1)
	if first, end := p.ResultRange(); first == 0 || first > work.ResultRecordsMax || end != last+1 {
		t.Errorf("one result of a member too many leaves [%d, %d)", first, end)
	}
	members := 0
	for nth, end := p.ResultRange(); nth < end; nth++ {
		if one, _ := p.ResultAt(nth); !one.Guest {
			members++
		}
	}
	if members < work.ResultsMax/8*7 || members > work.ResultsMax {
		t.Errorf("%d results of members are kept", members)
	}
	if first, end := restored.ResultRange(); first != 0 || end != last {
		t.Errorf("the restored project has [%d, %d)", first, end)
	}
	p, stored = restored, last
	store(true, 1)
	if first, _ := p.ResultRange(); first == 0 {
		t.Error("there is no limit for all results")
	}
}
