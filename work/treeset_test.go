package work

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSmallSet compares a set with a map, while it has few elements and many, and with older
// states, which must stay as they were.
func TestSmallSet(t *testing.T) {
	type pair struct{ key, value int }
	byKey := inOrder(func(a, b pair) bool { return a.key < b.key })
	rapid.Check(t, func(t *rapid.T) {
		type state struct {
			set  smallSet[pair]
			want map[int]int
		}
		clone := func(s state) state {
			s.set.many.shared = true
			s.want = maps.Clone(s.want)
			return s
		}
		states := []state{{want: map[int]int{}}}
		keys := rapid.IntRange(1, 3*fewMax).Draw(t, "keys")
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			next := clone(states[len(states)-1])
			one := pair{rapid.IntRange(1, keys).Draw(t, "key"), step}
			next.set.set(one, byKey)
			next.want[one.key] = one.value
			states = append(states, next)
		}
		for _, s := range states {
			if s.set.len() != len(s.want) {
				t.Fatalf("it has %d elements, want %d", s.set.len(), len(s.want))
			}
			var all []pair
			s.set.scan(func(one pair) bool { all = append(all, one); return true })
			inOrder := slices.IsSortedFunc(all, func(a, b pair) int { return a.key - b.key })
			if len(all) != len(s.want) || !inOrder {
				t.Fatalf("it yields %v of %v", all, s.want)
			}
			for key := range keys + 1 {
				value, known := s.want[key]
				if got, found := s.set.get(pair{key: key}, byKey); found != known || got.value != value {
					t.Fatalf("%d is %v %v, want %d %v", key, got, found, value, known)
				}
			}
		}
	})
}
