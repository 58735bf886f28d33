package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A renewal replaces the data of a member by newer data of another one. What replaces it is
// collected in a folder of the data directory, which gets another name when it is complete. From
// then on its parts take the places of those that are there, whenever FinishRenewal is called: a
// crash does not matter.
const (
	renewalName        = "renewal"
	renewalPartialName = "renewal.partial"
)

// renewedNames are what a renewal replaces. Uploads stay; the search index is made again.
var renewedNames = []string{LogName, SnapshotName, BlobsName, FeedName, RaftName}

// BeginRenewal returns the path where a renewal is collected. Nothing is there.
func BeginRenewal(dir string) (string, error) {
	partial := filepath.Join(dir, renewalPartialName)
	return partial, os.RemoveAll(partial)
}

// CommitRenewal says that a renewal is complete. Its files are durable.
func CommitRenewal(dir string) error {
	partial := filepath.Join(dir, renewalPartialName)
	for _, name := range renewedNames {
		if _, err := os.Stat(filepath.Join(partial, name)); err != nil {
			return fmt.Errorf("a renewal without %s: %w", name, err)
		}
	}
	if err := SyncDir(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, filepath.Join(dir, renewalName)); err != nil {
		return err
	}
	return SyncDir(dir)
}

// FinishRenewal puts the parts of a complete renewal into their places, and removes one that is not
// complete. It does nothing where there is none. Nobody else may use the data directory.
func FinishRenewal(dir string) error {
	if err := os.RemoveAll(filepath.Join(dir, renewalPartialName)); err != nil {
		return err
	}
	if !renews(dir) {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(dir, SearchName)); err != nil {
		return err
	}
	for _, name := range renewedNames {
		from, to := filepath.Join(dir, renewalName, name), filepath.Join(dir, name)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
	}
	if err := SyncDir(dir); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, renewalName))
}

// renews reports whether there is a complete renewal whose parts are not all in their places.
func renews(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, renewalName))
	return err == nil
}
