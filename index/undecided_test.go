package index

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/id"
)

// TestUndecidedAnswerAsTheModel applies random changes to the index and to a set, and compares what
// they find in some projects.
func TestUndecidedAnswerAsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, undecided, model := drawn{t}, NewUndecided(), map[ReviewPlace]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			project := d.project()
			one := id.ID{0: 4, 14: d.ByteRange("contribution", 1, 6), 15: project[15]}
			if rapid.IntRange(0, 9).Draw(t, "replace") == 0 {
				for place := range model {
					if place.Project == project {
						delete(model, place)
					}
				}
				model[ReviewPlace{one, project}] = true
				undecided.replace(project, []id.ID{one})
			} else {
				waits := rapid.Bool().Draw(t, "waits")
				undecided.set(project, one, waits)
				if delete(model, ReviewPlace{one, project}); waits {
					model[ReviewPlace{one, project}] = true
				}
			}
			asked := []id.ID{d.project()}
			if other := d.project(); other != asked[0] {
				asked = append(asked, other)
			}
			after := id.ID{0: 4, 14: d.ByteRange("after", 0, 6)}
			limit := rapid.IntRange(1, 5).Draw(t, "limit")
			var want []ReviewPlace
			for place := range model {
				if slices.Contains(asked, place.Project) && place.Contribution.Compare(after) > 0 {
					want = append(want, place)
				}
			}
			slices.SortFunc(want, func(a, b ReviewPlace) int {
				return a.Contribution.Compare(b.Contribution)
			})
			want = want[:min(len(want), limit)]
			if got := undecided.Of(asked, after, limit); !slices.Equal(got, want) {
				t.Fatalf("of %v after %v: %v, want %v", asked, after, got, want)
			}
		}
	})
}
