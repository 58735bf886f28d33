package feed

import (
	"slices"

	"pws/internal/id"
)

// Step is how to continue AFTER a record.
type Step uint8

// The steps.
const (
	// Next continues.
	Next Step = iota
	// Leave continues without the project of the record.
	Leave
	// End ends the walk.
	End
)

// Newest yields the records of some projects before a position, the newest first; from the newest
// of all on if before is zero. It reads only the yielded records. The error is damage or an I/O
// error.
func (l *Log) Newest(before Position, projects []id.ID, yield func(*Record) Step) error {
	projects = slices.Clone(projects)
	resumable := func(record *Record) Step {
		before = record.Position
		step := yield(record)
		if step == Leave {
			projects = slices.DeleteFunc(projects, func(one id.ID) bool { return one == record.Project })
		}
		return step
	}
	for {
		v, chains := l.view(projects...)
		if err := v.newest(before, chains, resumable); !v.outdated(l, err) {
			return err
		}
	}
}

func (v *view) newest(before Position, chains [][]uint32, yield func(*Record) Step) error {
	number, err := v.firstAfter(before.before())
	if err != nil {
		return err
	}
	merge := ends(chains[:0])
	for _, chain := range chains {
		if chain = chain[:v.search(chain, number)]; len(chain) > 0 {
			merge = append(merge, chain)
		}
	}
	for i := len(merge)/2 - 1; i >= 0; i-- {
		merge.siftDown(i)
	}
	for len(merge) > 0 {
		chain := merge[0]
		record, err := v.record(v.number(chain[len(chain)-1]))
		if err != nil {
			return err
		}
		chain = chain[:len(chain)-1]
		switch yield(record) {
		case Leave:
			chain = nil
		case End:
			return nil
		}
		if merge[0] = chain; len(chain) == 0 {
			last := len(merge) - 1
			merge[0], merge = merge[last], merge[:last]
		}
		merge.siftDown(0)
	}
	return nil
}

// ends are the ends of the chains to merge: a heap with the newest record on top. With
// container/heap the merge took at least 1.5 times as long, because it calls through an interface
// and allocates for each chain that ends.
type ends [][]uint32

// newer compares low halves of numbers. eventsMax keeps them less than half of their range apart.
func (e ends) newer(a, b int) bool { return int32(e[a][len(e[a])-1]-e[b][len(e[b])-1]) > 0 }

// siftDown restores the heap order below an element.
func (e ends) siftDown(at int) {
	for {
		child := 2*at + 1
		if child >= len(e) {
			return
		}
		if child+1 < len(e) && e.newer(child+1, child) {
			child++
		}
		if !e.newer(child, at) {
			return
		}
		e[at], e[child] = e[child], e[at]
		at = child
	}
}
