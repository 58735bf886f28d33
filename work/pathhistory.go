package work

// HistoryPlace is a place in the history of a path: the newest of its operations that is still to
// come, of the path that the file had then.
type HistoryPlace struct {
	Path string
	// Operations counts the operations on that path up to the place.
	Operations int
	// Last is the sequence of the last changeset that was yielded, zero for none.
	Last uint32
}

// HistoryStep is a changeset in the history of a path.
type HistoryStep struct {
	// Changeset has no operations. It is valid while the step is.
	Changeset *Changeset
	// Path is the one that the file had. Gone says that no file was there after the changeset: it
	// was deleted or has another path since.
	Path string
	Gone bool
	// Behind is the place behind the step.
	Behind HistoryPlace
}

// PathHistory yields the changesets with operations on a path, newest first. From a RENAME to the
// path on, it continues with the path before. It begins at a place, which has just a path at first,
// and yields each changeset once. A step is valid during the call. A page takes time in proportion
// to the operations on the path in its changesets.
func (p *Project) PathHistory(from HistoryPlace, yield func(step HistoryStep) bool) {
	at := from
	versions := p.versionsOf(at.Path)
	var op Op
	var changeset Changeset
	if at.Last > 0 {
		versions = versions[:min(at.Operations, len(versions))]
	}
	for len(versions) > 0 {
		v := versions[len(versions)-1]
		versions = versions[:len(versions)-1]
		p.history.operation(v, &op)
		step := HistoryStep{Changeset: &changeset, Path: at.Path, Gone: v.gone()}
		if op.Action == Rename && *op.Path == at.Path && op.From != nil {
			at.Path = *op.From
			versions = beforeOperation(p.versionsOf(at.Path), v)
		}
		at.Operations = len(versions)
		if v.sequence == at.Last {
			continue
		}
		at.Last = v.sequence
		p.history.read(v.sequence, &changeset, false)
		step.Behind = at
		if !yield(step) {
			return
		}
	}
}

// versionsOf returns all versions of a path, oldest first.
func (p *Project) versionsOf(path string) []version {
	if f := p.everAt(path); f != nil {
		return f.versions
	}
	return nil
}

// beforeOperation returns the versions before an operation that moved the file away.
func beforeOperation(versions []version, moved version) []version {
	end := versionsBefore(versions, moved.sequence)
	for i := end; i < len(versions) && versions[i].sequence == moved.sequence; i++ {
		if versions[i].same(moved) {
			return versions[:i]
		}
	}
	return versions[:end]
}
