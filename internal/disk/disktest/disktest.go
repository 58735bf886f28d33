// Package disktest provides disks for tests of the stores: a disk in memory with crashes and
// injected faults, and a Watched disk, which pairs a real folder with a model that knows what would
// be left of the folder after a crash.
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
	"syscall"

	"pws/internal/disk"
)

// The errors of injected faults and crashes.
var (
	ErrInjected = errors.New("injected fault")
	ErrCrashed  = errors.New("the machine is off")
)

// Disk is a disk in memory that knows what is durable: the bytes of a file as of its last Sync, and
// the names of a directory as of its last sync. It can fail one operation, or all from one on.
// Tests may access the fields only while no store uses the disk.
type Disk struct {
	mu      sync.Mutex
	root    *Inode
	Ops     int // operations so far
	FailAt  int // this operation fails, once
	CrashAt int // this operation and all later ones fail
	// Before, if set, is called before each operation, without any lock.
	Before func(op, path string)
	// Capacity is the maximum total size of the files in bytes; 0 means no limit. A write beyond it
	// fails with ENOSPC, AFTER writing the part that fits.
	Capacity int
}

// Inode is a file with its current and its durable bytes, or a directory.
type Inode struct {
	Data, synced []byte
	// names are those of a directory, nil for a file; durable are those that survive a crash.
	// changes lead from durable to names.
	names, durable map[string]*Inode
	changes        []change
}

// change is an atomic change of names: added, removed (put is empty), or renamed.
type change struct {
	taken, put string
	inode      *Inode
}

func newDir() *Inode {
	return &Inode{names: map[string]*Inode{}, durable: map[string]*Inode{}}
}

// New makes an empty disk.
func New() *Disk { return &Disk{root: newDir()} }

// step counts an operation, and reports whether it fails. It takes the lock; the caller releases
// it.
func (d *Disk) step(op, path string) error {
	if d.Before != nil {
		d.Before(op, path)
	}
	d.mu.Lock()
	d.Ops++
	switch {
	case d.CrashAt > 0 && d.Ops >= d.CrashAt:
		return ErrCrashed
	case d.Ops == d.FailAt:
		return ErrInjected
	}
	return nil
}

// The kinds of crashes; CrashKinds is their number. Names in a directory become durable in any
// order until it is synced, and independently of the contents of the files.
const (
	CrashKeepsNothing = iota // but what was synced
	CrashKeepsNames          // all names, no bytes but those that were synced
	CrashKeepsNewest         // of the changes of names in a directory the newest, and no bytes
	CrashKeepsHalf           // all names, half of the bytes that were not synced
	CrashKeepsAll            // everything
	CrashKinds
)

// AfterCrash returns the disk after a crash of the machine and a restart. Everything on it is
// durable.
func (d *Disk) AfterCrash(kind int) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Disk{root: d.root.survive(kind, map[*Inode]*Inode{})}
}

// AfterKill returns the disk after the process was killed: nothing is lost, but unsynced changes
// are still not durable.
func (d *Disk) AfterKill() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Disk{root: d.root.clone(map[*Inode]*Inode{})}
}

func (n *Inode) survive(kind int, seen map[*Inode]*Inode) *Inode {
	if next, ok := seen[n]; ok {
		return next
	}
	next := &Inode{}
	seen[n] = next
	if n.names == nil {
		next.Data = slices.Clone(n.kept(kind))
		next.synced = slices.Clone(next.Data)
		return next
	}
	from := n.names
	if kind == CrashKeepsNothing || kind == CrashKeepsNewest {
		from = maps.Clone(n.durable)
	}
	if last := len(n.changes) - 1; kind == CrashKeepsNewest && last >= 0 {
		n.changes[last].apply(from)
	}
	next.names, next.durable = map[string]*Inode{}, map[string]*Inode{}
	for name, one := range from {
		c := one.survive(kind, seen)
		next.names[name], next.durable[name] = c, c
	}
	return next
}

