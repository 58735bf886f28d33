package disk

import (
	"errors"
	"fmt"
)

// ErrNoRoom says that a write was refused because it would have used space that is kept free.
var ErrNoRoom = errors.New("the free disk space is reserved")

// IsFull reports whether an error says that there is no space: that of a guarded disk, that of the
// file system, or a quota of the operating system.
func IsFull(err error) bool {
	return errors.Is(err, ErrNoRoom) || systemFull(err)
}

// Guard is a disk that asks for room BEFORE each write. An error of room is that of the write, of
// which nothing is written then.
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
