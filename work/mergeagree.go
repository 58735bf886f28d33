package work

// settle reports whether both sides have made the same file at the path of an item in different
// ways: by a rename and by contents, or by renames in another order. Following the renames of one
// side would bring the file somewhere else. Such a file is as at the head; what it was moved from
// is deleted.
func (m *treeMerge) settle(item *mergeItem) bool {
	one := item.ours
	if item.from == "" || m.followed(item.from) == one.Path || !m.agrees(one) {
		return false
	}
	settled := *one
	settled.From = settled.Path
	m.settled = append(m.settled, settled)
	m.agreed = append(m.agreed, one.Path, item.from)
	if another := overlaidAt(m.workspace.Files, item.from); another != nil && !another.exists() {
		m.addDeletion(item.from)
	}
	return true
}

// agrees reports whether both sides have the same file at a path, without an open conflict.
func (m *treeMerge) agrees(one *Overlaid) bool {
	return one != nil && one.exists() && one.is(m.theirs(one.Path)) && m.known(one.Path) == nil
}

// addDeletion adds the deletion of a file of the base, or its move from its path, unless the head
// has moved it to where both sides have the same file.
func (m *treeMerge) addDeletion(from string) {
	to, moved := m.moved[from]
	if moved && m.known(from) == nil && m.theirs(from) == nil &&
		m.agrees(overlaidAt(m.workspace.Files, to)) {
		m.agreed = append(m.agreed, from, to)
		return
	}
	m.add(mergeItem{from: from})
}
