package api

import (
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
	// The changeset.
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
	differ := differ{call: c, changes: view.Changes(base, changeset)}
	data := Diff{ChangesetID: changeset.ID.Format(id.Changeset), Format: "unified"}
	if base != nil {
		text := base.ID.Format(id.Changeset)
		data.BaseID = &text
	}
	if err := differ.run(&data); err != nil {
		return Reply{}, err
	}
	return Reply{Data: DiffData{Diff: data}}, nil
}

// diffBytesMax limits the contents that one diff reads. Files beyond it are named but not
// counted.
const diffBytesMax = 64 << 20

// differ diffs changes, with one pair of contents in memory at a time.
type differ struct {
	call    *Call
	changes []work.Change
	room    int
	fault   error
}

func (d *differ) run(data *Diff) error {
	d.room = diffBytesMax
	files := make([]diff.File, len(d.changes))
	for at := range d.changes {
		change := &d.changes[at]
		files[at] = diff.File{
			Path: change.Path, PreviousPath: change.From,
			Action: diff.Action(change.Action.String()),
			Load:   func() (old, new []byte, ok bool) { return d.load(change) },
		}
	}
	result := diff.Unified(files, work.DiffCharsMax)
	data.Text, data.Truncated = result.Text, result.Truncated
	data.Files = make([]DiffFile, len(result.Files))
	for at, stat := range result.Files {
		data.Files[at] = DiffFile{
			Path: stat.Path, Action: string(stat.Action),
			Additions: stat.Additions, Deletions: stat.Deletions,
		}
		if stat.PreviousPath != "" {
			data.Files[at].PreviousPath = &result.Files[at].PreviousPath
		}
	}
	return d.fault
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
		d.fault = err
		return content
	}
	old, new = read(change.Old), read(change.New)
	return old, new, d.fault == nil
}
