package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// TryLock takes a lock on an open file. It returns ErrLocked if another
// process holds a conflicting lock. Closing the file releases the lock.
func TryLock(f *os.File, mode LockMode) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if mode == Exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, new(windows.Overlapped))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return ErrLocked
	}
	return &os.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
}

// Free returns the number of bytes that can still be written to the file system of a directory, and
// its total size.
func Free(dir string) (free, total int64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	var available, size uint64
	if err := windows.GetDiskFreeSpaceEx(name, &available, &size, nil); err != nil {
		return 0, 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(available), int64(size), nil
}

// systemFull reports whether an error of the operating system means that there is no space.
func systemFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// syncDir does nothing: Windows makes names durable with their files.
func syncDir(string) error { return nil }

// RemoveName removes a file.
func RemoveName(path string) error { return os.Remove(path) }
