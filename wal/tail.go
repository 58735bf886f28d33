package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"sync/atomic"
)

// nextName is the file that becomes the next segment. It is shorter than the name of a segment, so
// everybody who lists segments ignores it.
const nextName = "NEXT"

// segmentFile is a segment that is written to.
type segmentFile interface {
	// WriteAt writes at the end of what was written. Zeros may follow up to a multiple of Block.
	WriteAt(b []byte, offset int64) (int, error)
	Block() int64
	// Fill has the space between two multiples of Block ready for writes, if the file system can do
	// that. It may run while something is written in front of that space.
	Fill(from, to int64) error
	// Sync makes the bytes durable, and the length if it has changed.
	Sync() error
	Truncate(size int64) error
	Close() error
}

// tail is the segment that records are appended to. Its space is filled with zeros in advance, so
// that a sync has only the bytes of records to make durable. The next segment is made while this
// one fills, and the one before is closed while this one is written to: writers wait for neither.
type tail struct {
	disk disk
	dir  string
	// limit is the length of a segment, and room says whether space may be filled.
	limit int64
	room  func() bool
	file  segmentFile
	// size is the length of the records. Up to filled, space was filled, or is being filled from
	// filledFrom on as long as filling is not nil; that receives the result.
	size, filledFrom, filled int64
	filling                  chan error
	// next is nil before it was asked for.
	next *nextSegment
	// closed receives the result of closing the segment before this one; nil if nothing is pending.
	closed chan error
}

// nextSegment is the next segment, which is made and filled in the background.
type nextSegment struct {
	// made receives the result, and filled is up to where the segment is filled then. Nothing more
	// is filled once somebody waits.
	made   chan error
	filled int64
	waits  atomic.Bool
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
	t.file, err = d.OpenSegment(last.path, last.bytes)
	return t, err
}

// fillBytes is how much space is filled at a time. The next segment is filled to its end, as long
// as nobody waits for it.
const fillBytes = 1 << 20

// fill has space filled behind a record that ends at an offset, where little is left.
func (t *tail) fill(end int64) error {
	end = roundUp(end, t.file.Block())
	if err := t.filledBefore(end); err != nil {
		return err
	}
	step, limit := min(fillBytes, t.limit), roundUp(t.limit, t.file.Block())
	from := max(roundUp(t.filled, t.file.Block()), end)
	if t.filling != nil || from >= limit || t.filled-end >= step/2 || !t.room() {
		return nil
	}
	t.filledFrom, t.filled = from, min(roundUp(from+step, t.file.Block()), limit)
	file, to, filling := t.file, t.filled, make(chan error, 1)
	t.filling = filling
	go func() { filling <- file.Fill(from, to) }()
	return nil
}

// filledBefore waits for a fill that is under way if something is to be written up to an offset
// where it fills.
func (t *tail) filledBefore(end int64) error {
	if t.filling == nil || end <= t.filledFrom && len(t.filling) == 0 {
		return nil
	}
	err := <-t.filling
	t.filling = nil
	return err
}

// preparePart is the part of a segment AFTER which the next one is made. Zeros are written with
// pauses, and should be there before this segment is full.
const preparePart = 8

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// write appends a record. It has the next segment made in time.
func (t *tail) write(record []byte) error {
	if err := t.fill(t.size + int64(len(record))); err != nil {
		return err
	}
	if _, err := t.file.WriteAt(record, t.size); err != nil {
		return err
	}
	t.size += int64(len(record))
	if t.size >= t.limit/preparePart {
		t.prepare()
	}
	return nil
}

// prepare makes the file of the next segment in the background.
func (t *tail) prepare() *nextSegment {
	if t.next == nil {
		t.next = &nextSegment{made: make(chan error, 1)}
		next, limit := t.next, int64(0)
		if t.room() {
			limit = t.limit
		}
		go func() { next.made <- next.make(t.disk, filepath.Join(t.dir, nextName), limit) }()
	}
	return t.next
}

func (n *nextSegment) make(d disk, path string, limit int64) error {
	if err := d.CreateSegment(path); err != nil || n.waits.Load() {
		return err
	}
	file, err := d.OpenSegment(path, 0)
	if err != nil {
		return err
	}
	for n.filled < limit && err == nil && !n.waits.Load() {
		to := roundUp(min(n.filled+fillBytes, limit), file.Block())
		if err = file.Fill(n.filled, to); err == nil {
			n.filled = to
		}
	}
	return errors.Join(err, file.Close())
}

// wait returns when the segment is made, at most the time of one fill later.
func (n *nextSegment) wait() error {
	n.waits.Store(true)
	return <-n.made
}

// roll goes on with a new segment, whose name is durable when it returns.
func (t *tail) roll(path string) error {
	next := t.prepare()
	err := next.wait()
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
	file, err := t.disk.OpenSegment(path, 0)
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	closed := make(chan error, 1)
	go func(file segmentFile, size int64, filling chan error) {
		closed <- closeSegment(file, size, filling)
	}(t.file, t.size, t.filling)
	t.file, t.size, t.filling, t.closed = file, 0, nil, closed
	t.filledFrom, t.filled = 0, next.filled
	return nil
}

// closeSegment gives back the space behind the records of a segment, which are durable. Where a
// crash prevents that, the next Open does it.
func closeSegment(file segmentFile, size int64, filling chan error) error {
	var err error
	if filling != nil {
		err = <-filling
	}
	return errors.Join(err, file.Truncate(size), file.Close())
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
	err := errors.Join(t.settle(), t.filledBefore(math.MaxInt64))
	if t.next != nil && t.next.wait() == nil && !failed {
		err = errors.Join(err, t.disk.Remove(filepath.Join(t.dir, nextName)))
	}
	if !failed {
		err = errors.Join(err, t.file.Truncate(t.size), t.file.Sync())
	}
	return errors.Join(err, t.file.Close())
}
