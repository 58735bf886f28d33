package actors

import (
	"bytes"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// StoredText is a content with a long text of a record.
type StoredText struct {
	Hash work.Hash
	// Record is the public ID of the record that has the text, empty if the text was replaced or
	// deleted.
	Record string
	// Removed says that an operator has purged it.
	Removed bool
}

// TextsOf returns the contents of the long texts that records of a project name or have named, each
// once: those that contain a part, all of them if that is empty. Purged ones contain nothing.
// Errors: PROJECT_NOT_FOUND.
func (e *Engine) TextsOf(project id.ID, part string) (found []StoredText, err error) {
	if err := e.requireProject(project); err != nil {
		return nil, err
	}
	p, err := e.Project(project)
	if err != nil || p == nil {
		return nil, err
	}
	seen := map[work.Hash]bool{}
	add := func(hash work.Hash, record string) {
		if err != nil || seen[hash] {
			return
		}
		seen[hash] = true
		var content []byte
		content, err = e.Blob(hash)
		removed := fault.CodeOf(err) == fault.ContentRemoved
		if removed {
			err = nil
		}
		if err == nil && (part == "" || bytes.Contains(content, []byte(part))) {
			found = append(found, StoredText{Hash: hash, Record: record, Removed: removed})
		}
	}
	p.LongTexts(func(kind id.Prefix, record id.ID, text work.Away) bool {
		add(text.Hash, record.Format(kind))
		return err == nil
	})
	p.PastContents(func(hash work.Hash) { add(hash, "") })
	return found, err
}
