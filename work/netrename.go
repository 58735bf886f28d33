package work

import (
	"cmp"
	"slices"
)

// netRenames are the moves of an overlay that become a RENAME: those whose source was deleted or
// was itself taken by a rename, and whose target was free or was itself renamed away. Of a cycle
// none does. Its work is linear in the moves.
type netRenames struct {
	project *Project
	base    *Changeset
	files   []Overlaid
	// sourceOf maps the paths of renamed files to their sources, targetOf is the reverse.
	sourceOf, targetOf map[string]string
	// checks counts the moves that were examined.
	checks int
}

func (p *Project) netRenames(base *Changeset, files []Overlaid) *netRenames {
	r := &netRenames{
		project: p, base: base, files: files,
		sourceOf: map[string]string{}, targetOf: map[string]string{},
	}
	var pending []string
	for i := range files {
		one := &files[i]
		if !one.exists() || one.From == "" || one.From == one.Path {
			continue
		}
		if _, moved := r.targetOf[one.From]; !moved {
			r.sourceOf[one.Path], r.targetOf[one.From] = one.From, one.Path
			pending = append(pending, one.Path)
		}
	}
	for len(pending) > 0 {
		path := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		source, renamed := r.sourceOf[path]
		if !renamed || r.holds(path, source) {
			continue
		}
		r.drop(path)
		// The renames that relied on this one are examined again.
		pending = append(pending, source)
		if relying, moved := r.targetOf[path]; moved {
			pending = append(pending, relying)
		}
	}
	r.dropRings()
	return r
}

func (r *netRenames) drop(path string) {
	delete(r.targetOf, r.sourceOf[path])
	delete(r.sourceOf, path)
}

// holds reports whether the source leaves its path, and the target is free or leaves it too.
func (r *netRenames) holds(path, source string) bool {
	r.checks++
	before := overlaidAt(r.files, source)
	if before == nil || before.exists() && r.sourceOf[source] == "" {
		return false
	}
	return r.targetOf[path] != "" || r.project.fileStateAt(path, r.base) == nil
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
