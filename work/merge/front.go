package merge

// front is the search from one corner of a box. It counts lines from its own corner: x in a, y
// in b, and the diagonal k is x-y.
//
// The front from the last corner sees both sequences reversed and swapped. Both fronts therefore
// choose alike between paths of the same length: diagonals are visited from high to low.
type front struct {
	a, b []int32
	// boxA and boxB are the lines of the box.
	boxA, boxB []int32
	// places holds, for the diagonal k at k+middle, the x of the farthest path.
	places []int32
	middle int
	// low and high are the outermost diagonals of the last round, which uses every second one.
	low, high int
}

func newFront(a, b []int32, limit int) front {
	return front{a: a, b: b, places: make([]int32, 2*limit+5), middle: limit + 2}
}

// enter starts in the box of n by m lines at a position in the sequences.
func (f *front) enter(x, y, n, m int) {
	f.boxA, f.boxB = f.a[x:x+n], f.b[y:y+m]
	f.low, f.high = 0, 0
	f.places[f.middle] = 0
}

// widen moves to the diagonals of one more edit. At a border of the box there are fewer of them.
func (f *front) widen() {
	if f.low > -len(f.boxB) {
		f.low--
		f.places[f.middle+f.low-1] = unreached
	} else {
		f.low++
	}
	if f.high < len(f.boxA) {
		f.high++
		f.places[f.middle+f.high+1] = unreached
	} else {
		f.high--
	}
}

// advance makes one edit on every diagonal and follows the matching lines from there. If it can
// meet the other front, it ends at the first point at which it does. It reports whether it
// passed a long snake.
func (f *front) advance(other *front, mayMeet bool, steps *int) (x, y int, met, long bool) {
	a, b := f.boxA, f.boxB
	shift := len(a) - len(b)
	meetLow, meetHigh := other.low+shift, other.high+shift
	if !mayMeet {
		meetLow = f.high + 1
	}
	places := f.places[f.middle+f.low-1 : f.middle+f.high+2]
	used := (f.high-f.low)/2 + 1
	above := places[len(places)-1]
	for k, i := f.high, len(places)-3; i >= 0; k, i = k-2, i-2 {
		below := places[i]
		x := int(max(below+1, above))
		above = below
		from := x
		for y := x - k; x < len(a) && uint(y) < uint(len(b)) && a[x] == b[y]; y++ {
			x++
		}
		places[i+1] = int32(x)
		if x > from {
			used += x - from
			long = long || x-from > longSnake
		}
		if meetLow <= k && k <= meetHigh &&
			x+int(other.places[other.middle+k-shift]) >= len(b)+k {
			*steps -= used
			return x, x - k, true, long
		}
	}
	*steps -= used
	return 0, 0, false, long
}

// promising finds a path that has come far for its cost, is near the diagonal of its corner, and
// ends in a long snake.
func (f *front) promising(cost int) (bestX, bestY int, found bool) {
	best := 0
	for k := f.high; k >= f.low; k -= 2 {
		x := int(f.places[f.middle+k])
		y := x - k
		lead := 2 * min(x, y) // the lines passed, less the distance from the diagonal
		if lead <= trustLead*cost || lead <= best || x >= len(f.boxA) || y >= len(f.boxB) {
			continue
		}
		// The lead is long enough for a snake.
		if equal(f.boxA[x-longSnake:x], f.boxB[y-longSnake:y]) {
			best, bestX, bestY, found = lead, x, y, true
		}
	}
	return bestX, bestY, found
}

// farthest returns the point of the path that has passed the most lines, cut at the border of
// the box.
func (f *front) farthest() (bestX, bestY int) {
	best := -1
	for k := f.high; k >= f.low; k -= 2 {
		x := min(int(f.places[f.middle+k]), len(f.boxA), len(f.boxB)+k)
		if y := x - k; x+y > best {
			best, bestX, bestY = x+y, x, y
		}
	}
	return bestX, bestY
}
