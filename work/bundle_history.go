package work

import (
	"errors"

	"pws/internal/fault"
	"pws/internal/id"
)

// BundledChangeset is a changeset of a bundle. It has the ID of the bundle.
type BundledChangeset struct {
	ID      id.ID
	Message string
	Ops     []BundledOp
	// Malformed means that the form of the operations is invalid, so they cannot be replayed.
	Malformed bool
	Origin    Origin
}

// BundledOp is an operation with the content that it replaced; nil if the bundle does not name it.
type BundledOp struct {
	OpRecord
	Previous *Hash
}

// BundledFile is a file of a bundle.
type BundledFile struct {
	Path string
	Blob Hash
	Type string
	// Malformed means that the path is invalid.
	Malformed bool
}

// importHistory replays the history, compares the resulting files with those of the bundle, and
// makes the changesets.
func (b *bundleImport) importHistory() {
	tree, single, whole := b.tree, b.next(), b.Imported.Whole
	for nth := range b.History {
		step := &b.History[nth]
		field := indexed("history", nth)
		made := single
		if whole {
			made = b.next()
		}
		b.newID(id.Changeset, step.ID, made, field)
		// Later steps cannot be validated when one step does not apply.
		if b.broken = b.broken || !b.replay(tree, step, field); b.broken {
			continue
		}
		if whole {
			published := recordOf(tree.Head()).Event
			published.ID, published.Source = made, SourceImport
			b.event.Changesets = append(b.event.Changesets, published)
			b.event.Imported.Changesets = append(b.event.Imported.Changesets, step.Origin)
		}
	}
	if !b.broken {
		b.compareFiles(tree)
	}
	b.event.Imported.Authors = tallyAuthors(nil, b.InheritedAuthors)
	if !whole {
		b.importHead(single)
	}
}

// replay applies a changeset to the tree, and reports whether it applies.
func (b *bundleImport) replay(tree *Project, step *BundledChangeset, field string) bool {
	if step.Malformed {
		return false
	}
	operations := make([]Operation, len(step.Ops))
	for i := range step.Ops {
		operations[i] = b.requested(&step.Ops[i].OpRecord, field+"."+indexed("operations", i))
	}
	published, _, refused := validateOperations(tree, operations, operationField)
	for _, one := range refused {
		b.fault(field+"."+placeOf(one, "operations"), messageOf(one))
	}
	if len(refused) > 0 {
		return false
	}
	for i := range published.Ops {
		published.Ops[i].Size = step.Ops[i].Size
	}
	published.ID, published.Message = step.ID, step.Message
	tree.publish(published, b.stamp.Agent, b.stamp.Now)
	b.comparePrevious(tree, step, field)
	return true
}

// requested returns the operation of a record as a request for it. An operation that keeps the
// content of the file names it too.
func (b *bundleImport) requested(op *OpRecord, field string) Operation {
	operation := Operation{Action: op.Action, Path: op.Path}
	if op.Action == Rename {
		operation.Path, operation.NewPath = op.From, op.Path
	}
	if op.Action == Delete {
		return operation
	}
	size, there := b.sizeOf(op.Blob)
	if b.Imported.Whole && !there && !b.Malformed[op.Blob] {
		b.fault(field+".blob_hash", "names content that the bundle does not contain")
	}
	if there && op.Size != size {
		b.fault(field+".size_bytes", "does not match the size of the content")
	}
	operation.Content, operation.ContentType = &Blob{Hash: op.Blob}, op.Type
	return operation
}

// sizeOf returns the size of a content in bytes; false if the bundle does not have it.
func (b *bundleImport) sizeOf(hash Hash) (int, bool) {
	if content, there := b.Contents[hash]; there {
		return len(content), true
	}
	size, there := b.Stored[hash]
	return size, there
}

