package blobs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// disk is what the store asks of a file system; tests put failing and forgetful ones in its place.
type disk interface {
	mkdir(dir string) error
	create(path string) (file, error)
	open(path string) (file, error)
	rename(from, to string) error
	remove(path string) error
	list(dir string) ([]string, error)
	syncDir(dir string) error
	lock(dir string, exclusive bool) (io.Closer, error)
}

type file interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Sync() error
	Size() (int64, error)
}

type osDisk struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// mkdir also syncs the parent: a directory whose name is lost takes everything in it along.
func (osDisk) mkdir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return osDisk{}.syncDir(filepath.Dir(filepath.Clean(dir)))
}

func (osDisk) create(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osDisk) open(path string) (file, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) remove(path string) error { return os.Remove(path) }

func (osDisk) list(dir string) ([]string, error) {
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

func (osDisk) syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// lock takes an advisory lock on the directory itself, so that no lock file is left behind.
func (osDisk) lock(dir string, exclusive bool) (io.Closer, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		err = unix.Flock(int(d.Fd()), how|unix.LOCK_NB)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("%w: %s: %v", ErrLocked, dir, err)
	}
	return d, nil
}
