package merge

// hunk replaces the old lines [oldStart, oldEnd) by the new lines [newStart, newEnd). The lines
// between two hunks are equal on both sides, there is at least one, and no hunk is empty.
type hunk struct {
	oldStart, oldEnd int32
	newStart, newEnd int32
}

const (
	// frequentMax is an upper limit for the number of occurrences on the other side that makes a
	// line frequent.
	frequentMax = 1024
	// frequentWindow is the distance within which the neighbors of a frequent line are examined.
	frequentWindow = 100
	// frequentShare is the ratio of unmatched to frequent lines around a frequent line from
	// which on it is left out of the search.
	frequentShare = 3
)

// differ compares texts that were numbered together.
type differ struct {
	// oldCounts and newCounts hold the number of occurrences of each line, by its number; zero
	// between comparisons.
	oldCounts, newCounts []int32
	// steps is the remaining effort for all comparisons together.
	steps int
}

func newDiffer(numbers int) differ {
	return differ{oldCounts: make([]int32, numbers), newCounts: make([]int32, numbers)}
}

// hunks returns the hunks that turn the old lines into the new ones.
func (d *differ) hunks(old, new []int32) []hunk {
	oldChanged, newChanged := make([]bool, len(old)), make([]bool, len(new))
	head, tail := common(old, new)
	for _, number := range old {
		d.oldCounts[number]++
	}
	for _, number := range new {
		d.newCounts[number]++
	}
	a := keep(old, head, len(old)-tail, d.newCounts, oldChanged)
	b := keep(new, head, len(new)-tail, d.oldCounts, newChanged)
	for _, number := range old {
		d.oldCounts[number] = 0
	}
	for _, number := range new {
		d.newCounts[number] = 0
	}
	search(a, b, &d.steps)
	slide(old, oldChanged, newChanged, &d.steps)
	slide(new, newChanged, oldChanged, &d.steps)
	return collect(oldChanged, newChanged)
}

// common counts the lines that are equal at the beginning and, of the others, at the end.
func common(old, new []int32) (head, tail int) {
	most := min(len(old), len(new))
	for head < most && old[head] == new[head] {
		head++
	}
	for tail < most-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	return head, tail
}

// sequence is one side of a search: the numbers of the lines that can be matched, their
// positions, and the marks of changed lines.
type sequence struct {
	numbers []int32
	places  []int32
	changed []bool
}

// mark marks the lines [from, to) of a sequence as changed.
func (s *sequence) mark(from, to int) {
	for _, place := range s.places[from:to] {
		s.changed[place] = true
	}
}

// keep selects the lines of [start, end) that take part in the search, and marks the others as
// changed. Lines without a match do not take part. A frequent line would match anywhere and
// split a block that is entirely new, so it is treated like its neighbors.
func keep(lines []int32, start, end int, counts []int32, changed []bool) sequence {
	frequent := int32(min(rootAbove(len(lines)), frequentMax))
	s := sequence{
		numbers: make([]int32, 0, end-start), places: make([]int32, 0, end-start), changed: changed,
	}
	add := func(i int) {
		s.numbers = append(s.numbers, lines[i])
		s.places = append(s.places, int32(i))
	}
	for i := start; i < end; {
		if count := counts[lines[i]]; 0 < count && count < frequent {
			add(i)
			i++
			continue
		}
		run := i
		for run < end && (counts[lines[run]] == 0 || counts[lines[run]] >= frequent) {
			run++
		}
		markRun(lines[i:run], counts, changed[i:run])
		for ; i < run; i++ {
			if !changed[i] {
				add(i)
			}
		}
	}
	return s
}

// markRun marks the lines of a run of unmatched and frequent lines: all unmatched ones, and the
// frequent ones that have too many unmatched lines around them on both sides.
func markRun(run, counts []int32, changed []bool) {
	unmatched := make([]int32, len(run)+1) // how many there are before a line
	for i, number := range run {
		unmatched[i+1] = unmatched[i]
		if counts[number] == 0 {
			unmatched[i+1]++
		}
	}
	for i, number := range run {
		if counts[number] == 0 {
			changed[i] = true
			continue
		}
		first, last := max(0, i-frequentWindow), min(len(run), i+1+frequentWindow)
		before := unmatched[i] - unmatched[first]
		behind := unmatched[last] - unmatched[i]
		// The line itself counts for both sides.
		others := int32(last-first) + 1 - before - behind
		changed[i] = before > 0 && behind > 0 && frequentShare*others < before+behind
	}
}

// rootAbove returns a power of two near the square root of n, and above it.
func rootAbove(n int) int {
	root := 1
	for ; n > 0; n /= 4 {
		root *= 2
	}
	return root
}

// collect turns marks into hunks; the lines without a mark match each other in order.
func collect(oldChanged, newChanged []bool) []hunk {
	hunks := make([]hunk, 0, countHunks(oldChanged, newChanged))
	var i, j int32
	oldSize, newSize := int32(len(oldChanged)), int32(len(newChanged))
	for i < oldSize || j < newSize {
		h := hunk{oldStart: i, newStart: j}
		for i < oldSize && oldChanged[i] {
			i++
		}
		for j < newSize && newChanged[j] {
			j++
		}
		if h.oldStart == i && h.newStart == j {
			i++
			j++
			continue
		}
		h.oldEnd, h.newEnd = i, j
		hunks = append(hunks, h)
	}
	return hunks
}

// countHunks returns an upper bound for the number of hunks: the number of runs of marks on both
// sides.
func countHunks(oldChanged, newChanged []bool) int {
	runs := 0
	for _, changed := range [...][]bool{oldChanged, newChanged} {
		before := false
		for _, now := range changed {
			if now && !before {
				runs++
			}
			before = now
		}
	}
	return min(runs, min(len(oldChanged), len(newChanged))+1)
}
