package index_test

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"pws/index"
	"pws/internal/id"
)

func numbered(n int) (one id.ID) {
	binary.BigEndian.PutUint64(one[8:], uint64(n))
	return one
}

// TestLinksAgainstAList adds random links and asks for pages of each.
func TestLinksAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type place struct {
			link    index.Link
			project int
		}
		links, all := index.NewLinks(), map[place]bool{}
		draw := func(most int) int { return rapid.IntRange(1, most).Draw(t, "n") }
		for range draw(60) {
			one := place{index.Link{
				Kind: index.LinkKind(draw(2)), Thing: numbered(draw(3)),
			}, draw(20)}
			links.Add(numbered(one.project), one.link)
			all[one] = true
		}
		if links.Len() != len(all) {
			t.Fatalf("%d links, want %d", links.Len(), len(all))
		}
		link := index.Link{Kind: index.LinkKind(draw(2)), Thing: numbered(draw(3))}
		after, limit := draw(20)-1, draw(5)
		var want []int
		for one := range all {
			if one.link == link && one.project > after {
				want = append(want, one.project)
			}
		}
		slices.SortFunc(want, cmp.Compare)
		want = want[:min(limit, len(want))]
		got := links.Projects(link, numbered(after), limit)
		if len(got) != len(want) {
			t.Fatalf("%v behind %d, want %v", got, after, want)
		}
		for at := range got {
			if got[at] != numbered(want[at]) {
				t.Fatalf("%v behind %d, want %v", got, after, want)
			}
		}
	})
}

func TestLinksWhileTheyCome(t *testing.T) {
	const writers, each = 4, 200
	links, link := index.NewLinks(), index.Link{Kind: index.LinkRelation, Thing: numbered(1)}
	var all sync.WaitGroup
	for writer := range writers {
		all.Go(func() {
			for n := range each {
				links.Add(numbered(n*writers+writer+1), link)
				if found := links.Projects(link, id.ID{}, each*writers); len(found) <= n {
					t.Errorf("%d found after %d were added", len(found), n+1)
				}
			}
		})
	}
	all.Wait()
	if found := links.Projects(link, id.ID{}, 2*each*writers); len(found) != each*writers ||
		!slices.IsSortedFunc(found, id.ID.Compare) {
		t.Errorf("%d found at the end", len(found))
	}
	if links.Projects(link, id.ID{}, 0) != nil {
		t.Error("a page of none has some")
	}
}
