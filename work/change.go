package work

import "slices"

// Change is the net difference of one path between two changesets. Old and New are the contents,
// nil if there is no file; for a RENAME, Old is the content at From and New the content at Path.
type Change struct {
	Action           Action
	Path             string
	From             string
	Old, New         *Hash
	OldSize, NewSize int
}

// Changes compares the trees after two changesets, path by path, in the order of the paths' bytes;
// a nil base means the empty tree. Only paths that changed in between are visited. A move is a
// RENAME if renames.settle keeps it; a change of the media type alone is not a change.
func (p *Project) Changes(base, to *Changeset) []Change {
	c := p.compare(base, to)
	c.findRenames()
	c.renames.settle(c.existed, c.exists)
	return c.changes()
}

// movedFiles returns where the files of a base are that have been renamed since, by their paths at
// the base. Unlike in Changes, a source may have a new file. A target may have had another one,
// which was deleted: that one has the empty path.
//
// The second result has the paths that a rename connects with each path, also one that does not
// count. A plan that has read one of them is made again when another one changes.
func (p *Project) movedFiles(
	base, to *Changeset,
) (moved map[string]string, connected map[string][]string) {
	c := p.compare(base, to)
	c.findRenames()
	moved = make(map[string]string, len(c.renames.sourceOf))
	for path, origin := range c.renames.sourceOf {
		moved[origin] = path
		if c.existed(path) && c.renames.targetOf[path] == "" {
			moved[path] = ""
		}
	}
	connected = map[string][]string{}
	for path, origin := range c.origins {
		if origin != "" && origin != path {
			connected[path] = append(connected[path], origin)
			connected[origin] = append(connected[origin], path)
		}
	}
	return moved, connected
}

func (p *Project) compare(base, to *Changeset) *comparison {
	first := uint32(0)
	if base != nil {
		first = base.Sequence
	}
	c := &comparison{project: p, base: base, to: to, origins: map[string]string{}}
	for changeset := range p.Changesets(first, to.Sequence, true) {
		for i := range changeset.Ops {
			c.follow(&changeset.Ops[i])
		}
	}
	return c
}

// comparison follows contents from the base to the other side.
type comparison struct {
	project  *Project
	base, to *Changeset
	// origins maps each changed path to the path of its file at the base, "" for a new file.
	origins map[string]string
	renames renames
}

// originOf returns the path of a file at the base, while following.
func (c *comparison) originOf(path string) string {
	if origin, touched := c.origins[path]; touched {
		return origin
	}
	return path
}

func (c *comparison) follow(op *Op) {
	switch op.Action {
	case Create, Delete:
		c.origins[*op.Path] = ""
	case Modify:
		c.origins[*op.Path] = c.originOf(*op.Path)
	case Rename:
		origin := c.originOf(*op.From)
		c.origins[*op.From] = ""
		c.origins[*op.Path] = origin
	}
}

func (c *comparison) before(path string) (FileInfo, bool) {
	if c.base == nil {
		return FileInfo{}, false
	}
	return c.project.FileAt(path, c.base)
}

func (c *comparison) after(path string) (FileInfo, bool) { return c.project.FileAt(path, c.to) }

// existed reports whether there was a file at a path at the base, exists whether there is one on
// the other side.
func (c *comparison) existed(path string) bool { _, existed := c.before(path); return existed }

func (c *comparison) exists(path string) bool { _, exists := c.after(path); return exists }

// findRenames finds the files of the base that are at other paths.
func (c *comparison) findRenames() {
	c.renames = newRenames()
	for path, origin := range c.origins {
		if origin != "" && origin != path && c.exists(path) && c.existed(origin) {
			c.renames.add(origin, path)
		}
	}
}

func (c *comparison) changes() []Change {
	paths := make([]string, 0, len(c.origins))
	for path := range c.origins {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	changes := make([]Change, 0, len(paths))
	for _, path := range paths {
		if change, differs := c.change(path); differs {
			changes = append(changes, change)
		}
	}
	return changes
}

func (c *comparison) change(path string) (Change, bool) {
	after, exists := c.after(path)
	if origin, renamed := c.renames.sourceOf[path]; renamed {
		before, _ := c.before(origin)
		return Change{
			Action: Rename, Path: path, From: origin, Old: &before.Blob, New: &after.Blob,
			OldSize: before.Size, NewSize: after.Size,
		}, true
	}
	before, existed := c.before(path)
	_, left := c.renames.targetOf[path]
	switch {
	case exists && !existed:
		return Change{Action: Create, Path: path, New: &after.Blob, NewSize: after.Size}, true
	case existed && !exists && !left:
		return Change{Action: Delete, Path: path, Old: &before.Blob, OldSize: before.Size}, true
	case existed && exists && before.Blob != after.Blob:
		return Change{
			Action: Modify, Path: path, Old: &before.Blob, New: &after.Blob,
			OldSize: before.Size, NewSize: after.Size,
		}, true
	}
	return Change{}, false
}
