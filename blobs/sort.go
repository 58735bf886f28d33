package blobs

import (
	"bytes"
	"cmp"
	"slices"
)

// sortBuckets is the number of parts in which a list is sorted.
const sortBuckets = 256

// sortByHash sorts entries, in parts between which it yields. It returns another array.
func sortByHash(all []entry, yield func()) []entry {
	return sortParts(all, func(e *entry) int { return int(e.hash[0]) }, func(a, b entry) int {
		return bytes.Compare(a.hash[:], b.hash[:])
	}, yield)
}

// sortByPosition sorts blobs by the positions of their entries, and by their hashes within one.
func sortByPosition(all []packing, yield func()) []packing {
	first, last := ^uint64(0), uint64(0)
	for at := range all {
		first, last = min(first, all[at].position), max(last, all[at].position)
	}
	width := (last-first)/sortBuckets + 1
	return sortParts(all, func(p *packing) int { return int((p.position - first) / width) },
		func(a, b packing) int {
			return cmp.Or(cmp.Compare(a.position, b.position), bytes.Compare(a.hash[:], b.hash[:]))
		}, yield)
}

// sortParts divides a list into buckets, whose order is that of their elements, and sorts each.
func sortParts[T any](
	all []T, bucket func(*T) int, compare func(a, b T) int, yield func(),
) []T {
	var ends [sortBuckets]int
	for at := range all {
		ends[bucket(&all[at])]++
	}
	sum := 0
	for at := range ends {
		sum, ends[at] = sum+ends[at], sum
	}
	yield()
	sorted := make([]T, len(all))
	for at := range all {
		b := bucket(&all[at])
		sorted[ends[b]] = all[at]
		ends[b]++
	}
	first := 0
	for _, end := range ends {
		yield()
		slices.SortFunc(sorted[first:end], compare)
		first = end
	}
	return sorted
}
