package blobs

import (
	"errors"

	"pws/internal/disk"
)

var (
	// ErrCorrupt marks damage on disk; the error that carries it is a *CorruptError.
	ErrCorrupt = disk.ErrCorrupt
	// ErrLocked reports that another store or a verification holds the directory.
	ErrLocked = disk.ErrLocked
	// ErrClosed is returned by a store after Close.
	ErrClosed = errors.New("blobs: closed")
	// ErrNotFound reports that no blob with the hash is stored.
	ErrNotFound = errors.New("blobs: not found")
	// ErrUncertain says that replacing the manifest failed after its rename, so that only reopening
	// the directory shows which packs count. Nothing that either manifest names is removed; the
	// store goes on reading, but no longer packs or merges.
	ErrUncertain = errors.New("blobs: outcome of a manifest change is unknown")
)

// CorruptError contains the place of the damage. errors.Is(err, ErrCorrupt) is true for it.
type CorruptError = disk.CorruptError
