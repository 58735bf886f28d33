// Package merge merges two changes of one text line by line, as diff3 does. A merge is clean if it
// is clean for `git merge-file`, and has the same text in any case. For this, the package follows
// git not only in how changes are merged, but also in where a change begins and ends among equal
// lines, because that decides which changes overlap.
//
// The steps of a merge: the lines of all three texts are numbered (lines.go). The hunks from the
// base to either side are found (hunks.go excludes lines from the search, search.go is Myers'
// algorithm, slide.go moves hunks among equal lines). Overlapping hunks become conflicts, which are
// narrowed to the lines that differ (region.go). The result is written (write.go).
//
// The work is linear in the texts plus a bounded search, for any input. Only if that bound is
// reached, by texts of more than ten thousand lines with little in common, can the result differ
// from that of git; it is a valid merge even then.
package merge

import "bytes"

// The names of the sides after the markers of a conflict.
const (
	OursLabel   = "ours"
	TheirsLabel = "theirs"
)

// Result is a merged text.
type Result struct {
	// Text is the merged text. In a conflict, both sides are between markers.
	Text []byte
	// Conflicts is the number of conflicts in the text; zero for a clean merge.
	Conflicts int
	// Limited means that the budget ended the search for changes. With a full budget, the result
	// could be a better one.
	Limited bool
}

const (
	// stepsMax is the effort of a budget. A step is a visited diagonal, a compared line or a
	// line that a hunk slides over. It takes three nanoseconds, and up to ten if the branch is
	// mispredicted.
	stepsMax = 1 << 26
	// stepsMin is the minimum effort of a merge, enough for a few hundred changed lines.
	stepsMin = 1 << 18
)

// Budget is an effort that several merges share, so that their total is bounded. The zero value
// is a full one. With an empty budget a merge still finds changes in a few hundred lines. It
// treats texts that differ more as changed as a whole, from the first difference to the last.
type Budget struct{ used int }

// Merge merges the changes from base to ours with those from base to theirs. A line ends with
// "\n"; a "\r" is part of its line, and a last line without "\n" differs from the same line with
// it. The contents may be any bytes of less than 2 GiB each.
func Merge(base, ours, theirs []byte) Result { return new(Budget).Merge(base, ours, theirs) }

// Merge is Merge within the budget.
func (b *Budget) Merge(base, ours, theirs []byte) Result {
	switch {
	case bytes.Equal(base, theirs), bytes.Equal(ours, theirs):
		return Result{Text: bytes.Clone(ours)}
	case bytes.Equal(base, ours):
		return Result{Text: bytes.Clone(theirs)}
	}
	return b.lines(base, ours, theirs)
}

// lines merges line by line, even if a shortcut is possible.
func (b *Budget) lines(base, ours, theirs []byte) Result {
	in := newInterner()
	m := merger{base: in.text(base), ours: in.text(ours), theirs: in.text(theirs)}
	m.differ = newDiffer(len(in.lines))
	// With the same number of steps for both sides, their order does not affect whether they
	// conflict.
	steps := max(stepsMax-b.used, stepsMin) / 2
	m.steps = steps
	oursHunks := m.hunks(m.base.numbers, m.ours.numbers)
	rest := m.steps
	m.steps = steps
	theirsHunks := m.hunks(m.base.numbers, m.theirs.numbers)
	limited := rest <= 0 || m.steps <= 0
	m.steps += rest
	m.combine(oursHunks, theirsHunks)
	m.refine()
	m.simplify()
	limited = limited || m.steps <= 0
	b.used += 2*steps - m.steps
	result := m.write()
	result.Limited = limited
	return result
}

// Full reports whether nothing of the budget was used.
func (b *Budget) Full() bool { return b.used == 0 }
