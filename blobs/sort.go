package blobs

import (
	"bytes"
	"cmp"
	"slices"
)

// sortBuckets is the number of parts in which a list is sorted.
const sortBuckets = 256

// sortByHash sorts entries, in parts between which it yields.
func sortByHash(all []entry, yield func()) {
	sortParts(all, func(e *entry) int { return int(e.hash[0]) }, func(a, b entry) int {
		return bytes.Compare(a.hash[:], b.hash[:])
	}, yield)
}

// sortByBlock sorts entries in the order of the file.
func sortByBlock(all []entry, yield func()) {
	sortByNumber(all, func(e *entry) uint64 { return e.block }, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.at, b.at))
	}, yield)
}

// sortByPosition sorts blobs by the positions of their entries, and by their hashes within one.
func sortByPosition(all []packing, yield func()) {
	sortByNumber(all, func(p *packing) uint64 { return p.position }, func(a, b packing) int {
		return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.prefix, b.prefix))
	}, yield)
}

// sortByNumber sorts by an order whose first part is a number.
func sortByNumber[T any](
	all []T, number func(*T) uint64, compare func(a, b T) int, yield func(),
) {
	first, last := ^uint64(0), uint64(0)
	for i := range all {
		n := number(&all[i])
		first, last = min(first, n), max(last, n)
	}
	width := (last-first)/sortBuckets + 1
	sortParts(all, func(one *T) int { return int((number(one) - first) / width) }, compare, yield)
}

// sortParts divides a list into buckets, whose order is that of their elements, and sorts each. It
// takes no memory.
func sortParts[T any](
	all []T, bucket func(*T) int, compare func(a, b T) int, yield func(),
) {
	var ends [sortBuckets]int
	for i := range all {
		ends[bucket(&all[i])]++
	}
	next := ends
	sum := 0
	for i := range ends {
		next[i], sum = sum, sum+ends[i]
		ends[i] = sum
	}
	yield()
	for i, end := range ends {
		for next[i] < end {
			// The first element that is not placed goes to the next place of its bucket.
			to := bucket(&all[next[i]])
			if to != i {
				all[next[i]], all[next[to]] = all[next[to]], all[next[i]]
			}
			next[to]++
		}
	}
	first := 0
	for _, end := range ends {
		yield()
		slices.SortFunc(all[first:end], compare)
		first = end
	}
}
