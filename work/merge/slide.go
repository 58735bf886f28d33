package merge

// group is a run of changed lines [start, end) with gap unchanged lines before it. Unchanged
// lines match those of the other side in order, so the changed lines of the other side that
// correspond to the group are those with the same gap.
type group struct{ start, end, gap int }

// slide moves the groups of changed lines of one side among equal lines: they are joined with
// the groups that they reach, then placed beside changed lines of the other side if they reach
// any, else moved down as far as possible. Each line passed is a step. Without steps left,
// groups stay where they are, which is just as valid.
func slide(lines []int32, changed, otherChanged []bool, steps *int) {
	meets := gaps(otherChanged)
	s := slider{lines, changed, steps}
	for g := (group{}); g.start < len(lines); g = (group{g.end + 1, g.end + 1, g.gap + 1}) {
		for g.end < len(lines) && changed[g.end] {
			g.end++
		}
		if g.start == g.end {
			continue
		}
		var meeting, first int
		for size := 0; size != g.end-g.start; {
			size = g.end - g.start
			for s.up(&g) {
			}
			meeting, first = -1, g.end
			if meets[g.gap] {
				meeting = g.gap
			}
			for s.down(&g) {
				if meets[g.gap] {
					meeting = g.gap
				}
			}
		}
		if meeting < 0 || first == g.end {
			continue
		}
		for g.gap > meeting && s.up(&g) {
		}
	}
}

// gaps reports for each number of unchanged lines whether changed lines follow them.
func gaps(changed []bool) []bool {
	meets := make([]bool, 1, len(changed)+1)
	for _, c := range changed {
		if c {
			meets[len(meets)-1] = true
		} else {
			meets = append(meets, false)
		}
	}
	return meets
}

// slider moves groups by one line, and joins them with the groups that they then touch.
type slider struct {
	lines   []int32
	changed []bool
	steps   *int
}

func (s *slider) up(g *group) bool {
	if g.start == 0 || s.lines[g.start-1] != s.lines[g.end-1] || *s.steps <= 0 {
		return false
	}
	*s.steps--
	g.start--
	g.end--
	g.gap--
	s.changed[g.start], s.changed[g.end] = true, false
	for g.start > 0 && s.changed[g.start-1] {
		g.start--
	}
	return true
}

func (s *slider) down(g *group) bool {
	if g.end == len(s.lines) || s.lines[g.start] != s.lines[g.end] || *s.steps <= 0 {
		return false
	}
	*s.steps--
	s.changed[g.start], s.changed[g.end] = false, true
	g.start++
	g.end++
	g.gap++
	for g.end < len(s.lines) && s.changed[g.end] {
		g.end++
	}
	return true
}
