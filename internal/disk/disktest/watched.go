package disktest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"pws/internal/disk"
)

// Watched is a real folder with a Disk, the model, that has the same names and bytes and knows
// which of them are durable. Each operation is executed in the folder and then on the model; a
// fault injected by the model prevents both. Paths are those of the machine. Files are synced only
// on the model.
type Watched struct {
	disk.OS
	*Disk
	// Folder is an absolute path. Only files in it are watched.
	Folder string
}

// Watch starts to watch a folder; its current contents count as durable.
func Watch(folder string) (*Watched, error) {
	w := &Watched{Disk: New(), Folder: folder}
	if err := w.Reflect(); err != nil {
		return nil, err
	}
	w.root = w.Disk.AfterCrash(CrashKeepsAll).root
	return w, nil
}

// Adopt copies from a disk with the same names and bytes which of them are durable.
func (w *Watched) Adopt(d *Disk) { w.root = d.AfterKill().root }

// inside returns the path in the model.
func (w *Watched) inside(path string) string {
	rel, err := filepath.Rel(w.Folder, path)
	if err != nil {
		panic(err)
	}
	return rel
}

// Step counts an operation that the caller executes in the folder, and reports whether it fails.
func (w *Watched) Step(op, path string) error {
	err := w.Disk.step(op, w.inside(path))
	w.mu.Unlock()
	return err
}

// Reflect updates the model after changes in the folder. The changes are not durable.
func (w *Watched) Reflect() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.root.reflect(w.Folder)
}

func (n *Inode) reflect(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, entry := range entries {
		name, at := entry.Name(), filepath.Join(path, entry.Name())
		there[name] = true
		one := n.names[name]
		if one == nil || (one.names != nil) != entry.IsDir() {
			if one = (&Inode{}); entry.IsDir() {
				one = newDir()
			}
			n.changed(change{put: name, inode: one})
		}
		if entry.IsDir() {
			err = one.reflect(at)
		} else {
			one.Data, err = os.ReadFile(at)
		}
		if err != nil {
			return err
		}
	}
	for name := range n.names {
		if !there[name] {
			n.changed(change{taken: name})
		}
	}
	return nil
}

// SyncFile makes the bytes of a file durable.
func (w *Watched) SyncFile(path string) error {
	if err := w.Step("Sync", path); err != nil {
		return err
	}
	return w.Synced(path)
}

// Synced updates the model after changes in the folder, with the bytes of one file durable.
func (w *Watched) Synced(path string) error {
	if err := w.Reflect(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.find(w.inside(path))
	if n == nil {
		return os.ErrNotExist
	}
	n.synced = slices.Clone(n.Data)
	return nil
}

// MakeDir implements disk.Disk.
func (w *Watched) MakeDir(dir string) error {
	return errors.Join(os.MkdirAll(dir, 0o700), w.Disk.MakeDir(w.inside(dir)), w.Reflect())
}

// Create implements disk.Disk.
func (w *Watched) Create(path string) (disk.File, error) {
	if err := w.Step("Create", path); err != nil {
		return nil, err
	}
	f, err := w.OS.Create(path)
	if err == nil {
		err = w.Reflect()
	}
	return &watchedFile{File: f, w: w, path: path}, err
}

// Open implements disk.Disk.
func (w *Watched) Open(path string) (disk.File, error) {
	if err := w.Step("Open", path); err != nil {
		return nil, err
	}
	return w.OS.Open(path)
}

// Rename implements disk.Disk.
func (w *Watched) Rename(from, to string) error {
	if err := w.Step("Rename", to); err != nil {
		return err
	}
	if err := w.OS.Rename(from, to); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rename(w.inside(from), w.inside(to))
}

// Remove implements disk.Disk.
func (w *Watched) Remove(path string) error {
	if err := w.Step("Remove", path); err != nil {
		return err
	}
	if err := w.OS.Remove(path); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.remove(w.inside(path))
}

// List implements disk.Disk.
func (w *Watched) List(dir string) ([]string, error) {
	if err := w.Step("List", dir); err != nil {
		return nil, err
	}
	return w.OS.List(dir)
}

// SyncDir implements disk.Disk.
func (w *Watched) SyncDir(dir string) error {
	if err := w.Reflect(); err != nil {
		return err
	}
	return w.Disk.SyncDir(w.inside(dir))
}

// Lock implements disk.Disk; it always succeeds.
func (w *Watched) Lock(dir string, mode disk.LockMode) (io.Closer, error) {
	return w.Disk.Lock(dir, mode)
}

type watchedFile struct {
	disk.File
	w    *Watched
	path string
}

func (f *watchedFile) Write(b []byte) (int, error) {
	if err := f.w.Step("Write", f.path); err != nil {
		n, werr := f.File.Write(b[:len(b)/2])
		return n, errors.Join(err, werr, f.w.Reflect())
	}
	n, err := f.File.Write(b)
	return n, errors.Join(err, f.w.Reflect())
}

func (f *watchedFile) Sync() error { return f.w.SyncFile(f.path) }
