package wal

import (
	"errors"

	shared "pws/internal/disk"
)

// The errors that callers distinguish with errors.Is.
var (
	// ErrCorrupt marks damage of the stored log. errors.As with *CorruptError gives the place.
	ErrCorrupt = shared.ErrCorrupt
	// ErrLocked: another Log has the directory open.
	ErrLocked = errors.New("wal: directory is in use by another process")
	// ErrBusy: more is queued than Options.QueueBytesMax. The entry was refused.
	ErrBusy = errors.New("wal: too many bytes wait for the disk")
	// ErrNoSpace: the free space has reached Options.ReserveBytes. The entry was refused. Entries
	// are accepted again when there is enough space.
	ErrNoSpace = errors.New("wal: free disk space has reached the reserve")
	// ErrTooLarge: the entry is longer than EntryBytesMax. It was refused.
	ErrTooLarge = errors.New("wal: entry is too large")
	// ErrLatched: an I/O error has stopped this Log. It wraps the cause.
	ErrLatched = errors.New("wal: stopped after an I/O error")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("wal: log is closed")
	// ErrOutOfRange: the position is before the first entry or after the end.
	ErrOutOfRange = errors.New("wal: position is outside of the log")
	// errReplayOrder: Replay was called after the first Append or CutBefore.
	errReplayOrder = errors.New("wal: replay comes before the first append")
)

// CorruptError contains the place of the damage. errors.Is(err, ErrCorrupt) is true for it.
type CorruptError = shared.CorruptError
