package merge

// The markers of a conflict, as git writes them.
const (
	oursMarker   = "<<<<<<< " + OursLabel
	middleMarker = "======="
	theirsMarker = ">>>>>>> " + TheirsLabel
)

// write makes the result from the regions. Lines outside of regions are taken from ours.
func (m *merger) write() Result {
	result := Result{Text: make([]byte, 0, len(m.ours.content)+len(m.theirs.content)/8)}
	at := int32(0)
	for _, r := range m.regions {
		switch r.kind {
		case agreed, fromOurs:
			continue
		case fromTheirs:
			result.Text = append(result.Text, m.ours.lines(span{at, r.ours.start})...)
			result.Text = append(result.Text, m.theirs.lines(r.theirs)...)
		case conflict:
			result.Text = append(result.Text, m.ours.lines(span{at, r.ours.start})...)
			result.Text = m.writeConflict(result.Text, r)
			result.Conflicts++
		}
		at = r.ours.end
	}
	result.Text = append(result.Text, m.ours.lines(span{at, m.ours.count()})...)
	return result
}

// writeConflict appends both sides of a conflict between markers. The markers have the line end
// of the lines around them. A last line without a line end gets one, so that the next marker is
// on its own line.
func (m *merger) writeConflict(to []byte, r region) []byte {
	newline := "\n"
	if m.wantsReturn(r) {
		newline = "\r\n"
	}
	side := func(t *text, s span) {
		to = append(to, t.lines(s)...)
		if !s.empty() && to[len(to)-1] != '\n' {
			to = append(to, newline...)
		}
	}
	to = append(append(to, oursMarker...), newline...)
	side(&m.ours, r.ours)
	to = append(append(to, middleMarker...), newline...)
	side(&m.theirs, r.theirs)
	return append(append(to, theirsMarker...), newline...)
}

// lineEnd is the kind of line end in a text.
type lineEnd uint8

const (
	unknownEnd lineEnd = iota
	plainEnd
	returnEnd
)

// wantsReturn reports whether the base starts with a line that ends with "\r\n" and no line before
// the conflict, in ours or in theirs, ends otherwise.
func (m *merger) wantsReturn(r region) bool {
	return m.base.end(0) == returnEnd &&
		m.ours.end(max(0, r.ours.start-1)) != plainEnd &&
		m.theirs.end(max(0, r.theirs.start-1)) != plainEnd
}

// end returns the kind of line end of the line i, or of the previous line if i is the last one
// and has no line end.
func (t *text) end(i int32) lineEnd {
	if i == t.count()-1 {
		if line := t.line(i); line[len(line)-1] != '\n' {
			i--
		}
	}
	if i < 0 || i >= t.count() {
		return unknownEnd
	}
	if line := t.line(i); len(line) > 1 && line[len(line)-2] == '\r' {
		return returnEnd
	}
	return plainEnd
}
