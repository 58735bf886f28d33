package index

import (
	"slices"

	"pws/internal/id"
)

// ShareByOwner sorts a list that will be cut, so that no other agent can displace what an agent
// owns: what the agent owns comes first, then one of each other owner, then the second of each, and
// so on. Of one owner the order stays.
func ShareByOwner[T any](list []T, agent id.ID, owner func(one T) id.ID) []T {
	type turn struct {
		one   T
		round int
	}
	turns, rounds := make([]turn, len(list)), map[id.ID]int{}
	for i, one := range list {
		of := owner(one)
		if turns[i].one = one; of != agent {
			rounds[of]++
			turns[i].round = rounds[of]
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return a.round - b.round })
	shared := make([]T, len(list))
	for i := range turns {
		shared[i] = turns[i].one
	}
	return shared
}
