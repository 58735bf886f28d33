package work

// displace finds the displaced files. A path has one conflict. Each file of the head that needs one
// can have it at its own path, so that none is lost. If the workspace has another file at such a
// path, that one is displaced: it stays as in the workspace, and what the project has changed in it
// is in a conflict at its path at the head, where it can displace the next file.
func (m *treeMerge) displace() {
	for i := range m.items {
		item := &m.items[i]
		switch {
		case item.ours == nil:
			if m.disputed(item) {
				m.displaceFrom(item.at)
			}
		case item.open != nil && item.open.Path != item.ours.Path && item.at != "" &&
			item.at != item.path:
			// The conflict is at the path of the file at the head. It does not come back to the path
			// in the workspace, which the author may have written since.
			m.displaceItem(item)
		case m.occupant(item) != nil:
			m.displaceItem(item)
		}
	}
}

// displaceFrom displaces the file that the merge would bring to a path, unless the head has that
// file there.
func (m *treeMerge) displaceFrom(path string) {
	if item := m.results[path]; item != nil && item.at != path {
		m.displaceItem(item)
	}
}

func (m *treeMerge) displaceItem(item *mergeItem) {
	if item.displaced {
		return
	}
	item.displaced = true
	if m.disputed(item) {
		m.displaceFrom(item.at)
	}
}

// occupant returns another file of the head at the target path of an item, nil if there is none
// or if the workspace deletes or moves it.
func (m *treeMerge) occupant(item *mergeItem) *fileState {
	if item.path == item.at || m.leaves[item.path] {
		return nil
	}
	return m.theirs(item.path)
}

// disputed reports whether it is a conflict that a file is not at its path at the head: the project
// has changed or moved it, now or in an open conflict, and not to what the workspace has there.
func (m *treeMerge) disputed(item *mergeItem) bool {
	theirs := m.theirs(item.at)
	if theirs == nil || item.open == nil && item.at == item.from &&
		sameFileState(m.ancestor(item), theirs) {
		return false
	}
	one := overlaidAt(m.settled, item.at)
	if there := m.results[item.at]; there != nil {
		one = there.ours
	}
	return one == nil || !one.is(theirs)
}

// addConflictAtHead adds the conflict of a file at its path at the head. The workspace has no file
// there, or another one.
func (m *treeMerge) addConflictAtHead(item *mergeItem) error {
	theirs := m.theirs(item.at)
	if other := m.results[item.at]; other != nil {
		c := conflictOf(item.at, AddedByBoth, nil)
		return m.addTextConflict(c, nil, stateOf(other.ours), theirs)
	}
	c := conflictOf(item.at, DeletedByUs, m.ancestor(item))
	c.Theirs = theirs.blob
	m.addConflict(c, nil)
	return nil
}

// fileDisplaced adds the conflicts of a displaced file: with the file of the head at its path, and
// of what the project has changed in it.
func (m *treeMerge) fileDisplaced(item *mergeItem, next *Overlaid) error {
	if occupant := m.occupant(item); occupant != nil {
		var before *fileState
		if item.at == "" {
			next.From = next.Path
			if item.open != nil {
				// The project has deleted the file and has put it there again.
				before = m.ancestor(item)
			}
		}
		if !next.is(occupant) {
			c := conflictOf(item.path, AddedByBoth, before)
			if err := m.addTextConflict(c, before, stateOf(next), occupant); err != nil {
				return err
			}
		}
	}
	if !m.disputed(item) {
		return nil
	}
	return m.addConflictAtHead(item)
}
