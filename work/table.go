package work

import "github.com/tidwall/btree"

// table is an ordered set that is copied when it is written for the first time after a Clone. The
// order never calls two different things equal.
type table[T any] struct {
	tree *btree.BTreeG[T]
	// shared says that an older state reads the same tree.
	shared bool
}

// tableDegree keeps nodes small, for each write copies those on its way.
const tableDegree = 16

func newTable[T any](less func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: tableDegree})
}

// set puts a thing in, or replaces the one that the order calls equal.
func (t *table[T]) set(one T, less func(a, b T) bool) {
	t.own(less)
	t.tree.Set(one)
}

// remove takes a thing out where it is in.
func (t *table[T]) remove(one T, less func(a, b T) bool) {
	t.own(less)
	t.tree.Delete(one)
}

func (t *table[T]) own(less func(a, b T) bool) {
	switch {
	case t.tree == nil:
		t.tree = newTable(less)
	case t.shared:
		t.tree = t.tree.Copy()
	}
	t.shared = false
}

func (t *table[T]) len() int {
	if t.tree == nil {
		return 0
	}
	return t.tree.Len()
}

// scan yields all in their order.
func (t *table[T]) scan(yield func(T) bool) {
	if t.tree != nil {
		t.tree.Scan(yield)
	}
}

// at is the nth in the order; there are more.
func (t *table[T]) at(nth int) T {
	one, _ := t.tree.GetAt(nth)
	return one
}
