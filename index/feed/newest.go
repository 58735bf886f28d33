package feed

import (
	"errors"
	"os"
	"sort"

	"pws/internal/id"
)

// Step says how to go on AFTER a record.
type Step uint8

// The steps.
const (
	// Next goes on.
	Next Step = iota
	// Leave goes on without the project of the record.
	Leave
	// End does not go on.
	End
)

// Newest yields the records of some projects in front of a position, the newest first. Only those
// that are yielded are read. The error is damage, or what kept it from reading.
func (l *Log) Newest(before Position, projects []id.ID, yield func(*Record) Step) error {
	v, chains := l.chainsOf(projects)
	number, err := v.behind(before.before())
	if err != nil {
		return l.unlessGone(v, err)
	}
	merge := make(ends, 0, len(chains))
	for _, chain := range chains {
		end := sort.Search(len(chain), func(at int) bool {
			return v.base+uint64(chain[at]) >= number
		})
		if end > 0 {
			merge = append(merge, chain[:end])
		}
	}
	for at := len(merge)/2 - 1; at >= 0; at-- {
		merge.sink(at)
	}
	for len(merge) > 0 {
		chain := merge[0]
		record, err := v.record(v.base + uint64(chain[len(chain)-1]))
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

// chainsOf is the log as one reader sees it, with the chains of some projects.
func (l *Log) chainsOf(projects []id.ID) (v *view, chains [][]uint32) {
	chains = make([][]uint32, 0, len(projects))
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, project := range projects {
		if chain := l.mu.chains[project]; len(chain) > 0 {
			chains = append(chains, chain)
		}
	}
	return &view{state: l.mu.state, decoded: &l.decoded, base: l.mu.base, whole: true}, chains
}

// unlessGone is an error, but for that of records that are not kept any more since a view was
// taken: what is older is not either.
func (l *Log) unlessGone(v *view, err error) error {
	if errors.Is(err, os.ErrClosed) && l.view(new(Query)).first != v.first {
		return nil
	}
	return err
}

// ends are the ends of chains that are merged from there: a heap, the newest on top. That of
// container/heap would make the merge take half as long again or more, for it calls through an
// interface, and allocate for each chain that ends.
type ends [][]uint32

func (e ends) newer(a, b int) bool { return e[a][len(e[a])-1] > e[b][len(e[b])-1] }

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
