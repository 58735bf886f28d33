package index

import (
	"slices"

	"pws/internal/id"
	"pws/work"
)

// ClaimPlace is a live claim: when it expires, its task, and the project of the task.
type ClaimPlace struct {
	Expiry
	Project id.ID
}

// amongSeenMax bounds how many tasks one query looks at.
const amongSeenMax = 100_000

// Among finds what is under way in some projects now: up to limit live claims of each, the one that
// expires first is the first, and up to limit BLOCKED tasks of each, the oldest first. It looks at
// the unfinished tasks of these projects, in their order, at most 100,000.
func (t *Tasks) Among(
	projects []id.ID, now int64, limit int,
) (claims []ClaimPlace, blocked []TaskPlace) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	seen := 0
	for _, project := range projects {
		p := t.mu.projects[project]
		if p == nil {
			continue
		}
		if seen += len(p.nodes); seen > amongSeenMax {
			break
		}
		firstClaim, firstBlocked := len(claims), len(blocked)
		for _, n := range p.nodes {
			status := n.record.Status
			switch until := n.record.Until; {
			case until > now:
				claims = append(claims, ClaimPlace{n.record.expiry(), project})
			case until != 0:
				status = n.record.Then
			}
			if status == work.TaskBlocked {
				blocked = append(blocked, placeOf(n))
			}
		}
		slices.SortFunc(claims[firstClaim:], func(a, b ClaimPlace) int { return a.compare(b.Expiry) })
		claims = claims[:min(len(claims), firstClaim+limit)]
		blocked = blocked[:min(len(blocked), firstBlocked+limit)]
	}
	slices.SortFunc(claims, func(a, b ClaimPlace) int { return a.compare(b.Expiry) })
	slices.SortFunc(blocked, func(a, b TaskPlace) int { return a.Task.Compare(b.Task) })
	return claims, blocked
}
