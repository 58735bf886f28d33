package snapshot

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt marks damage on disk; the error that carries it is a *CorruptError.
	ErrCorrupt = errors.New("snapshot: corrupt")
	// ErrLocked says that another store or a verification holds the directory.
	ErrLocked = errors.New("snapshot: directory is in use")
	// ErrClosed is returned by a store after Close and by a writer after Commit or Abort.
	ErrClosed = errors.New("snapshot: closed")
	// ErrBusy is returned by Begin while another run is open.
	ErrBusy = errors.New("snapshot: a run is already open")
	// ErrUncertain says that a commit failed after its manifest was renamed into place, so that
	// only reopening the directory tells whether it counts. The store still reads the old state
	// and takes no further run. The log must not be cut.
	ErrUncertain = errors.New("snapshot: outcome of a commit is unknown")
)

// CorruptError names the place of the damage. errors.Is(err, ErrCorrupt) holds for it.
type CorruptError struct {
	File   string
	Offset int64
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("snapshot: corrupt: %s at offset %d: %s", e.File, e.Offset, e.Reason)
}

// Is makes the type answer to the marker.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

func corrupt(file string, offset int64, format string, args ...any) error {
	return &CorruptError{File: file, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}
