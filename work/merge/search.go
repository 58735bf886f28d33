package merge

// The search is Myers' O(ND) algorithm in its linear-space form ("An O(ND) Difference Algorithm
// and Its Variations", 1986): a box of old and new lines is searched from both corners at once,
// and split at the point where the two fronts meet. There are many shortest paths. To find the
// same one as git, the order in which diagonals are visited and the conditions under which a
// search ends early are those of git's xdiff library.
const (
	// costMin is the minimum limit of edits from each corner; the limit grows with the square
	// root of the number of lines. A search that reaches it splits at the farthest point.
	costMin = 256
	// longSnake is the length of a run of matching lines that indicates a good path. It is used
	// after more than trustCost edits, if the path has passed trustLead lines for each of them.
	longSnake = 20
	trustCost = 256
	trustLead = 4
)

// unreached marks a diagonal that no path has reached.
const unreached = -1

// box is the old lines [oldStart, oldEnd) and the new lines [newStart, newEnd) of two sequences.
type box struct{ oldStart, oldEnd, newStart, newEnd int }

func (b box) size() int { return b.oldEnd - b.oldStart + b.newEnd - b.newStart }

// searcher marks the lines of two sequences that are changed.
type searcher struct {
	a, b sequence
	// limit is the maximum number of edits that a search tries from each corner.
	limit int
	// first starts at the first corner of a box, last at the last one.
	first, last front
	// steps is the remaining effort.
	steps *int
}

// search marks a script between two sequences and subtracts its steps from steps.
func search(a, b sequence, steps *int) {
	size := len(a.numbers) + len(b.numbers)
	s := searcher{a: a, b: b, limit: max(rootAbove(size+3), costMin), steps: steps}
	s.first = newFront(a.numbers, b.numbers, min(s.limit, size))
	s.last = newFront(reversed(b.numbers), reversed(a.numbers), min(s.limit, size))
	s.run(box{0, len(a.numbers), 0, len(b.numbers)}, false)
}

func reversed(numbers []int32) []int32 {
	result := make([]int32, len(numbers))
	for i, number := range numbers {
		result[len(numbers)-1-i] = number
	}
	return result
}

// run marks a script of a box. A box whose corners are known to be near is searched to the end. It
// calls itself for the smaller part only, so that its depth is logarithmic.
func (s *searcher) run(bx box, near bool) {
	for {
		bx = s.trim(bx)
		if bx.oldStart == bx.oldEnd || bx.newStart == bx.newEnd || *s.steps <= 0 {
			s.a.mark(bx.oldStart, bx.oldEnd)
			s.b.mark(bx.newStart, bx.newEnd)
			return
		}
		at := s.split(bx, near)
		one := box{bx.oldStart, bx.oldStart + at.x, bx.newStart, bx.newStart + at.y}
		other := box{one.oldEnd, bx.oldEnd, one.newEnd, bx.newEnd}
		nearOne, nearOther := at.nearFirst, at.nearLast
		if one.size() > other.size() {
			one, other, nearOne, nearOther = other, one, nearOther, nearOne
		}
		s.run(one, nearOne)
		bx, near = other, nearOther
	}
}

// trim removes the matching lines from both ends of a box.
func (s *searcher) trim(bx box) box {
	a, b := s.a.numbers, s.b.numbers
	before := bx.size()
	for bx.oldStart < bx.oldEnd && bx.newStart < bx.newEnd && a[bx.oldStart] == b[bx.newStart] {
		bx.oldStart++
		bx.newStart++
	}
	for bx.oldStart < bx.oldEnd && bx.newStart < bx.newEnd && a[bx.oldEnd-1] == b[bx.newEnd-1] {
		bx.oldEnd--
		bx.newEnd--
	}
	*s.steps -= (before-bx.size())/2 + 1
	return bx
}

// point is the position of a split, relative to the first corner of the box, and which of its
// corners are known to be near.
type point struct {
	x, y                int
	nearFirst, nearLast bool
}

// split searches a box that is not empty on either side, whose first lines differ and whose last
// lines differ. There are thus at least two edits, and the point is neither corner.
func (s *searcher) split(bx box, near bool) point {
	n, m := bx.oldEnd-bx.oldStart, bx.newEnd-bx.newStart
	s.first.enter(bx.oldStart, bx.newStart, n, m)
	s.last.enter(len(s.b.numbers)-bx.newEnd, len(s.a.numbers)-bx.oldEnd, m, n)
	odd := (n-m)&1 != 0
	for cost := 1; ; cost++ {
		s.first.widen()
		x, y, met, snake := s.first.advance(&s.last, odd, s.steps)
		if met {
			return point{x, y, true, true}
		}
		s.last.widen()
		x, y, met, lastSnake := s.last.advance(&s.first, !odd, s.steps)
		if met {
			return point{n - y, m - x, true, true}
		}
		if (snake || lastSnake) && cost > trustCost && !near {
			if x, y, found := s.first.promising(cost); found {
				return point{x, y, true, false}
			}
			if x, y, found := s.last.promising(cost); found {
				return point{n - y, m - x, false, true}
			}
		}
		if cost >= s.limit || *s.steps <= 0 {
			x, y := s.first.farthest()
			lastX, lastY := s.last.farthest()
			if x+y > lastX+lastY {
				return point{x, y, true, false}
			}
			return point{n - lastY, m - lastX, false, true}
		}
	}
}
