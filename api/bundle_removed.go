package api

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"pws/internal/fault"
	"pws/work"
)

// read returns a content; false if an operator has removed it, or if reading failed.
func (e *export) read(blob work.Hash) ([]byte, bool) {
	if e.err != nil {
		return nil, false
	}
	if e.fail(e.call.mayStillExport(e.view.ID)); e.err != nil {
		return nil, false
	}
	content, err := e.call.Service.Engine.Blob(blob)
	if !isCode(err, fault.ContentRemoved) {
		e.fail(err)
		return content, err == nil
	}
	var refusal *fault.Error
	if errors.As(err, &refusal) {
		e.removed[hexHash(blob)], _ = refusal.Details["blob_hash"].(string)
	}
	return nil, false
}

// readRemoved reads the contents that were removed. The new project has marks in their place. The
// mark depends only on the hash, so a bundle gives no access to a content that is stored here.
func (i *importer) readRemoved() {
	i.removed = map[work.Hash]work.Blob{}
	for _, name := range slices.Sorted(maps.Keys(i.bundle.Removed)) {
		field := "removed_contents." + name
		hash, ok := parseHash(name)
		of, known := parseHash(i.bundle.Removed[name])
		_, contained := i.bundle.Blobs[name]
		switch {
		case !ok || !known:
			i.fault(field, noHash)
		case contained:
			i.fault(field, "is contained in the bundle")
		default:
			mark := work.RemovedMark(of)
			i.removed[hash] = mark
			i.command.Contents[mark.Hash] = mark.Content
		}
	}
}

// resolve replaces the hash of a removed content, and the size, by those of its mark.
func (i *importer) resolve(hash *work.Hash, size *int) {
	if mark, removed := i.removed[*hash]; removed {
		*hash, *size = mark.Hash, len(mark.Content)
	}
}

// removedFile reads a file whose content was removed. It reports false for any other file.
func (i *importer) removedFile(from *File, made *work.BundledFile, field string) bool {
	if _, removed := i.removed[made.Blob]; !removed {
		return false
	}
	if from.Content != nil {
		i.fault(field+".content", "is named in removed_contents")
	}
	if from.SizeBytes < 0 || from.SizeBytes > work.FileBytesMax {
		i.fault(field+".size_bytes", fmt.Sprintf("must be from 0 to %d", work.FileBytesMax))
	}
	var size int
	i.resolve(&made.Blob, &size)
	return true
}
