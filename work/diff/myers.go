package diff

// The search is Myers' O(ND) algorithm in its linear-space form ("An O(ND) Difference Algorithm
// and Its Variations", 1986): a box of old and new lines is searched from both corners at once,
// and split at the point where the two searches meet. Every search has a limit of edits. If the
// limit is reached, the box is split at the point farthest from a corner, which gives a valid
// script that is no longer shortest. If the steps of the pair are used up, a box is replaced as
// a whole.
const (
	// stepsMaxPair limits the search of one pair of contents, stepsMaxAll that of all files of
	// one diff. A step is a visited diagonal or a compared line, about five nanoseconds.
	stepsMaxPair = 1 << 23
	stepsMaxAll  = 1 << 23
	// limitMin is the limit of edits of a search that has no steps left. Such a search has two
	// steps for each line, so that contents of any size still match where they are similar.
	limitMin = 8
)

// unreachable marks a diagonal that no path inside the box has reached. It stays negative
// whatever is added to it.
const unreachable = -1 << 30

type searcher struct {
	a, b sequence
	// limit is the maximum number of edits that a search tries from each corner.
	limit int
	// steps counts the steps so far; beyond stepsMax boxes are not searched.
	steps, stepsMax int
	// forward and backward hold, for the diagonal k at k+limit+1, the number of old lines that
	// the farthest path from the first or from the last corner has passed.
	forward, backward []int32
}

// box is the old lines [oldStart, oldEnd) and the new lines [newStart, newEnd).
type box struct{ oldStart, oldEnd, newStart, newEnd int }

func (b box) size() int { return b.oldEnd - b.oldStart + b.newEnd - b.newStart }

// search marks a script between two sequences, and subtracts its steps from left.
func search(a, b sequence, left *int) {
	all := box{0, len(a.numbers), 0, len(b.numbers)}
	size := all.size()
	allowed := max(0, min(stepsMaxPair, *left))
	limit := min(max(allowed/(size+1)/2, limitMin), size/2+1)
	s := searcher{a: a, b: b, limit: limit}
	s.stepsMax = max(2*allowed, 2*size)
	s.forward = make([]int32, 2*limit+3)
	s.backward = make([]int32, 2*limit+3)
	s.run(all)
	*left -= s.steps
}

// run marks a script of a box. It calls itself for the smaller part only, so that its depth is
// logarithmic.
func (s *searcher) run(bx box) {
	for {
		bx = s.trim(bx)
		if bx.oldStart == bx.oldEnd || bx.newStart == bx.newEnd || s.steps > s.stepsMax {
			s.a.mark(bx.oldStart, bx.oldEnd)
			s.b.mark(bx.newStart, bx.newEnd)
			return
		}
		x, y := s.split(bx)
		first := box{bx.oldStart, bx.oldStart + x, bx.newStart, bx.newStart + y}
		second := box{first.oldEnd, bx.oldEnd, first.newEnd, bx.newEnd}
		if first.size() < second.size() {
			first, second = second, first
		}
		s.run(second)
		bx = first
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
	s.steps += (before-bx.size())/2 + 1
	return bx
}

// split finds the point of a box, relative to its first corner, at which to split it. The box is
// not empty on either side, its first lines differ and its last lines differ. The script thus
// has at least two edits, and the point is neither corner.
func (s *searcher) split(bx box) (x, y int) {
	a := s.a.numbers[bx.oldStart:bx.oldEnd]
	b := s.b.numbers[bx.newStart:bx.newEnd]
	n, m := len(a), len(b)
	delta := n - m
	middle := s.limit + 1
	s.forward[middle], s.backward[middle] = 0, 0
	for d := 1; d <= s.limit; d++ {
		low, high := diagonals(d, n, m)
		s.steps += high - low + 2
		extend(s.forward, d, middle)
		for k := low; k <= high; k += 2 {
			x, y := s.advance(s.forward, middle+k, k, n, m)
			if x < 0 {
				continue
			}
			from := x
			for x < n && y < m && a[x] == b[y] {
				x++
				y++
			}
			s.steps += x - from
			s.forward[middle+k] = int32(x)
			if other := delta - k; delta&1 != 0 && -d < other && other < d &&
				x+int(s.backward[middle+other]) >= n {
				return x, y
			}
		}
		extend(s.backward, d, middle)
		for k := low; k <= high; k += 2 {
			x, y := s.advance(s.backward, middle+k, k, n, m)
			if x < 0 {
				continue
			}
			from := x
			for x < n && y < m && a[n-1-x] == b[m-1-y] {
				x++
				y++
			}
			s.steps += x - from
			s.backward[middle+k] = int32(x)
			if other := delta - k; delta&1 == 0 && -d <= other && other <= d &&
				x+int(s.forward[middle+other]) >= n {
				return n - x, m - y
			}
		}
	}
	return s.farthest(n, m)
}

// diagonals returns the first and the last diagonal of d edits that cross a box of n by m lines.
// Every second one between them has the parity of d.
func diagonals(d, n, m int) (low, high int) {
	low, high = -d, d
	if d > m {
		low = -m + (d-m)&1
	}
	if d > n {
		high = n - (d-n)&1
	}
	return low, high
}

// extend initializes the diagonals beside those of d edits.
func extend(places []int32, d, middle int) {
	places[middle-d-1], places[middle-d] = unreachable, unreachable
	places[middle+d+1], places[middle+d] = unreachable, unreachable
}

// advance makes one edit onto the diagonal k, which is at places[at], from the neighbor that is
// farther. If the edit would leave the box, it returns a negative x: any path that still reaches
// the diagonal is longer than the one along the border.
func (s *searcher) advance(places []int32, at, k, n, m int) (x, y int) {
	x = int(max(places[at+1], places[at-1]+1))
	y = x - k
	if x < 0 || x > n || y < 0 || y > m {
		places[at] = unreachable
		return -1, -1
	}
	return x, y
}

// farthest returns the split for a search that reached its limit: the point that has passed the
// most lines from its corner.
func (s *searcher) farthest(n, m int) (x, y int) {
	low, high := diagonals(s.limit, n, m)
	middle := s.limit + 1
	most := -1
	for k := low; k <= high; k += 2 {
		if fx := int(s.forward[middle+k]); fx >= 0 && 2*fx-k > most {
			most, x, y = 2*fx-k, fx, fx-k
		}
		if bx := int(s.backward[middle+k]); bx >= 0 && 2*bx-k > most {
			most, x, y = 2*bx-k, n-bx, m-(bx-k)
		}
	}
	return x, y
}