// kept returns the bytes of a file after a crash.
func (n *Inode) kept(kind int) []byte {
	switch {
	case kind == CrashKeepsAll:
		return n.Data
	case kind == CrashKeepsHalf && len(n.Data) > len(n.synced):
		return n.Data[:len(n.synced)+(len(n.Data)-len(n.synced))/2]
	case kind == CrashKeepsHalf:
		return n.Data
	}
	return n.synced
}

func (n *Inode) clone(seen map[*Inode]*Inode) *Inode {
	if next, ok := seen[n]; ok || n == nil {
		return next
	}
	next := &Inode{Data: slices.Clone(n.Data), synced: slices.Clone(n.synced)}
	seen[n] = next
	if n.names == nil {
		return next
	}
	next.names, next.durable = map[string]*Inode{}, map[string]*Inode{}
	for name, one := range n.names {
		next.names[name] = one.clone(seen)
	}
	for name, one := range n.durable {
		next.durable[name] = one.clone(seen)
	}
	for _, c := range n.changes {
		c.inode = c.inode.clone(seen)
		next.changes = append(next.changes, c)
	}
	return next
}

func (c *change) apply(names map[string]*Inode) {
	if c.taken != "" {
		delete(names, c.taken)
	}
	if c.put != "" {
		names[c.put] = c.inode
	}
}

// changed changes names; the change is not durable until the directory is synced.
func (n *Inode) changed(c change) {
	c.apply(n.names)
	n.changes = append(n.changes, c)
}

func (n *Inode) syncNames() {
	n.durable, n.changes = maps.Clone(n.names), nil
}

// find returns the node of a path, nil if it does not exist.
func (d *Disk) find(path string) *Inode {
	at := d.root
	for part := range strings.SplitSeq(filepath.Clean(path), "/") {
		if at == nil || at.names == nil {
			return nil
		}
		if part != "." {
			at = at.names[part]
		}
	}
	return at
}

// parent returns the directory of a path and the last element of the path.
func (d *Disk) parent(path string) (dir *Inode, name string, err error) {
	up, name := filepath.Split(filepath.Clean(path))
	if dir = d.find(up); dir == nil || dir.names == nil {
		return nil, "", os.ErrNotExist
	}
	return dir, name, nil
}

// makeDir creates a directory and its parents. All their names are durable.
func (d *Disk) makeDir(path string) *Inode {
	at := d.root
	for part := range strings.SplitSeq(filepath.Clean(path), "/") {
		if part == "." {
			continue
		}
		if at.names[part] == nil {
			at.names[part] = newDir()
		}
		at.durable[part] = at.names[part]
		at = at.names[part]
	}
	return at
}

// Files returns the files of the disk by path.
func (d *Disk) Files() map[string]*Inode {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string]*Inode{}
	d.root.files(nil, all)
	return all
}

func (n *Inode) files(path []string, all map[string]*Inode) {
	for name, one := range n.names {
		at := append(slices.Clone(path), name)
		if one.names == nil {
			all[strings.Join(at, "/")] = one
		} else {
			one.files(at, all)
		}
	}
}

// Put creates a durable file and its directory.
func (d *Disk) Put(path string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := d.makeDir(filepath.Dir(path))
	one := &Inode{Data: data, synced: slices.Clone(data)}
	dir.names[filepath.Base(path)], dir.durable[filepath.Base(path)] = one, one
}

// Lose removes a file durably.
func (d *Disk) Lose(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, name, err := d.parent(path)
	if err != nil {
		panic(path + ": " + err.Error())
	}
	delete(dir.names, name)
	delete(dir.durable, name)
}

// WriteTo writes the files and directories of the disk to a real folder.
func (d *Disk) WriteTo(folder string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.root.writeTo(folder)
}

