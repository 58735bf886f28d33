package merge

// span is the lines [start, end) of a text.
type span struct{ start, end int32 }

func (s span) empty() bool { return s.start == s.end }

// kind is the outcome for a region.
type kind uint8

const (
	conflict kind = iota
	fromOurs
	fromTheirs
	// agreed is a region that looked like a conflict but has the same lines on both sides.
	agreed
)

// region is a part of the text that one side or both have changed. The lines between regions are
// equal in ours and theirs.
type region struct {
	kind         kind
	ours, theirs span
}

// merger is one merge.
type merger struct {
	differ
	base, ours, theirs text
	regions            []region
}

// combine makes regions from the hunks from the base to either side. Hunks that overlap or touch
// in the base are a conflict, unless they are the same on both sides.
func (m *merger) combine(ours, theirs []hunk) {
	// The number of lines that a side has more than the base, up to the start of its next hunk.
	var oursMore, theirsMore int32
	m.regions = make([]region, 0, len(ours)+len(theirs))
	for len(ours) > 0 || len(theirs) > 0 {
		switch {
		case len(theirs) == 0 || len(ours) > 0 && ours[0].oldEnd < theirs[0].oldStart:
			h := ours[0]
			m.add(region{fromOurs, span{h.newStart, h.newEnd},
				span{h.oldStart + theirsMore, h.oldEnd + theirsMore}})
			ours, oursMore = ours[1:], h.newEnd-h.oldEnd
			continue
		case len(ours) == 0 || theirs[0].oldEnd < ours[0].oldStart:
			h := theirs[0]
			m.add(region{fromTheirs, span{h.oldStart + oursMore, h.oldEnd + oursMore},
				span{h.newStart, h.newEnd}})
			theirs, theirsMore = theirs[1:], h.newEnd-h.oldEnd
			continue
		}
		o, t := ours[0], theirs[0]
		if !m.same(o, t) {
			start, end := min(o.oldStart, t.oldStart), max(o.oldEnd, t.oldEnd)
			m.add(region{conflict, o.stretched(start, end), t.stretched(start, end)})
		}
		if o.oldEnd <= t.oldEnd {
			ours, oursMore = ours[1:], o.newEnd-o.oldEnd
		}
		if t.oldEnd <= o.oldEnd {
			theirs, theirsMore = theirs[1:], t.newEnd-t.oldEnd
		}
	}
}

// stretched returns the lines on a side that correspond to the base lines [start, end) around a
// hunk.
func (h hunk) stretched(start, end int32) span {
	return span{h.newStart - (h.oldStart - start), h.newEnd + (end - h.oldEnd)}
}

// same reports whether both sides have made the same change.
func (m *merger) same(o, t hunk) bool {
	if o.oldStart != t.oldStart || o.oldEnd != t.oldEnd {
		return false
	}
	return equal(m.ours.numbers[o.newStart:o.newEnd], m.theirs.numbers[t.newStart:t.newEnd])
}

func equal(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i, number := range a {
		if b[i] != number {
			return false
		}
	}
	return true
}

// add appends a region, or joins it with the previous one if they touch on either side.
func (m *merger) add(r region) {
	if len(m.regions) > 0 {
		last := &m.regions[len(m.regions)-1]
		if r.ours.start <= last.ours.end || r.theirs.start <= last.theirs.end {
			if r.kind != last.kind {
				last.kind = conflict
			}
			last.ours.end, last.theirs.end = r.ours.end, r.theirs.end
			return
		}
	}
	m.regions = append(m.regions, r)
}

// refine narrows conflicts to the lines that differ between the two sides, which can be in
// several places or none. A conflict in which a side has no lines stays unchanged.
func (m *merger) refine() {
	refined := make([]region, 0, len(m.regions))
	for _, r := range m.regions {
		if r.kind != conflict || r.ours.empty() || r.theirs.empty() {
			refined = append(refined, r)
			continue
		}
		hunks := m.hunks(m.ours.numbers[r.ours.start:r.ours.end],
			m.theirs.numbers[r.theirs.start:r.theirs.end])
		for _, h := range hunks {
			refined = append(refined, region{conflict,
				span{r.ours.start + h.oldStart, r.ours.start + h.oldEnd},
				span{r.theirs.start + h.newStart, r.theirs.start + h.newEnd}})
		}
		if len(hunks) == 0 {
			r.kind = agreed
			refined = append(refined, r)
		}
	}
	m.regions = refined
}

// gapMin is the minimum number of lines between two separate conflicts: with fewer, the markers
// would take more space.
const gapMin = 3

// simplify joins conflicts with only few lines between them, or only lines without a letter or
// digit, such as braces.
func (m *merger) simplify() {
	kept := m.regions[:0]
	for _, r := range m.regions {
		if len(kept) > 0 {
			last := &kept[len(kept)-1]
			gap := span{last.ours.end, r.ours.start}
			if last.kind == conflict && r.kind == conflict &&
				(gap.end-gap.start <= gapMin || !hasAlphanumeric(m.ours.lines(gap))) {
				last.ours.end, last.theirs.end = r.ours.end, r.theirs.end
				continue
			}
		}
		kept = append(kept, r)
	}
	m.regions = kept
}

func hasAlphanumeric(content []byte) bool {
	for _, c := range content {
		if '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			return true
		}
	}
	return false
}
