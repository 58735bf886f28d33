package sorted_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/sorted"
)

type pair struct{ key, value int }

func lessKey(a, b pair) bool { return a.key < b.key }

func byKey(a, b pair) int { return cmp.Compare(a.key, b.key) }

// TestSet compares sets with lists. Each step changes a copy of one of the sets so far, which must
// all stay as they were.
func TestSet(t *testing.T) {
	order := sorted.By(lessKey, 4)
	rapid.Check(t, func(t *rapid.T) {
		sets, lists := []sorted.Set[pair]{order.New()}, [][]pair{nil}
		key := rapid.IntRange(0, 40)
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			of := rapid.IntRange(0, len(sets)-1).Draw(t, "of")
			set, list := sets[of].Copy(), slices.Clone(lists[of])
			one := pair{key.Draw(t, "key"), step}
			at, known := slices.BinarySearchFunc(list, one, byKey)
			if rapid.Bool().Draw(t, "delete") {
				was, found := set.Delete(one)
				if found != known || known && was != list[at] {
					t.Fatalf("delete %d: %v %v", one.key, was, found)
				}
				if known {
					list = slices.Delete(list, at, at+1)
				}
			} else if was, replaced := set.Set(one); replaced != known || known && was != list[at] {
				t.Fatalf("set %d: %v %v", one.key, was, replaced)
			} else if known {
				list[at] = one
			} else {
				list = slices.Insert(list, at, one)
			}
			sets, lists = append(sets, set), append(lists, list)
		}
		for nth, set := range sets {
			checkSet(t, set, lists[nth], key.Draw(t, "from"))
		}
	})
}

func checkSet(t *rapid.T, set sorted.Set[pair], list []pair, from int) {
	var all, above, below []pair
	set.Scan(func(one pair) bool { all = append(all, one); return true })
	set.Ascend(pair{key: from}, func(one pair) bool { above = append(above, one); return true })
	set.Descend(pair{key: from}, func(one pair) bool { below = append(below, one); return true })
	slices.Reverse(below)
	at, known := slices.BinarySearchFunc(list, pair{key: from}, byKey)
	end := at
	if known {
		end++
	}
	if !slices.Equal(all, list) || !slices.Equal(above, list[at:]) ||
		!slices.Equal(below, list[:end]) || set.Len() != len(list) {
		t.Fatalf("%v, from %d up %v and down %v, length %d; want %v", all, from, above, below,
			set.Len(), list)
	}
	one, found := set.Get(pair{key: from})
	if found != known || known && one != list[at] {
		t.Fatalf("get %d: %v %v of %v", from, one, found, list)
	}
	first, any := set.Min()
	if any != (len(list) > 0) || any && first != list[0] {
		t.Fatalf("the first is %v %v of %v", first, any, list)
	}
	for nth, want := range list {
		if got, _ := set.GetAt(nth); got != want {
			t.Fatalf("%v is at %d of %v", got, nth, list)
		}
	}
}

// TestMap compares maps with lists likewise.
func TestMap(t *testing.T) {
	type entry struct {
		key   string
		value int
	}
	rapid.Check(t, func(t *rapid.T) {
		maps, lists := []sorted.Map[int]{sorted.NewMap[int]()}, [][]entry{nil}
		key := rapid.StringN(0, 2, 2)
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			of := rapid.IntRange(0, len(maps)-1).Draw(t, "of")
			one, list := maps[of].Copy(), slices.Clone(lists[of])
			if rapid.Bool().Draw(t, "frozen") {
				one = one.CopyFrozen()
			}
			next := entry{key.Draw(t, "key"), step}
			at, known := slices.BinarySearchFunc(list, next.key, func(e entry, key string) int {
				return cmp.Compare(e.key, key)
			})
			if rapid.Bool().Draw(t, "delete") {
				if was, found := one.Delete(next.key); found != known || known && was != list[at].value {
					t.Fatalf("delete %q: %v %v", next.key, was, found)
				}
				if known {
					list = slices.Delete(list, at, at+1)
				}
			} else if _, replaced := one.Set(next.key, next.value); replaced != known {
				t.Fatalf("set %q: %v", next.key, replaced)
			} else if known {
				list[at] = next
			} else {
				list = slices.Insert(list, at, next)
			}
			maps, lists = append(maps, one), append(lists, list)
		}
		for nth, one := range maps {
			var all, sought []entry
			one.Scan(func(key string, value int) bool {
				all = append(all, entry{key, value})
				return true
			})
			at := one.Entries()
			for more := at.Seek(""); more; more = at.Next() {
				sought = append(sought, entry{at.Key(), at.Value()})
			}
			if !slices.Equal(all, lists[nth]) || !slices.Equal(sought, lists[nth]) ||
				one.Len() != len(lists[nth]) {
				t.Fatalf("%v and %v, want %v", all, sought, lists[nth])
			}
		}
	})
}

// TestLoadAppendsInOrder adds elements in their order.
func TestLoadAppendsInOrder(t *testing.T) {
	set, texts := sorted.By(lessKey, sorted.Degree).New(), sorted.NewMap[int]()
	for nth := range 1000 {
		set.Load(pair{key: nth})
		texts.Load(string(rune('a'+nth)), nth)
	}
	if last, found := set.GetAt(999); !found || last.key != 999 || texts.Len() != 1000 {
		t.Errorf("%v %v, %d texts", last, found, texts.Len())
	}
}
