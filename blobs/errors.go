package blobs

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt marks damage on disk; the error that carries it is a *CorruptError.
	ErrCorrupt = errors.New("blobs: corrupt")
	// ErrLocked says that another store or a verification holds the directory.
	ErrLocked = errors.New("blobs: directory is in use")
	// ErrClosed is returned by a store after Close.
	ErrClosed = errors.New("blobs: closed")
	// ErrNotFound says that no blob of the hash is stored.
	ErrNotFound = errors.New("blobs: not found")
	// ErrUncertain says that replacing the manifest failed after its rename, so that only reopening
	// the directory tells which packs count. Nothing that either manifest names is removed; the
	// store goes on reading, and packs and merges no more.
	ErrUncertain = errors.New("blobs: outcome of a manifest change is unknown")
)

// CorruptError names the place of the damage. errors.Is(err, ErrCorrupt) holds for it.
type CorruptError struct {
	File   string
	Offset int64
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("blobs: corrupt: %s at offset %d: %s", e.File, e.Offset, e.Reason)
}

// Is makes the type answer to the marker.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

func corrupt(file string, offset int64, format string, args ...any) error {
	return &CorruptError{File: file, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}
