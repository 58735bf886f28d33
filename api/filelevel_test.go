package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pws/work"
)

// TestLevelsOfFiles compares the walk through one level of folders with all its paths, from behind
// each of them on. A folder takes one search, however many files it has.
func TestLevelsOfFiles(t *testing.T) {
	paths := []string{"a", "a-/x", "a.txt", "a/b", "a/b-/c", "a/b.txt", "b0/0", "c/d/e/f", "é/ü", "z"}
	for i := range 5000 {
		paths = append(paths, fmt.Sprintf("many/of/%04d.txt", i))
	}
	slices.Sort(paths)
	searches := 0
	walk := func(from string, yield func(work.FileInfo) bool) {
		searches++
		at, _ := slices.BinarySearch(paths, from)
		for at < len(paths) && yield(work.FileInfo{Path: paths[at]}) {
			at++
		}
	}
	for _, prefix := range []string{"", "a", "a/", "a/b", "many/", "none/", "c/d/"} {
		var want []string
		for _, path := range paths {
			rest, within := strings.CutPrefix(path, prefix)
			if !within {
				continue
			}
			if folder, _, deeper := strings.Cut(rest, "/"); deeper {
				rest = folder + "/"
			}
			if path = prefix + rest; !slices.Contains(want, path) {
				want = append(want, path)
			}
		}
		for from := range len(want) + 1 {
			after := ""
			if from > 0 {
				after = want[from-1]
			}
			var got []string
			searches = 0
			walkLevel(walk, prefix, after, func(path string, first work.FileInfo) bool {
				if !strings.HasPrefix(first.Path, path) {
					t.Errorf("%q has %q", path, first.Path)
				}
				got = append(got, path)
				return true
			})
			if !slices.Equal(got, want[from:]) {
				t.Errorf("%q behind %q: %q, not %q", prefix, after, got, want[from:])
			}
			if searches != len(got)+1 {
				t.Errorf("%q behind %q: %d searches for %d", prefix, after, searches, len(got))
			}
		}
	}
}
