//go:build unix

package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock takes an advisory lock on an open file or directory. It returns
// ErrLocked if another process holds a conflicting lock. Closing the file releases the lock.
func TryLock(f *os.File, mode LockMode) error {
	how := unix.LOCK_SH
	if mode == Exclusive {
		how = unix.LOCK_EX
	}
	for {
		switch err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		default:
			return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

// Free returns the number of bytes that can still be written to the file system of a directory, and
// its total size.
func Free(dir string) (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, fmt.Errorf("statfs %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), nil
}

// systemFull reports whether an error of the operating system means that there is no space.
func systemFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// syncDir makes the names of a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// RemoveName removes a file and returns when its name is gone. To free its space takes milliseconds
// for a large file, so that is left to another goroutine.
func RemoveName(path string) error {
	// The space is freed when the last descriptor is closed.
	f, err := os.Open(path)
	if err != nil {
		return os.Remove(path)
	}
	err = os.Remove(path)
	go f.Close()
	return err
}
