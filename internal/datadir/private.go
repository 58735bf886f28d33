package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// others are the permission bits of everybody but the owner.
const others fs.FileMode = 0o077

// everybody are those of users who are neither the owner nor in the group.
const everybody fs.FileMode = 0o007

// RequirePrivate refuses a data directory that is a file, or that other users of the machine may
// open, and returns the command that closes it. A directory that does not exist will be created as
// a private one.
func RequirePrivate(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("data directory: %w", err)
	case !info.IsDir():
		return fmt.Errorf("the data directory %s is a file, not a directory", dir)
	case runtime.GOOS == "windows":
		return nil
	case info.Mode()&others != 0:
		return fmt.Errorf("the data directory %s is open to other users of this machine (mode %04o); "+
			"close it with: chmod -R go-rwx '%s'", dir, info.Mode().Perm(), dir)
	}
	return nil
}

// RequireSecret refuses a file that all users of the machine may read, and returns the command that
// closes it. A group may read it: that is how secrets are given to services.
func RequireSecret(name string) error {
	info, err := os.Stat(name)
	if err != nil || runtime.GOOS == "windows" || info.Mode()&everybody == 0 {
		return err
	}
	return fmt.Errorf("%s is open to all users of this machine (mode %04o); close it with: "+
		"chmod o-rwx '%s'", name, info.Mode().Perm(), name)
}

// Tighten takes the permissions of other users from all files in a data directory. Older versions
// made the log readable by the group.
func Tighten(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type()&fs.ModeSymlink == 0 {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil && info.Mode()&others != 0 {
				err = os.Chmod(name, info.Mode()&^others)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// requireFormat refuses a directory without its format that has data: the file is written BEFORE
// anything else. The file must not be guessed, because the data may be of another version.
func requireFormat(dir string) error {
	name := filepath.Join(dir, FormatName)
	part := firstOf(dir, LogName, SnapshotName, BlobsName)
	if part == "" {
		return nil
	}
	return fmt.Errorf("%s is missing, but %s is there: copy the file from a backup of the data "+
		"directory, or, if this program has written it, run: echo '%s' > '%s'", name, part,
		strings.TrimSpace(formatText), name)
}

// firstOf is the path of the first part of a directory that is there, or may be; empty for none.
func firstOf(dir string, parts ...string) string {
	for _, part := range parts {
		part = filepath.Join(dir, part)
		if _, err := os.Stat(part); !errors.Is(err, fs.ErrNotExist) {
			return part
		}
	}
	return ""
}

// What to do about a secret that is lost, where there is no backup. Credentials are stored as their
// hashes, so they are not lost with it.
const (
	newSecretAdvice = "write 64 random hexadecimal digits to it, and remove the file " +
		SecretSumName + " if it is there: sessions stay valid, but event " +
		"IDs, cursors, open forms and codes of the web page end, and a request that makes a project " +
		"makes another one when it is sent again"
	groupSecretAdvice = "copy the file of the same name from the folder of --cluster-keys"
)

// requireNew refuses a directory that has been in use without its secret.
func requireNew(dir, advice string) error {
	if firstOf(dir, SnapshotName, BlobsName) == "" {
		return nil
	}
	return fmt.Errorf("%s is missing, but the data directory is in use: copy the file from a backup "+
		"of it; if there is none, %s", filepath.Join(dir, SecretName), advice)
}
