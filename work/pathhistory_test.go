package work_test

import (
	"fmt"
	"strings"
	"testing"

	"pws/work"
)

// history returns the sequences of the changesets of a path, in pages. It fails where a step does
// not say where the file was.
func (w *world) history(t *testing.T, path string, page int) string {
	var all []string
	at := work.HistoryPlace{Path: path}
	for more := true; more; {
		more = false
		taken, next := 0, at
		w.project.PathHistory(at, func(step work.HistoryStep) bool {
			if more = taken == page; more {
				return false
			}
			taken++
			next = step.Behind
			if _, stands := w.project.FileAt(step.Path, step.Changeset); stands == step.Gone {
				t.Errorf("%s: %d has %q gone: %v", path, step.Changeset.Sequence, step.Path, step.Gone)
			}
			all = append(all, step.Path+fmt.Sprint(step.Changeset.Sequence))
			return true
		})
		at = next
	}
	return strings.Join(all, " ")
}

func TestPathHistory(t *testing.T) {
	w := newWorld()
	w.create(t)
	write := func(path, text string) work.Operation {
		content := blob(text)
		return work.Operation{Action: work.Modify, Path: path, Content: &content}
	}
	move := func(from, to string) work.Operation {
		return work.Operation{Action: work.Rename, Path: from, NewPath: to}
	}
	remove := func(path string) work.Operation {
		return work.Operation{Action: work.Delete, Path: path}
	}
	begin := int(w.project.Head().Sequence)
	for _, operations := range [][]work.Operation{
		{createOp("a", "1"), createOp("b", "1")},         // 1
		{write("a", "2")},                                // 2
		{move("a", "c")},                                 // 3
		{write("c", "3"), write("b", "3")},               // 4
		{createOp("a", "again")},                         // 5
		{remove("a")},                                    // 6
		{move("b", "t"), move("c", "b"), move("t", "c")}, // 7: a swap
		{write("b", "8")},                                // 8
		{move("b", "x"), move("x", "y"), move("y", "d")}, // 9: a chain
		{createOp("a", "10")},                            // 10
	} {
		w.publish(t, operations...)
	}
	for path, want := range map[string]string{
		"a": "a10 a6 a5 a3 a2 a1", "d": "d9 b8 b7 c4 c3 a2 a1", "c": "c7 b4 b1",
		"b": "b9 b8 b7 c4 c3 a2 a1", "x": "x9 b8 b7 c4 c3 a2 a1", "never": "",
	} {
		var numbers []string
		for _, number := range strings.Fields(want) {
			var n int
			fmt.Sscan(number[1:], &n)
			numbers = append(numbers, number[:1]+fmt.Sprint(begin+n))
		}
		want = strings.Join(numbers, " ")
		for _, page := range []int{100, 1, 2, 3} {
			if got := w.history(t, path, page); got != want {
				t.Errorf("%s in pages of %d: %q, want %q", path, page, got, want)
			}
		}
	}
}
