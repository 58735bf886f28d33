package index

import heaps "container/heap"

// merge yields the values of several sorted lists in order.
type merge[T any] struct {
	less  func(a, b T) bool
	lists [][]T
}

// add adds a sorted list. The values before its first one must not have been yielded yet.
func (m *merge[T]) add(list []T) {
	if len(list) > 0 {
		heaps.Push(m, list)
	}
}

// upTo yields the values before a bound, until yield returns false.
func (m *merge[T]) upTo(bound T, yield func(one T) bool) (goOn bool) {
	for len(m.lists) > 0 && m.less(m.lists[0][0], bound) {
		if !yield(m.next()) {
			return false
		}
	}
	return true
}

// rest yields all values that are left, until yield returns false.
func (m *merge[T]) rest(yield func(one T) bool) {
	for len(m.lists) > 0 && yield(m.next()) {
	}
}

// next removes the first value.
func (m *merge[T]) next() (one T) {
	one = m.lists[0][0]
	if m.lists[0] = m.lists[0][1:]; len(m.lists[0]) == 0 {
		heaps.Pop(m)
	} else {
		heaps.Fix(m, 0)
	}
	return one
}

// Len implements heap.Interface.
func (m *merge[T]) Len() int { return len(m.lists) }

// Less implements heap.Interface.
func (m *merge[T]) Less(i, j int) bool { return m.less(m.lists[i][0], m.lists[j][0]) }

// Swap implements heap.Interface.
func (m *merge[T]) Swap(i, j int) { m.lists[i], m.lists[j] = m.lists[j], m.lists[i] }

// Push implements heap.Interface.
func (m *merge[T]) Push(list any) { m.lists = append(m.lists, list.([]T)) }

// Pop implements heap.Interface.
func (m *merge[T]) Pop() any {
	last := len(m.lists) - 1
	list := m.lists[last]
	m.lists = m.lists[:last]
	return list
}
