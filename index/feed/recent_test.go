package feed

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRecentMatchesAList compares the newest records with a list, and copies from before, which
// must stay as they were.
func TestRecentMatchesAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Uint64Range(0, 3*chunkRecords).Draw(t, "first")
		kept, next := recentFrom(first), first
		type copied struct {
			recent
			least, end uint64
		}
		var copies []copied
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				kept.cut(rapid.Uint64Range(kept.first, next).Draw(t, "cut"))
				first = kept.first
			case 1:
				below := rapid.Uint64Range(kept.first, next).Draw(t, "forget")
				if kept.forget(below); kept.first > below {
					t.Fatalf("it begins with %d, wanted %d", kept.first, below)
				}
				if kept.first+chunkRecords <= below && kept.first < kept.end()-uint64(len(kept.open)) {
					t.Fatalf("it begins with %d, far below %d", kept.first, below)
				}
				first = kept.first
			default:
				records := make([]Record, rapid.IntRange(1, 2*chunkRecords).Draw(t, "records"))
				for i := range records {
					records[i].Entry = next
					next++
				}
				kept.add(records)
			}
			copies = append(copies, copied{kept, first, next})
		}
		for _, one := range copies {
			if one.first != one.least || one.recent.end() != one.end {
				t.Fatalf("it has %d to %d, want %d to %d", one.first, one.recent.end(), one.least, one.end)
			}
			for number := one.first; number < one.end; number++ {
				if got := one.at(number).Entry; got != number {
					t.Fatalf("record %d is %d", number, got)
				}
				run := one.run(number, blockRecords)
				if len(run) == 0 || run[0].Entry != number ||
					run[len(run)-1].Entry != number+uint64(len(run))-1 {
					t.Fatalf("the run at %d has %d records", number, len(run))
				}
			}
			if one.end > one.first {
				wanted := (one.first + one.end) / 2
				found := one.search(func(record *Record) bool { return record.Entry >= wanted })
				if found != wanted {
					t.Fatalf("record %d is found at %d", wanted, found)
				}
			}
		}
	})
}
