package disk

import (
	"errors"
	"fmt"
)

// ErrNoRoom reports that a write was refused to keep space free.
var ErrNoRoom = errors.New("the free disk space is reserved")

// IsFull reports whether an error means that there is no space: ErrNoRoom, a full file system, or a
// quota of the operating system.
func IsFull(err error) bool {
	return errors.Is(err, ErrNoRoom) || systemFull(err)
}

// Guard returns a disk that calls room BEFORE each write. If room returns an error, the write fails
// with it and writes nothing.
func Guard(d Disk, room func(bytes int64) error) Disk { return guarded{d, room} }

type guarded struct {
	Disk
	room func(int64) error
}

// Create implements Disk.
func (g guarded) Create(path string) (File, error) {
	f, err := g.Disk.Create(path)
	if err != nil {
		return nil, err
	}
	return guardedFile{f, path, g.room}, nil
}

type guardedFile struct {
	File
	path string
	room func(int64) error
}

// Write implements io.Writer.
func (f guardedFile) Write(b []byte) (int, error) {
	if err := f.room(int64(len(b))); err != nil {
		return 0, fmt.Errorf("write %s: %w", f.path, err)
	}
	return f.File.Write(b)
}
