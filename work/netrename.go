package work

import (
	"cmp"
	"slices"
)

// netRenames are the moves of an overlay that become a RENAME. Of a ring none does, because no
// order of its operations leaves room for the first one. Its work is linear in the moves.
type netRenames struct {
	renames
	files []Overlaid
}

func (p *Project) netRenames(base *Changeset, files []Overlaid) *netRenames {
	r := &netRenames{renames: newRenames(), files: files}
	for i := range files {
		one := &files[i]
		if !one.exists() || !isRename(*one) {
			continue
		}
		if _, moved := r.targetOf[one.From]; !moved {
			r.add(one.From, one.Path)
		}
	}
	r.settle(
		func(path string) bool { return p.fileStateAt(path, base) != nil },
		// A file that the overlay does not have is that of the base.
		func(path string) bool {
			one := overlaidAt(files, path)
			return one == nil || one.exists()
		},
	)
	r.dropRings()
	return r
}

// dropRings drops the renames that lead back to their own path.
func (r *netRenames) dropRings() {
	seen := make(map[string]bool, len(r.sourceOf))
	for i := range r.files {
		path, way := r.files[i].Path, []string(nil)
		for r.sourceOf[path] != "" && !seen[path] {
			r.checks++
			seen[path], way = true, append(way, path)
			path = r.sourceOf[path]
		}
		if len(way) > 0 && path == way[0] {
			for _, member := range way {
				r.drop(member)
			}
		}
	}
}

// operations returns the renames, each after the one that makes room for it: in rounds, in each of
// which the files are visited in their order.
func (r *netRenames) operations() []OpRecord {
	type turn struct{ round, at int }
	turns := make([]turn, 0, len(r.sourceOf))
	place := func(path string) int {
		at, _ := slices.BinarySearchFunc(r.files, Overlaid{Path: path}, byOverlaidPath)
		return at
	}
	for i := range r.files {
		path := r.files[i].Path
		if r.sourceOf[path] == "" || r.targetOf[path] != "" {
			continue
		}
		// Nothing waits to leave this path. The rename frees its source for the next one.
		next := turn{at: i}
		for r.sourceOf[path] != "" {
			r.checks++
			turns = append(turns, next)
			path = r.sourceOf[path]
			free := place(path)
			if free < next.at {
				next.round++
			}
			next.at = free
		}
	}
	slices.SortFunc(turns, func(a, b turn) int {
		return cmp.Or(a.round-b.round, a.at-b.at)
	})
	ops := make([]OpRecord, len(turns))
	for nth, one := range turns {
		file := &r.files[one.at]
		ops[nth] = file.operation(Rename, r.sourceOf[file.Path])
	}
	return ops
}
