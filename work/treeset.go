package work

import "github.com/tidwall/btree"

// treeSet is an ordered copy-on-write set: the first write after a Clone copies the tree. The order
// must be total.
type treeSet[T any] struct {
	tree *btree.BTreeG[T]
	// shared means that an older state reads the same tree.
	shared bool
}

// treeSetDegree keeps nodes small, because each write copies the nodes on its path.
const treeSetDegree = 16

func newTreeSet[T any](less func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: treeSetDegree})
}

// set adds an element, or replaces the equal one.
func (t *treeSet[T]) set(one T, less func(a, b T) bool) {
	t.own(less)
	t.tree.Set(one)
}

// remove removes an element, if it is in the set.
func (t *treeSet[T]) remove(one T, less func(a, b T) bool) {
	t.own(less)
	t.tree.Delete(one)
}

func (t *treeSet[T]) own(less func(a, b T) bool) {
	switch {
	case t.tree == nil:
		t.tree = newTreeSet(less)
	case t.shared:
		t.tree = t.tree.Copy()
	}
	t.shared = false
}

func (t *treeSet[T]) len() int {
	if t.tree == nil {
		return 0
	}
	return t.tree.Len()
}

// scan yields all elements in order.
func (t *treeSet[T]) scan(yield func(T) bool) {
	if t.tree != nil {
		t.tree.Scan(yield)
	}
}

// at returns the nth element; nth must be less than len.
func (t *treeSet[T]) at(nth int) T {
	one, _ := t.tree.GetAt(nth)
	return one
}
