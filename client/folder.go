package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// Folders are where a client keeps its files. All must be absolute paths.
type Folders struct {
	// Config has the profiles and their keys, State the sessions and locks, Cache what can be
	// fetched again.
	Config, State, Cache string
}

const (
	privateFile   fs.FileMode = 0o600
	privateFolder fs.FileMode = 0o700
	// openBits are the permissions that a private file must not have.
	openBits fs.FileMode = 0o077
)

// OpenFileError reports a private file that others may read.
type OpenFileError struct {
	Path string
	Mode fs.FileMode
}

func (e *OpenFileError) Error() string {
	return fmt.Sprintf("%s can be read by others (mode %04o)", e.Path, e.Mode)
}

// checkPrivate returns an *OpenFileError if others may read or write a file. Windows has no such
// bits; there the folder of the user protects it.
func checkPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&openBits != 0 {
		return &OpenFileError{Path: path, Mode: mode}
	}
	return nil
}

// writePrivate is ReplaceFile for a file that only its owner may read.
func writePrivate(path string, content []byte) error {
	return ReplaceFile(path, content, privateFile)
}

// ReplaceFile replaces a file in one step: a reader sees the old content or the new one, also after
// a crash. It makes the folder, for the owner alone if the file is for the owner alone.
func ReplaceFile(path string, content []byte, mode fs.FileMode) (err error) {
	folder := filepath.Dir(path)
	folderMode := fs.FileMode(0o777)
	if mode&openBits == 0 {
		folderMode = privateFolder
	}
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// lockWait is how often a process that waits for a lock tries again.
const lockWait = 20 * time.Millisecond

// Locked calls run while this process alone has the lock of a name. Locks end with their process.
func (f Folders) Locked(ctx context.Context, name string, run func() error) error {
	return WithLock(ctx, filepath.Join(f.State, "locks", name), run)
}

// secretBytes is the length of the secret.
const secretBytes = 32

// Secret returns random bytes that are the same for all programs of this user, and makes them where
// there are none. Errors: those of the file system; a file that is too short.
func (f Folders) Secret() (secret []byte, err error) {
	name := filepath.Join(f.State, "secret")
	if secret, err = os.ReadFile(name); errors.Is(err, fs.ErrNotExist) {
		err = f.Locked(context.Background(), "secret", func() error {
			if secret, err = os.ReadFile(name); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			secret = make([]byte, secretBytes)
			_, _ = rand.Read(secret)
			return writePrivate(name, secret)
		})
	}
	if err == nil && len(secret) < secretBytes {
		err = fmt.Errorf("%s has %d bytes and not %d: remove it", name, len(secret), secretBytes)
	}
	return secret, err
}

// WithLock calls run while this process alone has the lock that is a file, and makes its folder.
// Errors: those of run, of the file system and of the context.
func WithLock(ctx context.Context, path string, run func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), privateFolder); err != nil {
		return err
	}
	lock := flock.New(path, flock.SetPermissions(privateFile))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		_, err = lock.TryLockContext(ctx, lockWait)
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("waiting for another process with %s: %w", path, err)
		}
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", path, err)
	}
	return errors.Join(run(), lock.Unlock())
}
