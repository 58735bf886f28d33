package work

import (
	"iter"

	"pws/internal/id"
)

// Head returns the newest changeset.
func (p *Project) Head() *Changeset {
	if p.summary != nil {
		return p.summary.head
	}
	return p.history.head
}

// ChangesetsCount returns the length of the history.
func (p *Project) ChangesetsCount() int {
	if p.summary != nil {
		return p.summary.Changesets
	}
	return p.history.len()
}

// ChangesetNumber returns the changeset with a sequence between 1 and ChangesetsCount. It is
// decoded each time, but the newest one; ReadChangeset is for lists.
func (p *Project) ChangesetNumber(sequence uint32) *Changeset {
	if head := p.history.head; head.Sequence == sequence {
		return head
	}
	made := new(changesetOfOne)
	made.Ops = made.one[:0]
	p.history.read(sequence, &made.Changeset, true)
	return &made.Changeset
}

// changesetOfOne is a changeset with room for one operation.
type changesetOfOne struct {
	Changeset
	one [1]Op
}

// room returns the memory of the operations.
func (c *Changeset) room() []Op {
	if c.ofTree {
		return nil
	}
	return c.Ops[:0]
}

// ReadChangeset decodes the changeset with a sequence between 1 and ChangesetsCount over another
// one, of which nothing remains valid. Without its operations it costs the same for any number of
// them.
func (p *Project) ReadChangeset(sequence uint32, into *Changeset, operations bool) {
	p.history.read(sequence, into, operations)
}

// Changesets yields those with the sequences (after, to], the oldest first. One is valid until the
// next. Their operations are decoded if they are wanted.
func (p *Project) Changesets(after, to uint32, operations bool) iter.Seq[*Changeset] {
	return func(yield func(*Changeset) bool) {
		var changeset Changeset
		for sequence := after + 1; sequence <= to; sequence++ {
			p.history.read(sequence, &changeset, operations)
			if !yield(&changeset) {
				return
			}
		}
	}
}

// AllChangesets yields all of them, as Changesets does.
func (p *Project) AllChangesets(operations bool) iter.Seq[*Changeset] {
	return p.Changesets(0, uint32(p.history.len()), operations)
}

// Step returns the step with a sequence between 1 and ChangesetsCount.
func (p *Project) Step(sequence uint32) Step { return p.history.step(sequence) }

// Changeset finds a changeset by ID; IDs are in the order of the history.
func (p *Project) Changeset(wanted id.ID) (*Changeset, bool) {
	// The answer to a write asks for the newest one.
	if head := p.history.head; head != nil && head.ID == wanted {
		return head, true
	}
	sequence, found := p.history.find(wanted)
	if !found {
		return nil, false
	}
	return p.ChangesetNumber(sequence), true
}

// HasChangeset reports whether there is a changeset with an ID.
func (p *Project) HasChangeset(wanted id.ID) bool {
	_, found := p.history.sequenceOf(wanted)
	return found
}

// Parent returns the previous changeset, nil for the first.
func (p *Project) Parent(c *Changeset) *Changeset {
	if c.Sequence == 1 {
		return nil
	}
	return p.ChangesetNumber(c.Sequence - 1)
}

// ParentID returns the ID of the previous changeset, zero for the first.
func (p *Project) ParentID(c *Changeset) id.ID {
	if c.Sequence == 1 {
		return id.ID{}
	}
	return p.history.id(c.Sequence - 1)
}

// Before returns the content that an operation replaced: at its path, or at the previous path of a
// RENAME. It returns false if there was no file.
func (p *Project) Before(c *Changeset, op *Op) (before Op, existed bool) {
	if op.Action == Create {
		return before, false
	}
	from := op.Path
	if op.From != nil {
		from = op.From
	}
	f := p.everAt(*from)
	if f == nil {
		return before, false
	}
	// The answer to a write asks for the newest version.
	at := len(f.versions) - 1
	if last := &f.versions[at]; last.sequence != c.Sequence || last.place() != op.at {
		at = versionsBefore(f.versions, c.Sequence)
		for at < len(f.versions) && f.versions[at].sequence == c.Sequence &&
			f.versions[at].place() != op.at {
			at++
		}
	}
	if at == 0 || f.versions[at-1].gone() {
		return before, false
	}
	p.history.operation(f.versions[at-1], &before)
	return before, true
}
