package work

// settle reports whether both sides have made the same file at the path of an item in different
// ways: by a rename and by contents, or by renames in another order. Following the renames of one
// side would bring the file somewhere else. Such a file is as at the head; what it was moved from
// is deleted.
func (m *treeMerge) settle(item *mergeItem) bool {
	one := item.ours
	if item.from == "" || m.followed(item.from) == one.Path || !one.is(m.theirs(one.Path)) {
		return false
	}
	settled := *one
	settled.From = settled.Path
	m.settled = append(m.settled, settled)
	m.agreed = append(m.agreed, one.Path, item.from)
	if item.from != one.Path {
		m.add(mergeItem{from: item.from})
	}
	return true
}
