package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// nextName is the file that becomes the next segment. It is shorter than the name of a segment, so
// everybody who lists segments ignores it.
const nextName = "NEXT"

// segmentFile is a segment that is written to.
type segmentFile interface {
	WriteAt(b []byte, offset int64) (int, error)
	// Reserve reserves space up to a size if the file system can do that.
	Reserve(size int64) error
	// Sync makes the bytes durable, and the length if it has changed.
	Sync() error
	Truncate(size int64) error
	Close() error
}

// tail is the segment that records are appended to. Its space is reserved in advance, so that a
// sync does not have to make a new length durable each time. The next segment is made while this
// one fills, and the one before is closed while this one is written to: writers wait for neither.
type tail struct {
	disk disk
	dir  string
	// limit is the length of a segment, and room says whether space may be reserved.
	limit int64
	room  func() bool
	file  segmentFile
	// size is the length of the records, and reserved up to where space was asked for.
	size, reserved int64
	// next receives the result of making the next segment; nil before it was asked for.
	next chan error
	// closed receives the result of closing the segment before this one; nil if nothing is pending.
	closed chan error
}

// openTail opens the last segment behind its records.
func openTail(d disk, last *segment, limit int64, room func() bool) (*tail, error) {
	t := &tail{
		disk: d, dir: filepath.Dir(last.path), limit: limit, room: room, size: last.bytes,
	}
	err := d.Remove(filepath.Join(t.dir, nextName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	t.file, err = d.OpenSegment(last.path)
	return t, err
}

// reserveBytes is how much space is reserved at a time. It costs some microseconds, and one sync
// has to make the new length durable.
const reserveBytes = 1 << 20

// reserve sees to it that there is space for a record.
func (t *tail) reserve(record int64) error {
	end := t.size + record
	if end <= t.reserved {
		return nil
	}
	step := min(reserveBytes, t.limit)
	t.reserved = (end + step - 1) / step * step
	if !t.room() {
		return nil
	}
	return t.file.Reserve(t.reserved)
}

// write appends a record. It has the next segment made in time.
func (t *tail) write(record []byte) error {
	if err := t.reserve(int64(len(record))); err != nil {
		return err
	}
	if _, err := t.file.WriteAt(record, t.size); err != nil {
		return err
	}
	t.size += int64(len(record))
	if t.size >= t.limit/2 {
		t.prepare()
	}
	return nil
}

// prepare makes the file of the next segment in the background.
func (t *tail) prepare() {
	if t.next != nil {
		return
	}
	t.next = make(chan error, 1)
	path, made := filepath.Join(t.dir, nextName), t.next
	reserve := int64(0)
	if t.room() {
		reserve = min(reserveBytes, t.limit)
	}
	go func() { made <- t.disk.CreateSegment(path, reserve) }()
}

// roll goes on with a new segment, whose name is durable when it returns.
func (t *tail) roll(path string) error {
	t.prepare()
	err := <-t.next
	t.next = nil
	if err != nil {
		return fmt.Errorf("create segment: %w", err)
	}
	if err := t.settle(); err != nil {
		return err
	}
	// Some systems do not rename a file that is open.
	if err := t.disk.Rename(filepath.Join(t.dir, nextName), path); err != nil {
		return fmt.Errorf("rename segment: %w", err)
	}
	if err := t.disk.SyncDir(t.dir); err != nil {
		return fmt.Errorf("fsync directory: %w", err)
	}
	file, err := t.disk.OpenSegment(path)
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	old, size, closed := t.file, t.size, make(chan error, 1)
	t.file, t.size, t.reserved, t.closed = file, 0, 0, closed
	go func() { closed <- closeSegment(old, size) }()
	return nil
}

// closeSegment gives back the space behind the records of a segment, which are durable. Where a
// crash prevents that, the next Open does it.
func closeSegment(file segmentFile, size int64) error {
	return errors.Join(file.Truncate(size), file.Close())
}

// settle waits until the segment before this one is closed.
func (t *tail) settle() error {
	if t.closed == nil {
		return nil
	}
	err := <-t.closed
	t.closed = nil
	if err != nil {
		return fmt.Errorf("close segment: %w", err)
	}
	return nil
}

// close ends the segment. AFTER a failure nothing is written or removed any more.
func (t *tail) close(failed bool) error {
	err := t.settle()
	if t.next != nil && <-t.next == nil && !failed {
		err = errors.Join(err, t.disk.Remove(filepath.Join(t.dir, nextName)))
	}
	if !failed {
		err = errors.Join(err, t.file.Truncate(t.size), t.file.Sync())
	}
	return errors.Join(err, t.file.Close())
}
