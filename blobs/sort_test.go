package blobs

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortsAreThoseOfTheLibrary sorts lists of many lengths, with equal elements, all in one bucket
// and spread over all.
func TestSortsAreThoseOfTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, spread := range []uint64{1, 2, 255, 256, 257, 1 << 20, 1 << 63} {
		for _, n := range []int{0, 1, 2, 300, 2000} {
			entries, packings := make([]entry, n), make([]packing, n)
			for i := range n {
				binary.BigEndian.PutUint64(entries[i].hash[:], r.Uint64N(spread))
				binary.BigEndian.PutUint64(entries[i].hash[24:], r.Uint64N(spread))
				packings[i].prefix = prefix(&entries[i].hash)
				packings[i].position = r.Uint64N(spread) + 1<<62
			}
			yields := 0
			yield := func() { yields++ }
			gotEntries := slices.Clone(entries)
			sortByHash(gotEntries, yield)
			slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.hash[:], b.hash[:]) })
			if !slices.EqualFunc(gotEntries, entries, func(a, b entry) bool { return a.hash == b.hash }) {
				t.Errorf("%d entries of %d hashes are not sorted", n, spread)
			}
			for i := range entries {
				entries[i].block, entries[i].at = r.Uint64N(spread)+1<<40, r.Uint32N(9)
			}
			byBlock := func(a, b entry) int {
				return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.at, b.at))
			}
			gotEntries = slices.Clone(entries)
			sortByBlock(gotEntries, yield)
			if !slices.IsSortedFunc(gotEntries, byBlock) {
				t.Errorf("%d entries of %d blocks are not sorted", n, spread)
			}
			gotPackings := slices.Clone(packings)
			sortByPosition(gotPackings, yield)
			slices.SortFunc(packings, func(a, b packing) int {
				return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.prefix, b.prefix))
			})
			if !slices.Equal(gotPackings, packings) {
				t.Errorf("%d blobs of %d positions are not sorted", n, spread)
			}
			if yields < 3*sortBuckets {
				t.Errorf("%d yields", yields)
			}
		}
	}
}