func (n *Inode) writeTo(path string) error {
	if n.names == nil {
		return os.WriteFile(path, n.Data, 0o600)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for name, one := range n.names {
		if err := one.writeTo(filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}

// MakeDir implements disk.Disk. It is not counted as an operation.
func (d *Disk) MakeDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.makeDir(dir)
	return nil
}

// Lock implements disk.Disk; it always succeeds.
func (d *Disk) Lock(string, disk.LockMode) (io.Closer, error) { return io.NopCloser(nil), nil }

// Create implements disk.Disk.
func (d *Disk) Create(path string) (disk.File, error) {
	err := d.step("Create", path)
	defer d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	dir, name, err := d.parent(path)
	if err != nil {
		return nil, err
	}
	n := &Inode{}
	dir.changed(change{put: name, inode: n})
	return &file{d: d, n: n, path: path}, nil
}

// Open implements disk.Disk.
func (d *Disk) Open(path string) (disk.File, error) {
	err := d.step("Open", path)
	defer d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	n := d.find(path)
	if n == nil {
		return nil, os.ErrNotExist
	}
	return &file{d: d, n: n, path: path}, nil
}

// Rename implements disk.Disk.
func (d *Disk) Rename(from, to string) error {
	err := d.step("Rename", to)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	return d.rename(from, to)
}

func (d *Disk) rename(from, to string) error {
	n := d.find(from)
	old, oldName, err := d.parent(from)
	if err != nil || n == nil {
		return os.ErrNotExist
	}
	dir, name, err := d.parent(to)
	switch {
	case err != nil:
		return err
	case dir == old:
		dir.changed(change{taken: oldName, put: name, inode: n})
	default:
		old.changed(change{taken: oldName})
		dir.changed(change{put: name, inode: n})
	}
	return nil
}

// Remove implements disk.Disk.
func (d *Disk) Remove(path string) error {
	err := d.step("Remove", path)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	return d.remove(path)
}

func (d *Disk) remove(path string) error {
	dir, name, err := d.parent(path)
	if err != nil || dir.names[name] == nil {
		return os.ErrNotExist
	}
	dir.changed(change{taken: name})
	return nil
}

// List implements disk.Disk.
func (d *Disk) List(dir string) ([]string, error) {
	err := d.step("List", dir)
	defer d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	n := d.find(dir)
	if n == nil {
		return nil, nil
	}
	return slices.Sorted(maps.Keys(n.names)), nil
}

// SyncDir implements disk.Disk.
func (d *Disk) SyncDir(dir string) error {
	err := d.step("SyncDir", dir)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	n := d.find(dir)
	if n == nil {
		return os.ErrNotExist
	}
	n.syncNames()
	return nil
}

// Used returns the total size of the files.
func (d *Disk) Used() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}

func (d *Disk) used() int { return d.root.size() }

func (n *Inode) size() int {
	bytes := len(n.Data)
	for _, one := range n.names {
		bytes += one.size()
	}
	return bytes
}

func (d *Disk) free() int { return max(0, d.Capacity-d.used()) }

type file struct {
	d      *Disk
	n      *Inode
	path   string
	closed bool
}

// use counts an operation as Disk.step does.
func (f *file) use(op string) error {
	err := f.d.step(op, f.path)
	if f.closed {
		return os.ErrClosed
	}
	return err
}

func (f *file) Write(b []byte) (int, error) {
	err := f.use("Write")
	defer f.d.mu.Unlock()
	if err != nil {
		// A failed write may have written a part.
		f.n.Data = append(f.n.Data, b[:len(b)/2]...)
		return len(b) / 2, err
	}
	if free := f.d.free(); f.d.Capacity > 0 && len(b) > free {
		f.n.Data = append(f.n.Data, b[:free]...)
		return free, &os.PathError{Op: "write", Err: syscall.ENOSPC}
	}
	f.n.Data = append(f.n.Data, b...)
	return len(b), nil
}

func (f *file) ReadAt(b []byte, at int64) (int, error) {
	err := f.use("ReadAt")
	defer f.d.mu.Unlock()
	if err != nil {
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
	err := f.use("Sync")
	defer f.d.mu.Unlock()
	if err != nil {
		return err
	}
	f.n.synced = slices.Clone(f.n.Data)
	return nil
}

func (f *file) Size() (int64, error) {
	err := f.use("Size")
	defer f.d.mu.Unlock()
	return int64(len(f.n.Data)), err
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
