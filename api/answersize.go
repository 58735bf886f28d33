package api

import (
	"pws/api/jsonschema"
	"pws/work"
)

// The approximate sizes of parts of answers as JSON, in bytes.
const (
	// recordBytes is a small record without its texts, operationBytes an operation without its path.
	recordBytes    = 1 << 10
	operationBytes = 320
	// plainTextBytes is the size up to which a text is not searched for what JSON escapes: six times
	// as much is less than what has to be reserved.
	plainTextBytes = 8 << 10
)

// textBytes is the size of a text as JSON. That of a short text may be less.
func textBytes(text string) int {
	if len(text) <= plainTextBytes {
		return 6 * len(text)
	}
	return jsonschema.StringBytes(text)
}

// changesetBytes is the approximate size of a changeset as JSON. Operations are most of a large
// one.
func changesetBytes(c *work.Changeset) int {
	size := recordBytes + textBytes(c.Message)
	for i := range c.Ops {
		op := &c.Ops[i]
		size += operationBytes + len(*op.Path)
		if op.From != nil {
			size += len(*op.From)
		}
	}
	return size
}

// fileBytes is the approximate size of a file with a content as JSON.
func fileBytes(info *work.FileInfo, content []byte) int {
	return recordBytes + 2*len(info.Path) + textBytes(textOf(content))
}
