package work

import (
	"maps"
	"slices"
)

// renames holds the files that moved to other paths between two trees.
type renames struct {
	// sourceOf maps the new paths of the files to the old ones, targetOf is the reverse.
	sourceOf, targetOf map[string]string
	// checks counts the moves that were examined.
	checks int
}

func newRenames() renames {
	return renames{sourceOf: map[string]string{}, targetOf: map[string]string{}}
}

// add adds a move. A file has at most one new path, so a second move of it must not be added.
func (r *renames) add(source, target string) {
	r.sourceOf[target], r.targetOf[source] = source, target
}

func (r *renames) drop(target string) {
	delete(r.targetOf, r.sourceOf[target])
	delete(r.sourceOf, target)
}

// settle keeps the moves whose source was deleted or was itself taken by a rename, and whose target
// was free or was itself renamed away: chains and rings. The others are no renames, but changes of
// both paths. The functions report whether there was a file at a path before all moves, and whether
// there is one after them. The work is linear in the moves, apart from sorting them.
func (r *renames) settle(before, after func(path string) bool) {
	holds := func(target, source string) bool {
		r.checks++
		_, taken := r.sourceOf[source]
		_, left := r.targetOf[target]
		return (taken || !after(source)) && (left || !before(target))
	}
	pending := slices.Sorted(maps.Keys(r.sourceOf))
	for len(pending) > 0 {
		target := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		source, renamed := r.sourceOf[target]
		if !renamed || holds(target, source) {
			continue
		}
		r.drop(target)
		// The renames that relied on this one are examined again.
		pending = append(pending, source)
		if relying, moved := r.targetOf[target]; moved {
			pending = append(pending, relying)
		}
	}
}
