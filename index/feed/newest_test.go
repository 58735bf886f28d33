package feed

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/id"
)

// checkNewest merges the chains of some projects, leaves one of them at some record, stops at
// another, and compares the result with a walk over all records.
func checkNewest(t *rapid.T, l *Log, kept []Record) {
	projects := rapid.SliceOfDistinct(rapid.IntRange(0, 7), rapid.ID[int]).Draw(t, "of")
	before, count := EndOf(1<<60), len(kept)
	if len(kept) > 0 && rapid.Bool().Draw(t, "from within") {
		count = rapid.IntRange(0, len(kept)-1).Draw(t, "before")
		before = kept[count].Position
	}
	most := rapid.IntRange(1, 2*len(kept)+1).Draw(t, "most")
	leave := rapid.IntRange(1, 2*len(kept)+1).Draw(t, "leave")
	var names []id.ID
	for _, one := range projects {
		names = append(names, project(one))
	}
	var want []Position
	left := map[id.ID]bool{}
	for i := count - 1; i >= 0 && len(want) < most; i-- {
		if of := kept[i].Project; slices.Contains(names, of) && !left[of] {
			want = append(want, kept[i].Position)
			left[of] = len(want) == leave
		}
	}
	var got []Position
	err := l.Newest(before, names, func(record *Record) Step {
		got = append(got, record.Position)
		switch len(got) {
		case most:
			return End
		case leave:
			return Leave
		}
		return Next
	})
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%d records of %v in front of %v, want %d: %v", len(got), projects, before,
			len(want), err)
	}
}

// BenchmarkNewest merges the chains of 500 projects of 100,000.
func BenchmarkNewest(b *testing.B) {
	for _, records := range []int{50, 1000} {
		b.Run(fmt.Sprint("records=", records), func(b *testing.B) {
			l, err := Open(Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			const all, watched = 100_000, 500
			var batch []Record
			for entry := range 2 * all {
				at := At(uint64(entry+1), 0, 0)
				if batch = append(batch, recordOf(at, project(entry%all), 1)); len(batch) < 1000 {
					continue
				}
				if err := l.Append(batch, at.Entry); err != nil {
					b.Fatal(err)
				}
				batch = nil
			}
			var names []id.ID
			for nth := range watched {
				names = append(names, project(all-1-nth))
			}
			b.ReportAllocs()
			for b.Loop() {
				count := 0
				err := l.Newest(EndOf(1<<60), names, func(*Record) Step {
					if count++; count == records {
						return End
					}
					return Next
				})
				if err != nil || count != min(records, 2*watched) {
					b.Fatal(count, err)
				}
			}
		})
	}
}
