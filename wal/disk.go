package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	tidwall "github.com/tidwall/wal"

	files "pws/internal/disk"
)

// disk has all calls to the file system, so that tests can inject failures.
type disk interface {
	// MakeDir creates the directory and makes its name durable.
	MakeDir(dir string) error
	// ReadDir lists a directory, sorted by name.
	ReadDir(dir string) ([]os.DirEntry, error)
	// ReadFile reads a whole file into buf, or into a longer one.
	ReadFile(path string, buf []byte) ([]byte, error)
	// Truncate shortens a file; a Sync makes that durable.
	Truncate(path string, size int64) error
	// Sync makes the bytes and the length of a file durable.
	Sync(path string) error
	// Remove removes a file.
	Remove(path string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
	// Free returns the number of bytes that can still be written to the file system of dir.
	Free(dir string) (int64, error)
	// Rename renames a file; a SyncDir makes that durable.
	Rename(from, to string) error
	// Check opens the tidwall log, which creates its first segment, and closes it. It returns the
	// index of the last record, 0 if there is none.
	Check(dir string) (last uint64, err error)
	// CreateSegment makes an empty file.
	CreateSegment(path string) error
	// OpenSegment opens a segment to write behind a number of bytes.
	OpenSegment(path string, size int64) (segmentFile, error)
}

type osDisk struct{}

func (osDisk) MakeDir(dir string) error { return files.OS{}.MakeDir(dir) }

func (osDisk) ReadDir(dir string) ([]os.DirEntry, error) { return os.ReadDir(dir) }

func (osDisk) ReadFile(path string, buf []byte) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if size != int64(int(size)) {
		return nil, fmt.Errorf("%s: %d bytes are too many", path, size)
	}
	if cap(buf) < int(size) {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	n, err := io.ReadFull(f, buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return buf[:n], nil
	}
	return buf[:n], err
}

func (osDisk) Truncate(path string, size int64) error { return os.Truncate(path, size) }

func (osDisk) Sync(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Remove has another goroutine free the space, because all writers wait until it returns.
func (osDisk) Remove(path string) error { return files.RemoveName(path) }

func (osDisk) SyncDir(dir string) error { return files.OS{}.SyncDir(dir) }

func (osDisk) Free(dir string) (int64, error) {
	free, _, err := files.Free(dir)
	return free, err
}

func (osDisk) Rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) Check(dir string) (last uint64, err error) {
	l, err := tidwall.Open(dir, &tidwall.Options{
		NoSync: true, NoCopy: true, SegmentCacheSize: 1, DirPerms: 0o700, FilePerms: 0o600,
	})
	if err != nil {
		return 0, err
	}
	last, err = l.LastIndex()
	return last, errors.Join(err, l.Close())
}

func (osDisk) CreateSegment(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (osDisk) OpenSegment(path string, size int64) (segmentFile, error) {
	f, err := openSegment(path, size)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func openSegment(path string, size int64) (*osSegment, error) {
	f, err := files.OpenAppended(path, size)
	if err != nil {
		return nil, err
	}
	return &osSegment{f}, nil
}

type osSegment struct{ *files.Appended }

// Fill has a descriptor of its own: the system reports a failure of the disk once to each, and that
// of the segment is for those who wait for a sync.
func (s *osSegment) Fill(from, to int64) error {
	f, err := openSegment(s.Name(), from)
	if err != nil {
		return err
	}
	return errors.Join(f.Appended.Fill(from, to), f.Sync(), f.Close())
}

func (s *osSegment) Sync() error { return files.Datasync(s.File) }

// lockName is shorter than a segment's name, so tidwall ignores it.
const lockName = "LOCK"

// lockDir locks the directory. The lock ends when the file is closed or the process exits.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = files.TryLock(f, files.Exclusive)
	if err == nil {
		return f, nil
	}
	if errors.Is(err, files.ErrLocked) {
		err = fmt.Errorf("%w: %s", ErrLocked, dir)
	}
	return nil, errors.Join(err, f.Close())
}
