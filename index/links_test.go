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

// TestLinksAgainstAList adds random links and compares pages of each with a list.
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
				Kind: index.LinkKind(draw(2)), Target: numbered(draw(3)),
			}, draw(20)}
			links.Add(numbered(one.project), one.link)
			all[one] = true
		}
		if links.Len() != len(all) {
			t.Fatalf("%d links, want %d", links.Len(), len(all))
		}
		link := index.Link{Kind: index.LinkKind(draw(2)), Target: numbered(draw(3))}
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
		for i := range got {
			if got[i] != numbered(want[i]) {
				t.Fatalf("%v behind %d, want %v", got, after, want)
			}
		}
	})
}

// TestLinksCount adds links of projects whose readers change, and compares the counts for each
// reader with a walk over all links.
func TestLinksCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		links := index.NewLinks()
		if rapid.Bool().Draw(t, "low limit") {
			links.SetTalliesMax(2)
		}
		model := map[id.ID]*index.ProjectLinks{}
		draw := func(most int) int { return rapid.IntRange(1, most).Draw(t, "n") }
		audience := func() (readers index.Audience) {
			if readers.Open = draw(2) == 1; !readers.Open {
				readers.Members = []id.ID{numbered(draw(2)), numbered(2 + draw(2))}
			}
			return readers
		}
		link := func() index.Link {
			return index.Link{Kind: index.LinkKind(draw(3)), Target: numbered(draw(2))}
		}
		for range draw(50) {
			project := numbered(draw(4))
			known := model[project]
			switch draw(4) {
			case 1, 2:
				one := link()
				links.Add(project, one)
				if known == nil {
					known = new(index.ProjectLinks)
					model[project] = known
					known.Audience = audience()
				}
				known.Links = append(known.Links, index.LinkCount{Link: one, Times: 1})
				links.SetAudience(project, known.Audience)
			case 3:
				if known != nil {
					known.Audience = audience()
					links.SetAudience(project, known.Audience)
				}
			case 4:
				if known != nil {
					known.Audience = audience()
					links.Replace(project, *known)
				}
			}
		}
		one, reader := link(), numbered(draw(5)-1)
		want, counting := 0, map[id.ID]bool{}
		for project, known := range model {
			sees := known.Audience.Open || slices.Contains(known.Audience.Members, reader)
			for _, named := range known.Links {
				counting[project] = counting[project] || named.Kind.Counts()
				if named.Link == one && sees && one.Kind.Counts() {
					want++
				}
			}
		}
		if got := links.Count(one, reader); got != want {
			t.Fatalf("%v counts %d for %v, want %d", one, got, reader, want)
		}
		for project := range model {
			if got := links.Counting(project); got != counting[project] {
				t.Fatalf("%v counts: %t", project, got)
			}
		}
	})
}

func TestLinksDuringWrites(t *testing.T) {
	const writers, each = 4, 200
	links, link := index.NewLinks(), index.Link{Kind: index.LinkRelation, Target: numbered(1)}
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
		t.Error("a page with limit 0 is not empty")
	}
}
