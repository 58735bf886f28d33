package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"

	"pws/client"
)

// The folder .pws/local has contents of files that the directory may keep from other users of the
// machine. So it is private, and so is what is in it, until a staged file takes its place.
const (
	privateFolder fs.FileMode = 0o700
	privateFile   fs.FileMode = 0o600
	// openBits are the permissions that neither has.
	openBits fs.FileMode = 0o077
)

// narrow makes the folder private that an earlier program has made. Some file systems have no such
// permissions, and Windows has others: what cannot be changed stays as it is.
func (t *Tree) narrow() {
	narrow := func(name string) (open bool) {
		info, err := t.root.Lstat(name)
		if open = err == nil && info.Mode().Perm()&openBits != 0; open {
			_ = t.root.Chmod(name, info.Mode().Perm()&^openBits)
		}
		return open
	}
	if runtime.GOOS == "windows" || !narrow(localFolder) {
		return
	}
	entries, _ := t.list(localFolder)
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			narrow(path.Join(localFolder, entry.Name()))
		}
	}
}

// newFileMode is the mode of a new file of the directory: what the user's mask leaves. Only a file
// shows it.
func (t *Tree) newFileMode() (fs.FileMode, error) {
	if t.fileMode != 0 {
		return t.fileMode, nil
	}
	probe := localFolder + "/probe-" + client.NewIdempotencyKey()
	file, err := t.root.OpenFile(probe, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err = errors.Join(err, file.Close(), t.root.Remove(probe)); err != nil {
		return 0, err
	}
	t.fileMode = info.Mode().Perm()
	return t.fileMode, nil
}
