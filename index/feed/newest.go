package feed

import (
	"errors"
	"os"

	"pws/internal/id"
)

// Step says how to continue AFTER a record.
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

// Newest yields the records of some projects in front of a position, the newest first. Only those
// that are yielded are read. The error is damage, or what kept it from reading.
func (l *Log) Newest(before Position, projects []id.ID, yield func(*Record) Step) error {
	v, chains := l.view(projects...)
	number, err := v.behind(before.before())
	if err != nil {
		return l.unlessGone(v, err)
	}
	merge := ends(chains[:0])
	for _, chain := range chains {
		if chain = chain[:v.search(chain, number)]; len(chain) > 0 {
			merge = append(merge, chain)
		}
	}
	for at := len(merge)/2 - 1; at >= 0; at-- {
		merge.sink(at)
	}
	for len(merge) > 0 {
		chain := merge[0]
		record, err := v.record(v.number(chain[len(chain)-1]))
		if err != nil {
			return l.unlessGone(v, err)
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
		merge.sink(0)
	}
	return nil
}

// unlessGone is an error, but for that of records that were removed since a view was taken: what is
// older was removed too.
func (l *Log) unlessGone(v *view, err error) error {
	if errors.Is(err, os.ErrClosed) && l.snapshot().first != v.first {
		return nil
	}
	return err
}

// ends are the ends of chains that are merged from there: a heap, the newest on top. That of
// container/heap would make the merge take half as long again or more, for it calls through an
// interface, and allocate for each chain that ends.
type ends [][]uint32

// newer compares low halves of numbers, which eventsMax keeps less than half of their range apart.
func (e ends) newer(a, b int) bool { return int32(e[a][len(e[a])-1]-e[b][len(e[b])-1]) > 0 }

// sink moves one down to its place.
func (e ends) sink(at int) {
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
