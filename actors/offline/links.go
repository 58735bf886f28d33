package offline

import (
	"errors"
	"os"
	"path/filepath"

	"pws/snapshot"
)

// linkedSnapshot is a snapshot that was opened without changing its directory: the store removes
// what interrupted runs have left, so it works in a folder of links outside.
type linkedSnapshot struct {
	*snapshot.Store
	dir string
}

func openLinked(dir string) (*linkedSnapshot, error) {
	links, err := linkFolder(dir)
	if err != nil {
		return nil, err
	}
	store, err := snapshot.Open(snapshot.Options{Dir: links})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(links))
	}
	return &linkedSnapshot{Store: store, dir: links}, nil
}

// linkFolder makes a folder of links to all that is in another one.
func linkFolder(dir string) (links string, err error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	links, err = os.MkdirTemp("", "pws-verify-")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		from := filepath.Join(dir, name.Name())
		if err := os.Symlink(from, filepath.Join(links, name.Name())); err != nil {
			return "", errors.Join(err, os.RemoveAll(links))
		}
	}
	return links, nil
}

func (l *linkedSnapshot) close() error { return errors.Join(l.Close(), os.RemoveAll(l.dir)) }
