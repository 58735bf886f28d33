package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Allocate reserves space for a file up to a size, which reads as zeros, so that a later Datasync
// of what is written there has no new length to make durable. A file system that cannot reserve, or
// that has no room for it, leaves the file as it is; that is no error.
func Allocate(f *os.File, size int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil, errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS),
			errors.Is(err, unix.EFBIG), systemFull(err):
			return nil
		}
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
}

// Datasync makes the bytes of a file durable, with its length if that has changed, and without its
// times.
func Datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil:
			return nil
		}
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
}
