package snapshot

import (
	"errors"

	"pws/internal/disk"
)

var (
	// ErrCorrupt marks damage on disk; the error that carries it is a *CorruptError.
	ErrCorrupt = disk.ErrCorrupt
	// ErrLocked reports that another store or a verification holds the directory.
	ErrLocked = disk.ErrLocked
	// ErrClosed is returned by a store after Close and by a writer after Commit or Abort.
	ErrClosed = errors.New("snapshot: closed")
	// ErrBusy is returned by Begin while another run is open.
	ErrBusy = errors.New("snapshot: a run is already open")
	// ErrUncertain says that a commit failed after its manifest was renamed into place, so that
	// only reopening the directory shows whether it counts. The store still reads the old state and
	// takes no further run. The log must not be cut.
	ErrUncertain = errors.New("snapshot: outcome of a commit is unknown")
)

// CorruptError contains the place of the damage. errors.Is(err, ErrCorrupt) is true for it.
type CorruptError = disk.CorruptError
