package api

import (
	"errors"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
	"pws/work/diff"
)

// DiffData is the data of a diff.
type DiffData struct {
	// The diff.
	Diff Diff `json:"diff"`
}

// Diff is a unified diff between two changesets.
type Diff struct {
	// The changeset to compare with; null if there is none.
	BaseID *string `json:"base_changeset_id" check:"id=chg_"`
	// The changeset whose changes it shows.
	ChangesetID string `json:"changeset_id" check:"id=chg_"`
	// Always unified.
	Format string `json:"format" check:"enum=unified"`
	// At most 200000 characters, truncated at the end of a line.
	Text string `json:"text"`
	// Whether something was omitted.
	Truncated bool `json:"truncated"`
	// Every file that differs.
	Files []DiffFile `json:"files"`
}

// DiffFile counts the changed lines of one file.
type DiffFile struct {
	// The path afterwards, or the deleted path.
	Path string `json:"path"`
	// The path before a RENAME.
	PreviousPath *string `json:"previous_path"`
	// What happened to it.
	Action string `json:"action" check:"enum=CREATE|MODIFY|DELETE|RENAME"`
	// Added lines.
	Additions int `json:"additions"`
	// Removed lines.
	Deletions int `json:"deletions"`
}

func readDiff(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	changeset, err := c.changesetOf(view)
	if err != nil {
		return Reply{}, err
	}
	base := view.Parent(changeset)
	if text, sent := c.Query["base"]; sent {
		if base, err = findChangeset(view, text); err != nil {
			return Reply{}, err
		}
		if base.Sequence > changeset.Sequence {
			return Reply{}, fault.Invalid(fault.Field{
				Field: "base", Problem: "must be earlier than the changeset",
			})
		}
	}
	sides := diffSides{project: view.ID, to: changeset.ID}
	data := Diff{ChangesetID: changeset.ID.Format(id.Changeset), Format: "unified"}
	if base != nil {
		sides.base = base.ID
		text := base.ID.Format(id.Changeset)
		data.BaseID = &text
	}
	made, err := c.fileDiffs(sides, func() []work.Change { return view.Changes(base, changeset) })
	if err != nil {
		return Reply{}, err
	}
	data.Text, data.Truncated, data.Files = made.text, made.truncated, made.files
	return Reply{Data: DiffData{Diff: data}}, nil
}

// diffSides names two immutable trees of a project: those after two changesets, a zero base for the
// empty tree, or that of a revision, or of one version of a workspace, and of its base.
type diffSides struct {
	project, base, to, revision, workspace id.ID
	// version is the revision of the workspace.
	version uint64
	// path is that of the only file, empty for all.
	path string
}

// diffPathParam asks for one file of a diff: a diff of all may be truncated before it.
var diffPathParam = Param{
	Name: "path", Doc: "Only the file with this path; all if absent.", HTTPOnly: true,
}

// fileDiffs is a diff. It is immutable.
type fileDiffs struct {
	text      string
	truncated bool
	files     []DiffFile
}

const (
	// diffsBytesMax limits the diffs that are remembered.
	diffsBytesMax = 16 << 20
	// diffCheapBytes and diffCheapFiles are what a diff may read and name without being remembered.
	diffCheapBytes, diffCheapFiles = 32 << 10, 50
	// diffFileBytes is the approximate size of a file in a remembered diff, without its paths.
	diffFileBytes = 96
)

// fileDiffs returns the diff between two trees that the caller may read. What differs between them
// never changes, so the diff is remembered unless it is cheap, until an operator purges a content.
func (c *Call) fileDiffs(sides diffSides, changes func() []work.Change) (fileDiffs, error) {
	sides.path = c.Query[diffPathParam.Name]
	return c.Service.diffs.Get(c.Service.edition(), sides, func() (fileDiffs, int, error) {
		d := differ{call: c, changes: onlyAt(sides.path, changes()), room: diffBytesMax}
		made, err := d.run()
		if diffBytesMax-d.room <= diffCheapBytes && len(d.changes) <= diffCheapFiles {
			return made, 0, err
		}
		size := len(made.text)
		for i := range d.changes {
			size += diffFileBytes + len(d.changes[i].Path) + len(d.changes[i].From)
		}
		return made, size, err
	})
}

// onlyAt returns the change of a path, or all changes if the path is empty.
func onlyAt(path string, changes []work.Change) []work.Change {
	if path == "" {
		return changes
	}
	at := slices.IndexFunc(changes, func(c work.Change) bool { return c.Path == path })
	if at < 0 {
		return nil
	}
	return changes[at : at+1]
}

// diffBytesMax limits the contents that one diff reads. Files beyond it are named but not
// counted. Reading lines takes up to 30 ms per MiB, if they are short.
const diffBytesMax = 16 << 20

// differ diffs changes, with one pair of contents in memory at a time.
type differ struct {
	call    *Call
	changes []work.Change
	room    int
	fault   error
}

func (d *differ) run() (made fileDiffs, err error) {
	files := make([]diff.File, len(d.changes))
	for i := range d.changes {
		change := &d.changes[i]
		files[i] = diff.File{
			Path: change.Path, PreviousPath: change.From,
			Action: diff.Action(change.Action.String()),
			Load:   func() (old, new []byte, ok bool) { return d.load(change) },
		}
	}
	result := diff.Unified(files, work.DiffCharsMax)
	made.text, made.truncated = result.Text, result.Truncated
	made.files = make([]DiffFile, len(result.Files))
	for i, stat := range result.Files {
		made.files[i] = DiffFile{
			Path: stat.Path, Action: string(stat.Action),
			Additions: stat.Additions, Deletions: stat.Deletions,
		}
		if stat.PreviousPath != "" {
			made.files[i].PreviousPath = &result.Files[i].PreviousPath
		}
	}
	return made, d.fault
}

// load reads both sides of a change. It returns false if they exceed the limit or cannot be
// read.
func (d *differ) load(change *work.Change) (old, new []byte, ok bool) {
	d.room -= change.OldSize + change.NewSize
	if d.room < 0 || d.fault != nil {
		return nil, nil, false
	}
	read := func(hash *work.Hash) []byte {
		if hash == nil || d.fault != nil {
			return nil
		}
		content, err := d.call.Service.Engine.Blob(*hash)
		var refusal *fault.Error
		if errors.As(err, &refusal) {
			err = refusal.With("path", change.Path)
		}
		d.fault = err
		return content
	}
	old, new = read(change.Old), read(change.New)
	return old, new, d.fault == nil
}
