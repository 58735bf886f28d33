package checkout

import (
	"errors"
	"os"
	"path"
	"runtime"
	"slices"
	"sync"
	"syscall"
)

// syncsAtOnce is how many files are made durable at the same time: the system joins their writes.
const syncsAtOnce = 16

// syncStaged makes staged files durable, and their names.
func (t *Tree) syncStaged(names ...string) error {
	for _, name := range names {
		if err := t.before("sync " + stagedPath(name)); err != nil {
			return err
		}
	}
	errs := make([]error, len(names))
	var all sync.WaitGroup
	slots := make(chan struct{}, syncsAtOnce)
	for i, name := range names {
		slots <- struct{}{}
		all.Go(func() {
			errs[i] = t.syncFile(stagedPath(name))
			<-slots
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return t.syncFolder(stagedName)
}

// syncFile makes the content of a file durable. Windows needs the right to write for that.
func (t *Tree) syncFile(name string) error {
	file, err := t.root.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// syncEffects makes the names durable that effects have made or removed, those of a killed process
// too. What has no folder any more has lost its name in the one above.
func (t *Tree) syncEffects(effects []effect) error {
	var folders []string
	known := map[string]bool{}
	for _, one := range effects {
		for folder := path.Dir(one.Path); !known[folder]; folder = path.Dir(folder) {
			known[folder] = true
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	for _, folder := range folders {
		info, err := t.root.Lstat(folder)
		switch {
		case notThere(err), err == nil && !info.IsDir():
			continue
		case err != nil:
			return err
		}
		if err := t.syncFolder(folder); err != nil {
			return err
		}
	}
	return nil
}

// syncFolder makes the names in a folder durable. Windows does that with the files, and some file
// systems have nothing of the kind.
func (t *Tree) syncFolder(name string) error {
	if err := t.before("sync " + name); err != nil || runtime.GOOS == "windows" {
		return err
	}
	folder, err := t.root.Open(name)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, folder.Close())
}
