// Package disktest is a disk in memory that forgets what was not synced and fails where it is told
// to, for the tests of the stores.
package disktest

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pws/internal/disk"
)

// The errors of a Disk that was told to fail.
var (
	ErrInjected = errors.New("injected fault")
	ErrCrashed  = errors.New("the machine is off")
)

// Disk is a disk in memory that knows what is durable: the bytes of a file up to its last Sync,
// and the names of a directory up to its last sync. It can fail one operation, or all from one on.
// The fields are for tests to read and set while no store uses the disk.
type Disk struct {
	mu      sync.Mutex
	Names   map[string]*Inode // by path
	durable map[string]*Inode
	Ops     int // operations so far
	FailAt  int // this operation fails, once
	CrashAt int // this operation and all later ones fail
}

// Inode is a file: the bytes it has, and those that are durable.
type Inode struct{ Data, synced []byte }

// New is an empty disk.
func New() *Disk {
	return &Disk{Names: map[string]*Inode{}, durable: map[string]*Inode{}}
}

func (d *Disk) step() error {
	d.Ops++
	switch {
	case d.CrashAt > 0 && d.Ops >= d.CrashAt:
		return ErrCrashed
	case d.Ops == d.FailAt:
		return ErrInjected
	}
	return nil
}

// What a crash keeps; CrashKinds is their number.
const (
	CrashKeepsNothing = iota // but what was synced
	CrashKeepsHalf           // names as they were, half of the bytes that were not synced
	CrashKeepsAll            // the process was killed, the machine went on
	CrashKinds
)

// AfterCrash is the disk that the next start finds.
func (d *Disk) AfterCrash(kind int) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := New()
	from := d.Names
	if kind == CrashKeepsNothing {
		from = d.durable
	}
	for name, n := range from {
		data := n.Data
		switch kind {
		case CrashKeepsNothing:
			data = n.synced
		case CrashKeepsHalf:
			data = data[:len(n.synced)+(len(n.Data)-len(n.synced))/2]
		}
		c := &Inode{Data: slices.Clone(data), synced: slices.Clone(data)}
		next.Names[name], next.durable[name] = c, c
	}
	return next
}

// MakeDir implements disk.Disk; directories need not be made.
func (d *Disk) MakeDir(string) error { return nil }

// Lock implements disk.Disk; it is always free.
func (d *Disk) Lock(string, bool) (io.Closer, error) { return io.NopCloser(nil), nil }

// Create implements disk.Disk.
func (d *Disk) Create(path string) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return nil, err
	}
	n := &Inode{}
	d.Names[path] = n
	return &file{d: d, n: n}, nil
}

// Open implements disk.Disk.
func (d *Disk) Open(path string) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return nil, err
	}
	n, ok := d.Names[path]
	if !ok {
		return nil, os.ErrNotExist
	}
	return &file{d: d, n: n}, nil
}

// Rename implements disk.Disk.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	n, ok := d.Names[from]
	if !ok {
		return os.ErrNotExist
	}
	delete(d.Names, from)
	d.Names[to] = n
	return nil
}

// Remove implements disk.Disk.
func (d *Disk) Remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	if _, ok := d.Names[path]; !ok {
		return os.ErrNotExist
	}
	delete(d.Names, path)
	return nil
}

// List implements disk.Disk.
func (d *Disk) List(dir string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return nil, err
	}
	var out []string
	for path := range d.Names {
		if rest, ok := strings.CutPrefix(path, dir+string(filepath.Separator)); ok {
			out = append(out, rest)
		}
	}
	slices.Sort(out)
	return out, nil
}

// SyncDir implements disk.Disk.
func (d *Disk) SyncDir(string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	d.durable = maps.Clone(d.Names)
	return nil
}

type file struct {
	d      *Disk
	n      *Inode
	closed bool
}

func (f *file) use() error {
	if f.closed {
		return os.ErrClosed
	}
	return f.d.step()
}

func (f *file) Write(b []byte) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.use(); err != nil {
		// A failed write may have written something.
		f.n.Data = append(f.n.Data, b[:len(b)/2]...)
		return len(b) / 2, err
	}
	f.n.Data = append(f.n.Data, b...)
	return len(b), nil
}

func (f *file) ReadAt(b []byte, at int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.use(); err != nil {
		return 0, err
	}
	if at >= int64(len(f.n.Data)) {
		return 0, io.EOF
	}
	n := copy(b, f.n.Data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.use(); err != nil {
		return err
	}
	f.n.synced = slices.Clone(f.n.Data)
	return nil
}

func (f *file) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return int64(len(f.n.Data)), f.use()
}

func (f *file) Close() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.closed {
		return os.ErrClosed
	}
	f.closed = true
	return nil
}
