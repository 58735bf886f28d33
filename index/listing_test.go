package index

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/id"
)

// TestListingPages checks that the pages together are all listed projects in order,
// after random changes.
func TestListingPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		listing, model := NewListing(), map[Position]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			at := Position{
				Millis: rapid.Int64Range(1, 9).Draw(t, "millis"),
				ID:     id.ID{15: rapid.Byte().Draw(t, "id")},
			}
			listed := rapid.Bool().Draw(t, "listed")
			listing.Set(at, listed)
			delete(model, at)
			if listed {
				model[at] = true
			}
		}
		var want []Position
		for at := range model {
			want = append(want, at)
		}
		slices.SortFunc(want, func(a, b Position) int {
			if a.newer(b) {
				return -1
			}
			return 1
		})
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		var got []Position
		for from := (Position{}); ; from = got[len(got)-1] {
			page := listing.After(from, limit)
			got = append(got, page...)
			if len(page) < limit {
				break
			}
		}
		if !slices.Equal(got, want) || listing.Len() != len(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
