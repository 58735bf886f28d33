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
	// ErrBusy: more is queued than Options.QueueBytesMax. The entry was not taken.
	ErrBusy = errors.New("wal: too many bytes wait for the disk")
	// ErrNoSpace: the free space has reached Options.ReserveBytes. The entry was not taken, and
	// entries are taken again when there is space again.
	ErrNoSpace = errors.New("wal: free disk space has reached the reserve")
	// ErrTooLarge: the entry is longer than EntryBytesMax. It was not taken.
	ErrTooLarge = errors.New("wal: entry is too large")
	// ErrLatched: an I/O error has ended the life of this Log. It wraps the cause.
	ErrLatched = errors.New("wal: stopped after an I/O error")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("wal: log is closed")
	// ErrOutOfRange: the position is before the first entry or behind the end.
	ErrOutOfRange = errors.New("wal: position is outside of the log")
	// ErrReplayOrder: Replay was called after the first Append or CutBefore.
	ErrReplayOrder = errors.New("wal: replay comes before the first append")
)

// CorruptError names the place of damage. It answers to errors.Is(err, ErrCorrupt).
type CorruptError = shared.CorruptError
