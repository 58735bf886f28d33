package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pws/internal/disk"
)

// ErrInUse says that a server has the data directory open.
var ErrInUse = errors.New("the data directory is in use by a running server; stop it first")

// LockOffline keeps servers away from a data directory until it is closed. A backup has no lock
// file, and gets none. Errors: ErrInUse.
func LockOffline(dir string) (io.Closer, error) {
	file, err := os.Open(filepath.Join(dir, LogName, LogLockName))
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(nil), nil
	}
	if err != nil {
		return nil, err
	}
	err = disk.TryLock(file, disk.Shared)
	if err == nil {
		return file, nil
	}
	if errors.Is(err, disk.ErrLocked) {
		err = fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	return nil, errors.Join(err, file.Close())
}
