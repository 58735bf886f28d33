package work

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pws/internal/id"
)

// netByRounds is netOperations by repeated rounds over all files, as a reference.
func netByRounds(p *Project, base *Changeset, files []Overlaid) (ops []OpRecord) {
	renames, sources := map[string]string{}, map[string]string{}
	for i := range files {
		one := &files[i]
		if one.exists() && one.From != "" && one.From != one.Path {
			renames[one.Path], sources[one.From] = one.From, one.Path
		}
	}
	drop := func(path string) {
		delete(sources, renames[path])
		delete(renames, path)
	}
	for settled := false; !settled; {
		settled = true
		for path, from := range renames {
			source := overlaidAt(files, from)
			stays := source == nil || source.exists() && renames[from] == ""
			if stays || p.fileStateAt(path, base) != nil && sources[path] == "" {
				drop(path)
				settled = false
			}
		}
	}
	for path := range renames {
		at := renames[path]
		for at != "" && at != path {
			at = renames[at]
		}
		for at == path && renames[path] != "" {
			next := renames[at]
			drop(at)
			at, path = next, next
		}
	}
	var rest []OpRecord
	for i := range files {
		one := &files[i]
		before := p.fileStateAt(one.Path, base)
		switch {
		case renames[one.Path] != "":
		case !one.exists():
			if before != nil && sources[one.Path] == "" {
				ops = append(ops, OpRecord{Action: Delete, Path: one.Path})
			}
		case before == nil:
			rest = append(rest, one.operation(Create, ""))
		case !one.is(before):
			rest = append(rest, one.operation(Modify, ""))
		}
	}
	for len(renames) > 0 {
		for i := range files {
			one := &files[i]
			if from, waits := renames[one.Path]; waits && sources[one.Path] == "" {
				ops = append(ops, one.operation(Rename, from))
				delete(renames, one.Path)
				delete(sources, from)
			}
		}
	}
	return append(ops, rest...)
}

// treeOf is a project whose only changeset creates files with the contents of their names.
func treeOf(paths ...string) *Project {
	p, published := NewProject(), ChangesetPublished{ID: id.New(1, [10]byte{})}
	for _, path := range paths {
		published.Ops = append(published.Ops, OpRecord{
			Action: Create, Path: path, Blob: Hash{path[0]}, Size: 1, Type: "text/plain",
		})
	}
	p.publish(&published, id.ID{}, 1)
	return p
}

func TestNetOperationsAreThoseOfRounds(t *testing.T) {
	counts := map[Action]int{}
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 1))
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}[:2+random.IntN(7)]
		var existing []string
		for _, name := range names {
			if random.IntN(4) > 0 {
				existing = append(existing, name)
			}
		}
		p := treeOf(existing...)
		sources := slices.Clone(existing)
		random.Shuffle(len(sources), func(i, j int) {
			sources[i], sources[j] = sources[j], sources[i]
		})
		var files []Overlaid
		for _, name := range names {
			one := Overlaid{Path: name, Blob: Hash{name[0]}, Size: 1, Type: "text/plain"}
			switch kind := random.IntN(6); {
			case kind == 0:
				continue
			case kind == 1:
				one = Overlaid{Path: name}
			case kind == 2:
				one.Blob = Hash{99}
			case len(sources) > 0:
				one.From, one.Blob = sources[0], Hash{sources[0][0]}
				sources = sources[1:]
			}
			files = append(files, one)
		}
		want, got := netByRounds(p, p.Head(), files), p.netOperations(p.Head(), files)
		if !slices.Equal(want, got) {
			t.Fatalf("seed %d, %v onto %v:\n%v, want\n%v", seed, files, existing, got, want)
		}
		for i := range got {
			counts[got[i].Action]++
		}
	}
	for _, action := range []Action{Create, Modify, Delete, Rename} {
		if counts[action] < 1000 {
			t.Errorf("%d operations %s: too few to test anything", counts[action], action)
		}
	}
}

// moved is an overlay in which each file moved to the path of the next one. The last one moves to a
// path that is free, or else to one that keeps its file, so that no move is a rename.
func moved(files int, free, ascending bool) (*Project, []Overlaid) {
	name := func(nth int) string {
		if !ascending {
			nth = files - nth
		}
		return fmt.Sprintf("%0*d", 40, nth)
	}
	var paths []string
	overlay := []Overlaid{{Path: name(0)}}
	for n := range files {
		paths = append(paths, name(n))
		overlay = append(overlay, Overlaid{
			Path: name(n + 1), From: name(n), Blob: Hash{byte(n), 1}, Size: 1, Type: "text/plain",
		})
	}
	if !free {
		paths = append(paths, name(files))
	}
	slices.SortFunc(overlay, byOverlaidPath)
	return treeOf(paths...), overlay
}

// Twice as many moves take twice as many steps, whether they hold, hold in an order that is the
// worst one, or all fall one after the other.
func TestRenamesTakeLinearSteps(t *testing.T) {
	for _, free := range []bool{true, false} {
		for _, ascending := range []bool{true, false} {
			steps := func(files int) int {
				p, overlay := moved(files, free, ascending)
				renames := p.netRenames(p.Head(), overlay)
				if ops := renames.operations(); free != (len(ops) == files) {
					t.Fatalf("free %t: %d of %d moves are renames", free, len(ops), files)
				}
				return renames.checks
			}
			if few, many := steps(200), steps(400); many > 2*few+10 || few > 5*200 {
				t.Errorf("free %t, ascending %t: %d steps for 200 moves, %d for 400", free,
					ascending, few, many)
			}
		}
	}
}

func BenchmarkNetOperations(b *testing.B) {
	for _, free := range []bool{true, false} {
		for _, ascending := range []bool{true, false} {
			p, overlay := moved(revisionOpsMax, free, ascending)
			name := fmt.Sprintf("free=%t/ascending=%t", free, ascending)
			b.Run("linear/"+name, func(b *testing.B) {
				for b.Loop() {
					p.netOperations(p.Head(), overlay)
				}
			})
			b.Run("rounds/"+name, func(b *testing.B) {
				for b.Loop() {
					netByRounds(p, p.Head(), overlay)
				}
			})
		}
	}
}
