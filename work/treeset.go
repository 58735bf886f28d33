package work

import (
	"slices"

	"pws/internal/sorted"
)

// treeSet is an ordered copy-on-write set: the first write after a Clone copies the tree.
type treeSet[T any] struct {
	// tree is nil for no elements.
	tree sorted.Set[T]
	// shared means that an older state reads the same tree.
	shared bool
}

// treeSetDegree keeps nodes small, because each write copies the nodes on its path.
const treeSetDegree = 16

// inOrder is the order of treeSets and smallSets in which less says whether a is before b.
func inOrder[T any](less func(a, b T) bool) sorted.Order[T] {
	return sorted.By(less, treeSetDegree)
}

// set adds an element, or replaces the equal one.
func (t *treeSet[T]) set(one T, order sorted.Order[T]) {
	t.own(order)
	t.tree.Set(one)
}

// remove removes an element, if it is in the set.
func (t *treeSet[T]) remove(one T, order sorted.Order[T]) {
	t.own(order)
	t.tree.Delete(one)
}

func (t *treeSet[T]) own(order sorted.Order[T]) {
	switch {
	case t.tree == nil:
		t.tree = order.New()
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

// smallSet is an ordered copy-on-write set that is small in most projects. A write copies the
// elements while they are few, which costs less than to copy the nodes of a tree.
type smallSet[T any] struct {
	// few are all elements in order, until they are more than fewMax. They are never changed.
	few  []T
	many treeSet[T]
}

// fewMax is the number of elements above which a smallSet is a tree.
const fewMax = 8

// find returns the place of an element, or the one at which it would be, among the few.
func (s *smallSet[T]) find(like T, order sorted.Order[T]) (nth int, found bool) {
	for nth < len(s.few) && order.Less(s.few[nth], like) {
		nth++
	}
	return nth, nth < len(s.few) && !order.Less(like, s.few[nth])
}

// get returns the element that is equal to another one in the order.
func (s *smallSet[T]) get(like T, order sorted.Order[T]) (one T, found bool) {
	if s.many.tree != nil {
		return s.many.tree.Get(like)
	}
	nth, found := s.find(like, order)
	if found {
		one = s.few[nth]
	}
	return one, found
}

// set adds an element, or replaces the equal one.
func (s *smallSet[T]) set(one T, order sorted.Order[T]) {
	if s.many.tree != nil {
		s.many.set(one, order)
		return
	}
	nth, found := s.find(one, order)
	switch {
	case found:
		s.few = slices.Clone(s.few)
		s.few[nth] = one
	case len(s.few) < fewMax:
		s.few = slices.Insert(slices.Clip(s.few), nth, one)
	default:
		for _, each := range s.few {
			s.many.set(each, order)
		}
		s.many.set(one, order)
		s.few = nil
	}
}

func (s *smallSet[T]) len() int { return len(s.few) + s.many.len() }

// scan yields all elements in order.
func (s *smallSet[T]) scan(yield func(T) bool) {
	for _, one := range s.few {
		if !yield(one) {
			return
		}
	}
	s.many.scan(yield)
}
