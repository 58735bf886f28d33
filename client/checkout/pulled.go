package checkout

import (
	"slices"
	"strings"
)

// The kinds of a Conflict.
const (
	// ConflictText is a file with conflict markers.
	ConflictText = "TEXT"
	// ConflictDeletedHere is a file that was deleted here and changed on the server: it is back.
	ConflictDeletedHere = "DELETED_HERE"
	// ConflictDeletedThere is a file that was changed here and deleted on the server: it stays.
	ConflictDeletedThere = "DELETED_ON_SERVER"
)

// Conflict is a file that was changed on both sides.
type Conflict struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
}

// Reason is what follows the path in a sentence.
func (c Conflict) Reason() string {
	switch c.Kind {
	case ConflictDeletedHere:
		return "was deleted here and changed on the server: it is back"
	case ConflictDeletedThere:
		return "was changed here and deleted on the server: it stays here"
	}
	return hasMarkers
}

// Pulled is what a pull has done. The lists are sorted.
type Pulled struct {
	// Changeset is the one that the base is now.
	Changeset string `json:"changeset_id"`
	// Written and Deleted are the files that were taken from the server.
	Written []string `json:"written"`
	Deleted []string `json:"deleted"`
	// Merged are the files with the changes of both sides.
	Merged    []string   `json:"merged"`
	Conflicts []Conflict `json:"conflicts"`
	// LeftOut are files of the project that are not in the directory.
	LeftOut []LeftOut `json:"left_out"`
	// Published are the changesets of a push that was killed, which the pull has completed.
	Published []string `json:"published"`
}

// conflict notes a conflict, in place of what the pull was to do with the file.
func (d *Pulled) conflict(name, kind string) {
	d.drop(name)
	d.Conflicts = append(d.Conflicts, Conflict{name, kind})
}

// leave notes a file that does not become that of the server.
func (d *Pulled) leave(name, reason string) {
	d.drop(name)
	d.LeftOut = append(d.LeftOut, LeftOut{name, reason})
}

// drop removes a file from the result.
func (d *Pulled) drop(name string) {
	d.Written, d.Deleted = without(d.Written, name), without(d.Deleted, name)
	d.Merged = without(d.Merged, name)
	d.Conflicts = slices.DeleteFunc(d.Conflicts, func(c Conflict) bool { return c.Path == name })
	d.LeftOut = slices.DeleteFunc(d.LeftOut, func(l LeftOut) bool { return l.Path == name })
}

func without(all []string, one string) []string {
	return slices.DeleteFunc(all, func(other string) bool { return other == one })
}

// include adds what an earlier pull has done. Of a file that both have changed the later change
// counts, but a conflict stays: nobody has seen it yet.
func (d *Pulled) include(earlier Pulled) {
	later := map[string]bool{}
	for _, name := range d.Deleted {
		later[name] = true
	}
	for _, one := range d.Conflicts {
		later[one.Path] = true
	}
	for _, one := range earlier.Conflicts {
		if !later[one.Path] {
			d.conflict(one.Path, one.Kind)
		}
	}
	for _, name := range slices.Concat(d.Written, d.Merged) {
		later[name] = true
	}
	for _, one := range d.LeftOut {
		later[one.Path] = true
	}
	for _, one := range earlier.LeftOut {
		if !later[one.Path] {
			d.LeftOut = append(d.LeftOut, one)
		}
	}
	add := func(to *[]string, from []string) {
		for _, name := range from {
			if !later[name] {
				*to = append(*to, name)
			}
		}
	}
	add(&d.Written, earlier.Written)
	add(&d.Deleted, earlier.Deleted)
	add(&d.Merged, earlier.Merged)
	d.Published = slices.Insert(d.Published, 0, earlier.Published...)
	d.sort()
}

// sort sorts the lists of files.
func (d *Pulled) sort() {
	for _, names := range [][]string{d.Written, d.Deleted, d.Merged} {
		slices.Sort(names)
	}
	slices.SortFunc(d.Conflicts, func(a, b Conflict) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(d.LeftOut, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
}
