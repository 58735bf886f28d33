package work

// openConflict returns the path at the base of the file that an open conflict belongs to. It is
// empty if the base does not have the file; the workspace has it at the path of the conflict. It is
// false for a conflict with a folder, which each merge finds again.
//
// A merge makes its head the base. So what the project has in a conflict is at the base, and the
// file is known by the kind of the conflict, the origin of what the workspace has, and contents.
func (p *Project) openConflict(w *Workspace, base *Changeset, c *Conflict) (string, bool) {
	from := c.Path
	if one := w.file(c.Path); one != nil && one.exists() {
		from = originOf(w.Files, one)
	}
	switch c.Kind {
	case DeletedByUs:
		return c.Path, true
	case DeletedByThem:
		return "", true
	case ContentConflict:
		return from, true
	}
	// The file that the project has put at the path, or one that the project has moved from there.
	for _, path := range []string{c.Path, from} {
		if there := p.fileStateAt(path, base); there != nil && there.blob == c.Theirs {
			return path, true
		}
	}
	return "", false
}

// originOf returns the path at the base of a file of an overlay. It is empty for a new file, and if
// the overlay still has the source as at the base.
func originOf(files []Overlaid, one *Overlaid) string {
	if one.From != one.Path && overlaidAt(files, one.From) == nil {
		return ""
	}
	return one.From
}

// findOpen finds the files that the open conflicts of the workspace belong to.
func (m *treeMerge) findOpen() {
	m.openAt, m.openNew = map[string]*Conflict{}, map[string]*Conflict{}
	for i := range m.workspace.Conflicts {
		c := &m.workspace.Conflicts[i]
		source, found := m.project.openConflict(m.workspace, m.base, c)
		switch {
		case found && source == "":
			m.openNew[c.Path] = c
		case found:
			m.openAt[source] = c
		}
	}
}
