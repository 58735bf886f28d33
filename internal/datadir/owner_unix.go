//go:build unix

package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// RequireOwner refuses a directory with data of another user, and returns how to become that user,
// who could not open the files that root makes there. The data belongs to the owner of its first
// file: a new directory has none, and root may begin one in a folder that was made for it.
func RequireOwner(dir string) error {
	info, err := os.Stat(filepath.Join(dir, FormatName))
	if errors.Is(err, fs.ErrPermission) {
		// Only the owner of the directory, and root, may look into it.
		info, err = os.Stat(dir)
	}
	if err != nil {
		// It is new, or whatever opens it next reports the error.
		return nil
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() {
		return nil
	}
	number := strconv.FormatUint(uint64(stat.Uid), 10)
	name := "'#" + number + "'"
	if owner, err := user.LookupId(number); err == nil {
		name = owner.Username
	}
	return fmt.Errorf("the data in %s belongs to user %s, who could not use what this command writes "+
		"there: run it as that user, with: sudo -u %s pws …", dir, name, name)
}
