package disk

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt marks damage on disk, whichever store finds it; the error that carries it is a
	// *CorruptError.
	ErrCorrupt = errors.New("corrupt")
	// ErrLocked says that somebody else holds the directory.
	ErrLocked = errors.New("directory is in use")
)

// CorruptError names the place of the damage. errors.Is(err, ErrCorrupt) holds for it.
type CorruptError struct {
	File   string // path
	Offset int64  // of the damaged part in the file, in bytes
	Reason string
}

// Error says the file, the offset and the reason.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: %s at offset %d: %s", ErrCorrupt, e.File, e.Offset, e.Reason)
}

// Unwrap gives the marker.
func (e *CorruptError) Unwrap() error { return ErrCorrupt }

// Corrupt makes a *CorruptError.
func Corrupt(file string, offset int64, format string, args ...any) error {
	return &CorruptError{File: file, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// damageMax bounds the places that a DamageList names.
const damageMax = 1000

// DamageList is the damage that a pass over a store has met.
type DamageList []CorruptError

// Note collects damage and hands back every other error.
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

// Err is the first damage, nil if there is none.
func (l DamageList) Err() error {
	if len(l) == 0 {
		return nil
	}
	first := l[0]
	return &first
}
