// Package merge joins two changes of one text line by line, as diff3 does. It takes what
// `git merge-file` takes and refuses what that refuses, with the same text in both cases: not only
// the rules of joining are those of git, but also where a change begins and ends among equal lines,
// since that decides which changes meet.
//
// The way of a merge: the lines of all three texts are numbered (lines.go); the hunks from the base
// to either side are found (hunks.go: what the search need not see, search.go: Myers' algorithm,
// slide.go: where a hunk comes to stand); hunks that meet become conflicts, which are narrowed to
// the lines that differ (region.go); the result is written (write.go).
//
// The work is linear in the texts plus a bounded search, whatever they hold. Only where that bound
// is reached, by texts of more than ten thousand lines that hardly agree, may the result be
// another one than that of git; it is a valid merge even then.
package merge

import "bytes"

// The names of the sides behind the markers of a conflict.
const (
	OursLabel   = "ours"
	TheirsLabel = "theirs"
)

// Result is a merged text.
type Result struct {
	// Text is the merge. Where there are conflicts, both sides of each stand between markers.
	Text []byte
	// Conflicts counts the places where the sides contradict each other; zero is a clean merge.
	Conflicts int
}

const (
	// stepsMax is the effort of a budget. A step is a diagonal visited, a line compared or a line
	// that a hunk slides over: three nanoseconds, up to ten where they cannot be foreseen.
	stepsMax = 1 << 26
	// stepsMin is what a merge has in any case, enough for a few hundred changed lines.
	stepsMin = 1 << 18
)

// Budget is an effort that several merges share, so that all of them together are bounded. The
// zero value is a full one. Without any left a merge still finds changes in a few hundred lines,
// and takes texts that differ more for changed as a whole, from the first difference to the last.
type Budget struct{ used int }

// Merge joins the changes from base to ours with those from base to theirs. A line is what ends
// with "\n"; a "\r" belongs to its line, and a last line without "\n" is another one than the same
// with it. The contents may be any bytes of less than 2 GiB each.
func Merge(base, ours, theirs []byte) Result { return new(Budget).Merge(base, ours, theirs) }

// Merge is a merge within the budget.
func (b *Budget) Merge(base, ours, theirs []byte) Result {
	switch {
	case bytes.Equal(base, theirs), bytes.Equal(ours, theirs):
		return Result{Text: bytes.Clone(ours)}
	case bytes.Equal(base, ours):
		return Result{Text: bytes.Clone(theirs)}
	}
	return b.lines(base, ours, theirs)
}

// lines merges line by line, also where a shorter way would do.
func (b *Budget) lines(base, ours, theirs []byte) Result {
	in := newInterner()
	m := merger{base: in.text(base), ours: in.text(ours), theirs: in.text(theirs)}
	m.differ = newDiffer(len(in.lines))
	// With the same steps for both sides it does not depend on their order whether they conflict.
	steps := max(stepsMax-b.used, stepsMin) / 2
	m.steps = steps
	oursHunks := m.hunks(m.base.numbers, m.ours.numbers)
	rest := m.steps
	m.steps = steps
	theirsHunks := m.hunks(m.base.numbers, m.theirs.numbers)
	m.steps += rest
	m.combine(oursHunks, theirsHunks)
	m.refine()
	m.simplify()
	b.used += 2*steps - m.steps
	return m.write()
}
