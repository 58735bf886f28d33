package disk

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt marks damage on disk, for all stores; the error that wraps it is a *CorruptError.
	ErrCorrupt = errors.New("corrupt")
	// ErrNewer marks what a newer program has written; it is no damage.
	ErrNewer = errors.New("written by a newer program")
	// ErrLocked reports that another process has locked the directory.
	ErrLocked = errors.New("directory is in use")
)

// CorruptError contains the place of the damage. errors.Is(err, ErrCorrupt) is true for it.
type CorruptError struct {
	File   string // path
	Offset int64  // of the damaged part in the file, in bytes
	Reason string
}

// Error returns the reason with file and offset.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: %s at offset %d: %s", ErrCorrupt, e.File, e.Offset, e.Reason)
}

// Unwrap returns ErrCorrupt.
func (e *CorruptError) Unwrap() error { return ErrCorrupt }

// Corrupt makes a *CorruptError.
func Corrupt(file string, offset int64, format string, args ...any) error {
	return &CorruptError{File: file, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// UnknownVersion is the error for a file of another format version than the one known here:
// ErrNewer for a higher one, else a *CorruptError with the offset of the version.
func UnknownVersion(file string, offset int64, version, known uint32) error {
	if version > known {
		return fmt.Errorf("%s: %w: it has format version %d, and this program knows %d", file, ErrNewer,
			version, known)
	}
	return Corrupt(file, offset, "format version %d is not known", version)
}

// damageMax is the maximum length of a DamageList.
const damageMax = 1000

// DamageList collects damage during a pass over a store.
type DamageList []CorruptError

// Note adds damage to the list and returns every other error.
func (l *DamageList) Note(err error) error {
	var c *CorruptError
	if !errors.As(err, &c) {
		return err
	}
	if len(*l) < damageMax {
		*l = append(*l, *c)
	}
	return nil
}

// Err returns the first damage, nil if there is none.
func (l DamageList) Err() error {
	if len(l) == 0 {
		return nil
	}
	first := l[0]
	return &first
}
