package blobs

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

var (
	errInjected = errors.New("injected fault")
	errCrashed  = errors.New("the machine is off")
)

// memDisk is a disk in memory that knows what is durable: the bytes of a file up to its last Sync,
// and the names of a directory up to its last sync. It can fail one operation, or all from one on.
type memDisk struct {
	mu      sync.Mutex
	names   map[string]*inode
	durable map[string]*inode
	ops     int
	failAt  int // this operation fails, once
	crashAt int // this operation and all later ones fail
}

type inode struct{ data, synced []byte }

func newMemDisk() *memDisk {
	return &memDisk{names: map[string]*inode{}, durable: map[string]*inode{}}
}

func (d *memDisk) step() error {
	d.ops++
	switch {
	case d.crashAt > 0 && d.ops >= d.crashAt:
		return errCrashed
	case d.ops == d.failAt:
		return errInjected
	}
	return nil
}

const (
	crashKeepsNothing = iota // but what was synced
	crashKeepsHalf           // names as they were, half of the bytes that were not synced
	crashKeepsAll            // the process was killed, the machine went on
	crashKinds
)

// afterCrash is the disk that the next start finds.
func (d *memDisk) afterCrash(kind int) *memDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := newMemDisk()
	from := d.names
	if kind == crashKeepsNothing {
		from = d.durable
	}
	for name, n := range from {
		data := n.data
		switch kind {
		case crashKeepsNothing:
			data = n.synced
		case crashKeepsHalf:
			data = data[:len(n.synced)+(len(n.data)-len(n.synced))/2]
		}
		c := &inode{data: slices.Clone(data), synced: slices.Clone(data)}
		next.names[name], next.durable[name] = c, c
	}
	return next
}

func (d *memDisk) mkdir(string) error { return nil }

func (d *memDisk) lock(string, bool) (io.Closer, error) { return io.NopCloser(nil), nil }

func (d *memDisk) create(path string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return nil, err
	}
	n := &inode{}
	d.names[path] = n
	return &memFile{d: d, n: n}, nil
}

func (d *memDisk) open(path string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return nil, err
	}
	n, ok := d.names[path]
	if !ok {
		return nil, os.ErrNotExist
	}
	return &memFile{d: d, n: n}, nil
}

func (d *memDisk) rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	n, ok := d.names[from]
	if !ok {
		return os.ErrNotExist
	}
	delete(d.names, from)
	d.names[to] = n
	return nil
}

func (d *memDisk) remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	if _, ok := d.names[path]; !ok {
		return os.ErrNotExist
	}
	delete(d.names, path)
	return nil
}

func (d *memDisk) list(dir string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return nil, err
	}
	var out []string
	for path := range d.names {
		if rest, ok := strings.CutPrefix(path, dir+string(filepath.Separator)); ok {
			out = append(out, rest)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (d *memDisk) syncDir(string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	d.durable = maps.Clone(d.names)
	return nil
}

type memFile struct {
	d      *memDisk
	n      *inode
	closed bool
}

func (f *memFile) use() error {
	if f.closed {
		return os.ErrClosed
	}
	return f.d.step()
}

func (f *memFile) Write(b []byte) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.use(); err != nil {
		// A failed write may have written something.
		f.n.data = append(f.n.data, b[:len(b)/2]...)
		return len(b) / 2, err
	}
	f.n.data = append(f.n.data, b...)
	return len(b), nil
}

func (f *memFile) ReadAt(b []byte, at int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.use(); err != nil {
		return 0, err
	}
	if at >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.n.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.use(); err != nil {
		return err
	}
	f.n.synced = slices.Clone(f.n.data)
	return nil
}

func (f *memFile) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return int64(len(f.n.data)), f.use()
}

func (f *memFile) Close() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.closed {
		return os.ErrClosed
	}
	f.closed = true
	return nil
}
