package index_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pws/index"
	"pws/internal/id"
)

// TestWatchesAgainstAMap adds and removes random watches.
func TestWatchesAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		watches, all := index.NewWatches(), map[[2]int]int64{}
		draw := func(most int) int { return rapid.IntRange(1, most).Draw(t, "n") }
		for now := range int64(draw(60)) {
			agent, project := draw(4), draw(6)
			if draw(3) == 1 {
				watches.Drop(numbered(agent), numbered(project))
				delete(all, [2]int{agent, project})
				continue
			}
			watches.Set(numbered(agent), index.Watched{Project: numbered(project), Since: now})
			all[[2]int{agent, project}] = now
		}
		for agent := range 5 {
			var want []index.Watched
			for project := range 7 {
				since, watching := all[[2]int{agent, project}]
				if watching {
					want = append(want, index.Watched{Project: numbered(project), Since: since})
				}
				if watches.Watching(numbered(agent), numbered(project)) != watching {
					t.Errorf("agent %d and project %d: want %t", agent, project, watching)
				}
			}
			if got := watches.Of(numbered(agent)); !slices.Equal(got, want) {
				t.Errorf("agent %d watches %v, want %v", agent, got, want)
			}
		}
		if watches.Of(id.ID{}) != nil {
			t.Error("a project is watched by nobody")
		}
	})
}