// comparePrevious checks that the operations replaced the contents that they name as previous.
func (b *bundleImport) comparePrevious(tree *Project, step *BundledChangeset, field string) {
	head := tree.Head()
	for i := range head.Ops {
		before, existed := tree.Before(head, &head.Ops[i])
		named := step.Ops[i].Previous
		if named != nil && (!existed || before.Blob != *named) {
			b.fault(field+"."+indexed("operations", i)+".previous_blob_hash",
				"is not the content that was at the path before")
		}
	}
}

// compareFiles checks that the history ends with the files of the bundle.
func (b *bundleImport) compareFiles(tree *Project) {
	named := make(map[string]bool, len(b.Files))
	for i := range b.Files {
		file := &b.Files[i]
		field := indexed("files", i)
		restored, ok := tree.File(file.Path)
		switch {
		case named[file.Path]:
			b.fault(field+".path", duplicated)
		case !ok:
			b.fault(field+".path", "does not exist at the end of the history")
		case restored.Blob != file.Blob:
			b.fault(field+".blob_hash", "is not the content at the end of the history")
		case restored.ContentType != file.Type:
			b.fault(field+".content_type", "is not the media type at the end of the history")
		}
		named[file.Path] = true
	}
	tree.Files("", func(file FileInfo) bool {
		if !named[file.Path] {
			b.fault("files", "lacks "+file.Path+", which exists at the end of the history")
		}
		return true
	})
}

// importHead makes the only changeset of a project that is imported without its history, if the
// paths are valid.
func (b *bundleImport) importHead(single id.ID) {
	operations, malformed := make([]Operation, len(b.Files)), false
	for i := range b.Files {
		file := &b.Files[i]
		operations[i] = Operation{
			Action: Create, Path: file.Path, ContentType: file.Type,
			Content: &Blob{Hash: file.Blob},
		}
		malformed = malformed || file.Malformed
	}
	if malformed {
		return
	}
	published, _, refused := validateOperations(NewProject(), operations, operationField)
	for _, one := range refused {
		b.fault(placeOf(one, "files"), messageOf(one))
	}
	for i := range published.Ops {
		published.Ops[i].Size, _ = b.sizeOf(published.Ops[i].Blob)
	}
	published.ID, published.Source = single, SourceImport
	published.Message = "Imported without its history."
	b.event.Changesets = []ChangesetPublished{*published}
	origins := make([]Origin, len(b.History))
	for nth := range b.History {
		origins[nth] = b.History[nth].Origin
	}
	b.event.Imported.Changesets = origins[max(0, len(origins)-1):]
	b.event.Imported.Authors = tallyAuthors(origins, b.InheritedAuthors)
}

// placeOf returns the field of the operation that a refusal is about.
func placeOf(err error, list string) string {
	var refusal *fault.Error
	if errors.As(err, &refusal) {
		if nth, ok := refusal.Details["operation"].(int); ok {
			return indexed(list, nth) + ".path"
		}
	}
	return list
}

func messageOf(err error) string {
	var refusal *fault.Error
	if errors.As(err, &refusal) {
		return refusal.Message
	}
	return err.Error()
}

// blobs returns the contents that the changesets and the revisions name, each once, and those of
// them that are stored already.
func (b *bundleImport) blobs() (blobs []Blob, stored []StoredBlob) {
	taken := make(map[Hash]bool, len(b.Contents)+len(b.Stored))
	take := func(hash Hash) {
		if hash == (Hash{}) || taken[hash] {
			return
		}
		taken[hash] = true
		if size, there := b.Stored[hash]; there {
			stored = append(stored, StoredBlob{Hash: hash, Size: size})
			return
		}
		blobs = append(blobs, Blob{Hash: hash, Content: b.Contents[hash]})
	}
	for nth := range b.event.Changesets {
		for _, op := range b.event.Changesets[nth].Ops {
			take(op.Blob)
		}
	}
	for _, revision := range b.event.Revisions {
		for i := range revision.Files {
			take(revision.Files[i].Blob)
		}
	}
	return blobs, stored
}
