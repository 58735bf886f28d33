package diff

import "bytes"

// Edit replaces the lines [OldStart, OldEnd) of the old content by the lines [NewStart, NewEnd) of
// the new one; lines count from zero. The lines before, between and after the edits of a script
// are equal on both sides, there is at least one between two edits, and no edit is empty.
type Edit struct {
	OldStart, OldEnd int
	NewStart, NewEnd int
}

// unplaced finds the edits between two texts and subtracts the steps that it needed from steps.
// Where equal lines allow several places for an edit, slide chooses one; the numbers of added and
// removed lines stay the same.
func unplaced(old, new text, steps *int) []Edit {
	head, tail := trim(old, new)
	oldSize, newSize := old.lines()-head-tail, new.lines()-head-tail
	if oldSize == 0 && newSize == 0 {
		return nil
	}
	if oldSize == 0 || newSize == 0 {
		return []Edit{{head, head + oldSize, head, head + newSize}}
	}
	oldNumbers, newNumbers, classes := numberLines(old, new, head, tail)
	oldChanged := make([]bool, oldSize)
	newChanged := make([]bool, newSize)
	a := keepShared(oldNumbers, classes, oldChanged)
	b := keepShared(newNumbers, classes, newChanged)
	search(a, b, steps)
	return collect(oldChanged, newChanged, head)
}

// trim counts the lines that the texts have in common at their beginning and at their end.
func trim(old, new text) (head, tail int) {
	most := min(old.lines(), new.lines())
	for head < most && bytes.Equal(old.line(head), new.line(head)) {
		head++
	}
	most -= head
	for tail < most &&
		bytes.Equal(old.line(old.lines()-1-tail), new.line(new.lines()-1-tail)) {
		tail++
	}
	return head, tail
}

// numberLines numbers the lines between head and tail by their classes.
func numberLines(old, new text, head, tail int) (a, b []int32, classes []class) {
	in := newInterner(old, new)
	a = make([]int32, old.lines()-head-tail)
	for i := range a {
		a[i] = in.number(inOld, head+i)
	}
	b = make([]int32, new.lines()-head-tail)
	for i := range b {
		b[i] = in.number(inNew, head+i)
	}
	return a, b, in.classes
}

// sequence is one side of a search: the lines that can be matched, their positions, and the
// marks of changed lines.
type sequence struct {
	numbers []int32
	places  []int32
	changed []bool
}

// keepShared marks the lines that the other side does not have: they are changed in every
// script, and the search is faster without them. The other lines make up the sequence, which is
// stored in place of the numbers.
func keepShared(numbers []int32, classes []class, changed []bool) sequence {
	places := make([]int32, 0, len(numbers))
	kept := numbers[:0]
	for i, number := range numbers {
		if classes[number].sides == inOld|inNew {
			kept = append(kept, number)
			places = append(places, int32(i))
		} else {
			changed[i] = true
		}
	}
	return sequence{kept, places, changed}
}

// mark marks the lines [from, to) of a sequence as changed.
func (s sequence) mark(from, to int) {
	for _, place := range s.places[from:to] {
		s.changed[place] = true
	}
}

// collect turns marks into edits; the lines without a mark match each other in order.
func collect(oldChanged, newChanged []bool, head int) []Edit {
	edits := make([]Edit, 0, countEdits(oldChanged, newChanged))
	i, j := 0, 0
	for i < len(oldChanged) || j < len(newChanged) {
		edit := Edit{OldStart: head + i, NewStart: head + j}
		for i < len(oldChanged) && oldChanged[i] {
			i++
		}
		for j < len(newChanged) && newChanged[j] {
			j++
		}
		edit.OldEnd, edit.NewEnd = head+i, head+j
		if edit.OldStart < edit.OldEnd || edit.NewStart < edit.NewEnd {
			edits = append(edits, edit)
			continue
		}
		i++
		j++
	}
	return edits
}

// countEdits returns an upper bound for the number of edits: the number of runs of marks on both
// sides.
func countEdits(oldChanged, newChanged []bool) int {
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
	return runs
}

// slider moves pure insertions and deletions among equal lines. Each moves up first, to join an
// edit that it meets, and then down as far as possible, where people expect an added paragraph
// or function. Joined edits can pass the same lines again, so the number of compared bytes is
// bounded; an edit that is not moved is just as valid.
type slider struct {
	old, new  text
	bytesLeft int
}

func slide(old, new text, edits []Edit) []Edit {
	s := slider{old, new, 4*(len(old.content)+len(new.content)) + 64}
	done := edits[:0]
	for i, edit := range edits {
		for {
			var before Edit
			if len(done) > 0 {
				before = done[len(done)-1]
			}
			edit = s.up(edit, before)
			if len(done) == 0 || before.OldEnd < edit.OldStart {
				break
			}
			edit.OldStart, edit.NewStart = before.OldStart, before.NewStart
			done = done[:len(done)-1]
		}
		limit := Edit{OldStart: old.lines(), NewStart: new.lines()}
		if i+1 < len(edits) {
			limit = edits[i+1]
		}
		done = append(done, s.down(edit, limit))
	}
	return done
}

// up moves an edit towards the end of the one before it.
func (s *slider) up(edit, before Edit) Edit {
	for edit.OldStart > before.OldEnd {
		var same bool
		switch {
		case edit.OldStart == edit.OldEnd:
			same = s.same(s.new.line(edit.NewStart-1), s.new.line(edit.NewEnd-1))
		case edit.NewStart == edit.NewEnd:
			same = s.same(s.old.line(edit.OldStart-1), s.old.line(edit.OldEnd-1))
		}
		if !same {
			break
		}
		edit = Edit{edit.OldStart - 1, edit.OldEnd - 1, edit.NewStart - 1, edit.NewEnd - 1}
	}
	return edit
}

// down moves an edit towards the start of the next one.
func (s *slider) down(edit, behind Edit) Edit {
	for edit.OldEnd < behind.OldStart {
		var same bool
		switch {
		case edit.OldStart == edit.OldEnd:
			same = s.same(s.new.line(edit.NewStart), s.new.line(edit.NewEnd))
		case edit.NewStart == edit.NewEnd:
			same = s.same(s.old.line(edit.OldStart), s.old.line(edit.OldEnd))
		}
		if !same {
			break
		}
		edit = Edit{edit.OldStart + 1, edit.OldEnd + 1, edit.NewStart + 1, edit.NewEnd + 1}
	}
	return edit
}

func (s *slider) same(a, b []byte) bool {
	s.bytesLeft -= min(len(a), len(b))
	return s.bytesLeft >= 0 && bytes.Equal(a, b)
}
