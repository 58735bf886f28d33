package work_test

import (
	"fmt"
	"maps"
	"slices"

	"pws/work"
)

// modelFile is a file as the naive model holds it.
type modelFile struct {
	blob             work.Hash
	size             int
	contentType      string
	created, updated uint32
}

// model is the history in the simplest form: a whole tree for every changeset.
type model struct {
	// trees[n] is the tree after changeset n; trees[0] is empty.
	trees []map[string]modelFile
}

func newModel() *model { return &model{trees: []map[string]modelFile{{}}} }

// observe takes what the project has published since.
func (m *model) observe(p *work.Project) error {
	for len(m.trees) <= p.ChangesetsCount() {
		changeset := p.ChangesetNumber(uint32(len(m.trees)))
		tree := maps.Clone(m.trees[len(m.trees)-1])
		for i := range changeset.Ops {
			op := &changeset.Ops[i]
			if err := checkBefore(p, changeset, op, tree); err != nil {
				return err
			}
			step(tree, op, changeset.Sequence)
		}
		m.trees = append(m.trees, tree)
	}
	return nil
}

// step changes a tree by one operation.
func step(tree map[string]modelFile, op *work.Op, sequence uint32) {
	next := modelFile{
		blob: op.Blob, size: int(op.Size), contentType: op.Type.Value(),
		created: sequence, updated: sequence,
	}
	if old, existed := tree[*op.Path]; existed {
		next.created = old.created
	}
	switch op.Action {
	case work.Delete:
		delete(tree, *op.Path)
		return
	case work.Rename:
		delete(tree, *op.From)
	}
	tree[*op.Path] = next
}

// checkBefore compares what an operation replaced with the tree in front of it.
func checkBefore(
	p *work.Project, c *work.Changeset, op *work.Op, tree map[string]modelFile,
) error {
	source := *op.Path
	if op.From != nil {
		source = *op.From
	}
	want, existed := tree[source]
	got, found := p.Before(c, op)
	if found != existed || found && (got.Blob != want.blob || int(got.Size) != want.size) {
		return fmt.Errorf("before %s %s of changeset %d: %v, want %v",
			op.Action, *op.Path, c.Sequence, found, existed)
	}
	return nil
}

func modelOf(f work.FileInfo) modelFile {
	return modelFile{
		blob: f.Blob, size: f.Size, contentType: f.ContentType,
		created: f.Created.Sequence, updated: f.Updated.Sequence,
	}
}

// compare asks a project for some trees, their files and their differences.
func (m *model) compare(p *work.Project, sequences []uint32) error {
	if got := p.ChangesetsCount(); got != len(m.trees)-1 {
		return fmt.Errorf("%d changesets, want %d", got, len(m.trees)-1)
	}
	if err := m.compareLive(p); err != nil {
		return err
	}
	everStood := map[string]bool{"never": true}
	for _, tree := range m.trees {
		for path := range tree {
			everStood[path] = true
		}
	}
	for _, sequence := range sequences {
		at, tree := p.ChangesetNumber(sequence), m.trees[sequence]
		for path := range everStood {
			got, exists := p.FileAt(path, at)
			want, ok := tree[path]
			if exists != ok || ok && modelOf(got) != want {
				return fmt.Errorf("file %s at %d: %+v, want %+v", path, sequence, got, want)
			}
		}
		if err := m.compareTree(p, at); err != nil {
			return err
		}
	}
	for _, base := range append(slices.Clone(sequences), 0) {
		for _, to := range sequences {
			if err := m.compareChanges(p, base, to); base <= to && err != nil {
				return err
			}
		}
	}
	return nil
}

// compareLive looks at the newest tree, its size and its files.
func (m *model) compareLive(p *work.Project) error {
	tree := m.trees[len(m.trees)-1]
	bytes, listed := int64(0), []string{}
	for _, f := range tree {
		bytes += int64(f.size)
	}
	p.Files("", func(f work.FileInfo) bool {
		listed = append(listed, f.Path)
		return modelOf(f) == tree[f.Path]
	})
	if p.FilesBytes() != bytes || p.FilesCount() != len(tree) ||
		!slices.Equal(listed, slices.Sorted(maps.Keys(tree))) {
		return fmt.Errorf("live: %d files, %d bytes, %v; want %v", p.FilesCount(), p.FilesBytes(),
			listed, tree)
	}
	return nil
}

// compareTree reads a tree in order, and once more from its middle.
func (m *model) compareTree(p *work.Project, at *work.Changeset) error {
	tree := m.trees[at.Sequence]
	want := slices.Sorted(maps.Keys(tree))
	for _, skip := range []int{0, len(want) / 2} {
		from, listed := "", []string{}
		if skip > 0 {
			from = want[skip]
		}
		p.FilesAt(at, from, func(f work.FileInfo) bool {
			listed = append(listed, f.Path)
			return modelOf(f) == tree[f.Path]
		})
		if !slices.Equal(listed, want[skip:]) {
			return fmt.Errorf("tree of %d from %q: %v, want %v", at.Sequence, from, listed,
				want[skip:])
		}
	}
	return nil
}

// compareChanges checks that a difference leads from one tree to the other, that it names no path
// twice and no unchanged path, and that each part gives the state before and after.
func (m *model) compareChanges(p *work.Project, base, to uint32) error {
	var from *work.Changeset
	if base > 0 {
		from = p.ChangesetNumber(base)
	}
	changes := p.Changes(from, p.ChangesetNumber(to))
	got := map[string]work.Hash{}
	for path, f := range m.trees[base] {
		got[path] = f.blob
	}
	before := m.trees[base]
	for _, change := range changes {
		if change.Action == work.Rename {
			delete(got, change.From)
		} else if change.Action == work.Delete {
			delete(got, change.Path)
		}
	}
	last := ""
	for _, change := range changes {
		source := change.Path
		if change.Action == work.Rename {
			source = change.From
		}
		old, existed := before[source]
		if change.Path <= last || existed != (change.Old != nil) ||
			existed && (*change.Old != old.blob || change.OldSize != old.size) ||
			(change.New == nil) != (change.Action == work.Delete) ||
			change.Action == work.Modify && *change.Old == *change.New {
			return fmt.Errorf("changes %d to %d: %+v after %q", base, to, change, last)
		}
		last = change.Path
		if change.New != nil {
			got[change.Path] = *change.New
		}
	}
	want := map[string]work.Hash{}
	for path, f := range m.trees[to] {
		want[path] = f.blob
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("changes %d to %d: %+v do not lead there", base, to, changes)
	}
	return nil
}
