// Package disk contains what the stores share: the file system interface, the damage error, the
// codec of stored content, the common parts of their file formats, and a Reader of small encoded
// records.
//
// All integers are little endian, all checksums CRC-32C. A numbered file begins with a header and
// ends with a footer; magics, version and the three words are those of the store:
//
//	header  magic (8) | version (4) | number (4) | zero (4) | crc of these (4)
//	footer  three words (8 each) | number (4) | crc of the index (4) | salt (4) | magic (8) |
//	        crc of these (4)
//
// A manifest begins with magic (8) and version (4), and ends with
//
//	files (4) | per file, in ascending order: number (4) | size (8) | crc of its footer (4) |
//	crc of all before (4)
package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Disk is the file system interface of a store. Tests implement it with injected faults and
// crashes.
type Disk interface {
	// MakeDir makes a directory, with its parents, and makes its name durable.
	MakeDir(dir string) error
	// Create creates an empty file, or truncates an existing one.
	Create(path string) (File, error)
	// Open opens a file for reading.
	Open(path string) (File, error)
	Rename(from, to string) error
	Remove(path string) error
	// List returns the names in a directory, sorted.
	List(dir string) ([]string, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
	// Lock locks a directory until the result is closed. The error is
	// ErrLocked if another process has locked it.
	Lock(dir string, mode LockMode) (io.Closer, error)
}

// File is an open file.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Sync() error
	Size() (int64, error)
}

// OS is the file system of the machine.
type OS struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// MakeDir syncs the parent of each directory that it creates, and in any case that of the last one:
// if the name of a directory is lost, so is everything in it.
func (OS) MakeDir(dir string) error { return makeDir(dir, OS{}.SyncDir) }

func makeDir(dir string, syncDir func(string) error) error {
	var parents []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		parent := filepath.Dir(at)
		parents = append(parents, parent)
		if _, err := os.Stat(parent); err == nil || parent == at {
			break
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, parent := range slices.Backward(parents) {
		if err := syncDir(parent); err != nil {
			return err
		}
	}
	return nil
}

// Create implements Disk. The file is written in pieces, so that it delays no sync of another one.
func (OS) Create(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return newPacedFile(osFile{f}), nil
}

// Open implements Disk.
func (OS) Open(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Rename implements Disk.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements Disk.
func (OS) Remove(path string) error { return os.Remove(path) }

// List implements Disk.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// SyncDir implements Disk.
func (OS) SyncDir(dir string) error { return syncDir(dir) }

// LockMode is how a lock is held: by one alone, or by several.
type LockMode bool

// The modes of a lock.
const (
	Shared    LockMode = false
	Exclusive LockMode = true
)

// Lock takes an advisory lock on the directory itself, so there is no lock file.
func (OS) Lock(dir string, mode LockMode) (io.Closer, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := TryLock(d, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), d.Close())
	}
	return d, nil
}

// Claim creates a directory if necessary and locks it exclusively.
func Claim(d Disk, dir string) (io.Closer, error) {
	if err := d.MakeDir(dir); err != nil {
		return nil, err
	}
	return d.Lock(dir, Exclusive)
}

// ReadRange fills b; an early end of the file is damage.
func ReadRange(f File, name string, offset int64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if n, err := f.ReadAt(b, offset); n < len(b) {
		if errors.Is(err, io.EOF) {
			return Corrupt(name, offset+int64(n), "file ends early")
		}
		return fmt.Errorf("read %s at offset %d: %w", name, offset, err)
	}
	return nil
}

// WriteSynced writes a whole file and makes its bytes durable, but not its name.
func WriteSynced(d Disk, path string, b []byte) error {
	f, err := d.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// RemoveNames removes the given files of a directory if they exist, and syncs the directory.
func RemoveNames(d Disk, dir string, names []string) error {
	for _, name := range names {
		err := d.Remove(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	return d.SyncDir(dir)
}
