package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pws/client"
)

// The folder .pws may have come with someone else's repository, or be that of another user of this
// machine. So nothing in it is a link, what is read of it is bounded, and it has to belong to who
// runs the program.

// pwsFileMax is the largest file that is read of the folder .pws.
const pwsFileMax = 1 << 20

// pwsPath is the path of a file in the folder .pws of a directory, whether it exists or not.
// Errors: links, and what is no file or folder where one is expected; another owner.
func pwsPath(root string, names ...string) (string, error) {
	path := root
	all := append([]string{bindingFolder}, names...)
	for i, name := range all {
		path = filepath.Join(path, name)
		info, err := os.Lstat(path)
		last := i == len(all)-1
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return filepath.Join(append([]string{root}, all...)...), nil
		case err != nil:
			return "", err
		case last && !info.Mode().IsRegular():
			return "", fmt.Errorf("%s is not an ordinary file", path)
		case !last && !info.IsDir():
			return "", fmt.Errorf("%s is not a folder", path)
		case !ownedByCaller(info):
			return "", fmt.Errorf("%s belongs to another user of this machine; "+
				"pws ignores files owned by others",
				path)
		}
	}
	return path, nil
}

// readPws reads a file in the folder .pws of a directory.
func readPws(root string, names ...string) ([]byte, error) {
	path, err := pwsPath(root, names...)
	if err != nil {
		return nil, err
	}
	return readBounded(path)
}

// readBounded reads what pwsPath or local has returned.
func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, pwsFileMax+1))
	err = errors.Join(err, file.Close())
	if err == nil && len(text) > pwsFileMax {
		err = fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return text, err
}

// writePws replaces a file in the folder .pws of a directory, which others may read unless it is in
// the folder local.
func writePws(root string, content []byte, names ...string) error {
	path, err := pwsPath(root, names...)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if names[0] == localFolder {
		mode = 0o600
	}
	if err := os.MkdirAll(filepath.Join(root, bindingFolder), 0o777); err != nil {
		return err
	}
	return client.ReplaceFile(path, content, mode)
}

// local is the path of a file in .pws/local that is changed with a lock beside it.
func (b *Binding) local(name string) (string, error) {
	if _, err := pwsPath(b.root, localFolder, name+lockSuffix); err != nil {
		return "", err
	}
	return pwsPath(b.root, localFolder, name)
}

const lockSuffix = ".lock"
