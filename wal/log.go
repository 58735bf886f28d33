package wal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Options of Open. Zero values mean the defaults.
type Options struct {
	// Dir is the directory of the log. It is created if it is missing.
	Dir string
	// SegmentBytes is the length at which a segment is closed; default 8 MiB. Space is filled a
	// megabyte in advance, and a whole segment once an eighth of the last one is full, if the space of
	// four would remain free.
	SegmentBytes int
	// ReserveBytes is the free disk space below which Append answers ErrNoSpace; default 64 MiB,
	// negative switches the check off.
	ReserveBytes int64
	// FloorBytes is the part of the reserve that AppendReserved leaves free; default an eighth of
	// the reserve.
	FloorBytes int64
	// Needs, if set, returns the number of bytes to keep free in addition to the reserve once so many
	// queued bytes are committed. It is called under the lock of the log.
	Needs func(queuedBytes int64) int64
	// Free returns the number of bytes that can still be written to the file system of a directory;
	// the default asks the operating system.
	Free func(dir string) (int64, error)
	// QueueBytesMax is the size of the queue above which Append returns ErrBusy; default 64 MiB.
	// Each entry counts its length and entryOverheadBytes.
	QueueBytesMax int64
	// OnFailure is called once, by the committer, when an I/O error has latched the log, AFTER
	// Committed was called with the error for every queued entry. It must not call Close.
	OnFailure func(error)

	// batchBytesMax is the maximum size of a record; default 4 MiB, at most EntryBytesMax. A longer
	// entry is written as a record of its own. Tests make it small.
	batchBytesMax int
	disk          disk             // file system; tests make it fail
	now           func() time.Time // clock of the measured durations and of the space check
}

// entryOverheadBytes is added to the length of each entry, so that entries without content are
// limited too: its place in the queue, its length prefix and its share of a header.
const entryOverheadBytes = 64

// Committed receives the result of an entry. It is an interface so that a caller can pass an
// existing value and no closure is allocated per entry.
type Committed interface {
	// Committed is called once for each accepted entry, in the order of positions, by the
	// committer. err is nil AFTER the fsync has returned, and wraps ErrLatched if the log has
	// failed; then the entry may or may not be found at the next Open. It must be fast, must not
	// panic, and must not call CutBefore or Close.
	Committed(pos uint64, err error)
}

// Recovery is the result of Open.
type Recovery struct {
	First, Last uint64 // entry positions; Last is First-1 when the log is empty
	Segments    int
	Records     uint64
	Bytes       int64 // of valid records
	TornBytes   int64 // cut off the end of TornFile at TornOffset; 0 when nothing was torn
	TornFile    string
	TornOffset  int64
	Duration    time.Duration // of the check and the repair

	segs []segment
}

// Stats are the current numbers of a Log, for metrics and health.
type Stats struct {
	First, Last, Durable uint64 // positions: oldest kept, newest appended, newest committed
	Segments             int
	Bytes                int64         // of records on disk
	Batches, Entries     uint64        // committed since Open
	RawBytes             uint64        // of committed batches before compression, since Open
	SyncTotal            time.Duration // of all syncs of batches, since Open
	QueueBytes           int64         // taken and not yet durable, overhead included
	QueueEntries         int           // taken and not yet in a batch
	FreeBytes            int64         // disk space as last seen; 0 with the reserve switched off
}

// Log is an open log. All methods are safe for concurrent use.
type Log struct {
	opts      Options
	disk      disk
	lock      *os.File
	recovered *Recovery
	durable   atomic.Uint64
	done      chan struct{} // closed when the committer has ended
	closeErr  error         // set BEFORE done is closed

	mu struct {
		sync.Mutex
		wake       sync.Cond // the committer waits on it
		idle       bool      // the committer waits and nobody has woken it
		wanted     int       // the committer waits for so many entries; 0 where it does not
		closing    bool
		roll       bool // the next record begins a new segment
		touched    bool // Append or CutBefore was called
		failed     error
		next       uint64 // position of the next entry
		queue      []queued
		queueBytes int64
		cuts       []cut
		freeBytes  int64
		freeFault  error
		freeAt     time.Time
		stats      Stats
	}
}

// queued is an entry in the queue.
type queued struct {
	payload []byte
	done    Committed
	// keyed entries may overtake others of other keys.
	keyed bool
	key   Key
}

// Open checks every frame of the log in a directory, removes a torn tail, and starts the committer.
// It returns ErrLocked if the log is open elsewhere, and a *CorruptError if it is damaged.
func Open(o Options) (*Log, *Recovery, error) {
	if err := o.complete(); err != nil {
		return nil, nil, err
	}
	if err := o.disk.MakeDir(o.Dir); err != nil {
		return nil, nil, fmt.Errorf("wal: %w", err)
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("wal: lock: %w", err)
	}
	l, err := open(o, lock)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	rec := *l.recovered
	return l, &rec, nil
}

// complete sets the defaults.
func (o *Options) complete() error {
	if o.Dir == "" {
		return errors.New("wal: no directory is given")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	o.Dir = dir
	def(&o.SegmentBytes, 8<<20)
	def(&o.ReserveBytes, 64<<20)
	def(&o.FloorBytes, o.ReserveBytes/8)
	def(&o.QueueBytesMax, 64<<20)
	def(&o.batchBytesMax, 4<<20)
	if o.SegmentBytes < 0 || o.QueueBytesMax < 0 || o.batchBytesMax < 0 {
		return errors.New("wal: a negative size is given")
	}
	o.batchBytesMax = min(o.batchBytesMax, EntryBytesMax)
	if o.disk == nil {
		o.disk = osDisk{}
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.Free == nil {
		o.Free = o.disk.Free
	}
	return nil
}

func def[T int | int64 | uint64](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

func open(o Options, lock *os.File) (*Log, error) {
	start := o.now()
	segs, err := listSegments(o.disk, o.Dir)
	if err != nil {
		return nil, wrap("list", err)
	}
	s := scanner{disk: o.disk}
	if err := s.scanSegments(segs); err != nil {
		return nil, wrap("check", err)
	}
	rec := &Recovery{First: 1, Records: s.records, Bytes: s.bytes}
	if t := s.torn; t != nil {
		rec.TornBytes, rec.TornFile, rec.TornOffset = t.bytes, t.file, t.offset
		if err := o.disk.Truncate(t.file, t.offset); err != nil {
			return nil, wrap("repair", err)
		}
	}
	for i := range segs {
		if !segs[i].unused {
			continue
		}
		if err := o.disk.Truncate(segs[i].path, segs[i].bytes); err != nil {
			return nil, wrap("repair", err)
		}
	}
	if n := len(segs); n > 0 {
		// A killed process may have written the last records without an fsync. They are reported as
		// durable from now on, and so is the repair.
		if err := o.disk.Sync(segs[n-1].path); err != nil {
			return nil, wrap("repair", err)
		}
	}
	if s.records == 0 {
		var random [8]byte
		rand.Read(random[:])
		s.log, s.nextIndex = binary.LittleEndian.Uint64(random[:]), 1
		s.nextPos = 1
		segs = []segment{{path: segmentPath(o.Dir, 1), index: 1, first: s.nextPos}}
	} else {
		rec.First = segs[0].first
	}
	if err := checkAgain(&o, &s, segs); err != nil {
		return nil, wrap("open", err)
	}
	if err := o.disk.SyncDir(o.Dir); err != nil {
		return nil, wrap("open", err)
	}
	rec.Last, rec.Segments = s.nextPos-1, len(segs)
	rec.Duration = o.now().Sub(start)
	rec.segs = append(rec.segs, segs...)
	l, err := newLog(o, lock, &s, segs, rec)
	if err != nil {
		return nil, wrap("open", err)
	}
	return l, nil
}

// checkAgain has tidwall open what the scanner has checked and repaired. It creates the first
// segment of an empty log.
func checkAgain(o *Options, s *scanner, segs []segment) error {
	last, err := o.disk.Check(o.Dir)
	if err != nil || last == s.nextIndex-1 {
		return err
	}
	return &CorruptError{File: segs[len(segs)-1].path, Reason: fmt.Sprintf(
		"its last record is %d by one reader and %d by another", s.nextIndex-1, last)}
}

// newLog makes the Log and starts its committer.
func newLog(
	o Options, lock *os.File, s *scanner, segs []segment, rec *Recovery,
) (*Log, error) {
	l := &Log{opts: o, disk: o.disk, lock: lock, recovered: rec, done: make(chan struct{})}
	l.mu.wake.L = &l.mu.Mutex
	l.mu.next = s.nextPos
	l.mu.stats = Stats{First: rec.First, Segments: len(segs), Bytes: s.bytes}
	l.durable.Store(rec.Last)
	tail, err := openTail(o.disk, &segs[len(segs)-1], int64(o.SegmentBytes), l.roomy)
	if err != nil {
		return nil, err
	}
	c := &committer{
		l: l, tail: tail, segs: segs, log: s.log, index: s.nextIndex, next: s.nextPos,
		bytes: s.bytes,
	}
	go c.run()
	return l, nil
}

// roomy reports whether the space of a segment may be filled in advance.
func (l *Log) roomy() bool {
	free, _ := l.free()
	return free > max(0, l.keeps(0))+4*int64(l.opts.SegmentBytes)
}

func wrap(what string, err error) error { return fmt.Errorf("wal: %s: %w", what, err) }

// Append queues an entry and returns its position. The log owns payload from then on. c is called
// when the entry is durable; it may be nil. Entries are committed in the order of positions.
//
// It returns ErrBusy, ErrNoSpace, ErrTooLarge, ErrLatched or ErrClosed; then the entry was not
// queued, c is not called and no position is used.
func (l *Log) Append(payload []byte, c Committed) (pos uint64, err error) {
	return l.append(queued{payload: payload, done: c}, false)
}

// Key names entries that keep their order.
type Key [16]byte

// AppendKeyed is Append for an entry that keeps its order with those of its key, and with those
// that have no key. Small entries of other keys may overtake a large one, so the position is known
// only to Committed.
func (l *Log) AppendKeyed(key Key, payload []byte, c Committed) error {
	_, err := l.append(queued{payload: payload, done: c, keyed: true, key: key}, false)
	return err
}

// AppendReserved is Append for small entries of high importance: it may use the reserve, down to
// Options.FloorBytes.
func (l *Log) AppendReserved(payload []byte, c Committed) (pos uint64, err error) {
	return l.append(queued{payload: payload, done: c}, true)
}

func (l *Log) append(one queued, reserved bool) (pos uint64, err error) {
	l.mu.Lock()
	if err := l.admit(len(one.payload), reserved); err != nil {
		l.mu.Unlock()
		return 0, err
	}
	pos = l.mu.next
	l.mu.next++
	l.mu.queue = append(l.mu.queue, one)
	l.mu.queueBytes += int64(len(one.payload)) + entryOverheadBytes
	wake := l.mu.idle || l.mu.wanted > 0 && len(l.mu.queue) >= l.mu.wanted
	l.mu.idle = false
	l.mu.Unlock()
	if wake {
		l.mu.wake.Signal()
	}
	return pos, nil
}

// admit checks whether an entry can be accepted now. The caller holds the lock.
func (l *Log) admit(size int, reserved bool) error {
	l.mu.touched = true
	cost := int64(size) + entryOverheadBytes
	switch {
	case l.mu.failed != nil:
		return l.mu.failed
	case l.mu.closing:
		return ErrClosed
	case size > EntryBytesMax:
		return ErrTooLarge
	case l.mu.queueBytes > 0 && l.mu.queueBytes+cost > l.opts.QueueBytesMax:
		return ErrBusy
	case l.opts.ReserveBytes >= 0 && !l.hasSpace(cost, reserved):
		return ErrNoSpace
	}
	return nil
}

// freeAgeMax is the maximum age of the measured free space for an idle or full log.
const freeAgeMax = 2 * time.Millisecond

// keeps returns the space that must remain free AFTER so many queued bytes are committed.
func (l *Log) keeps(queuedBytes int64) int64 {
	if l.opts.ReserveBytes < 0 || l.opts.Needs == nil {
		return l.opts.ReserveBytes
	}
	return l.opts.ReserveBytes + max(0, l.opts.Needs(queuedBytes))
}

// hasSpace reports whether enough bytes remain free after an entry. All queued entries count as not
// yet written. The committer measures the free space after each batch, so Append has to do so only
// if the committer was idle, or if there was too little. The caller holds the lock.
func (l *Log) hasSpace(cost int64, reserved bool) bool {
	queued := l.mu.queueBytes + cost
	keep := l.opts.FloorBytes
	if !reserved {
		keep = l.keeps(queued)
	}
	enough := func() bool { return l.mu.freeBytes-queued >= keep }
	if !l.mu.idle && enough() {
		return true
	}
	if now := l.opts.now(); l.mu.freeAt.IsZero() || now.Sub(l.mu.freeAt) >= freeAgeMax {
		free, err := l.free()
		l.setFree(now, free, err)
	}
	return enough()
}

// free returns the free space. If that cannot be determined, it is 0, and the error says why.
func (l *Log) free() (int64, error) {
	n, err := l.opts.Free(l.opts.Dir)
	if err != nil {
		return 0, err
	}
	return n, nil
}

// setFree notes the free space at a time. l.mu is held.
func (l *Log) setFree(now time.Time, free int64, err error) {
	l.mu.freeBytes, l.mu.freeFault, l.mu.freeAt = free, err, now
}

// Space is the current space for entries.
type Space struct {
	FreeBytes int64 // on the disk; what is queued counts as written
	KeptBytes int64 // what Append leaves free; 0 with the reserve switched off
	Writable  bool  // Append takes small entries
	Fault     error // why FreeBytes is unknown, and counts as 0
}

// Space measures the free space, or returns a very recent measurement.
func (l *Log) Space() Space {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opts.now()
	if l.opts.ReserveBytes < 0 || l.mu.freeAt.IsZero() || now.Sub(l.mu.freeAt) >= freeAgeMax {
		free, err := l.free()
		l.setFree(now, free, err)
	}
	s := Space{
		FreeBytes: l.mu.freeBytes - l.mu.queueBytes, Writable: l.mu.failed == nil, Fault: l.mu.freeFault,
	}
	if l.opts.ReserveBytes >= 0 {
		s.KeptBytes = l.keeps(l.mu.queueBytes)
		s.Writable = s.Writable && s.FreeBytes-entryOverheadBytes >= s.KeptBytes
	}
	return s
}

// Durable returns a position: every entry up to it is on disk, and its Committed has returned.
func (l *Log) Durable() uint64 { return l.durable.Load() }

// Healthy returns nil while the log accepts entries, or after Close without a failure; otherwise
// the error wraps ErrLatched.
func (l *Log) Healthy() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.failed
}

// Stats returns the current numbers.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.mu.stats
	s.Last, s.Durable = l.mu.next-1, l.durable.Load()
	s.QueueBytes, s.QueueEntries = l.mu.queueBytes, len(l.mu.queue)
	s.FreeBytes = l.mu.freeBytes
	return s
}

// Close commits the queued entries, stops the committer and unlocks the directory. It returns the
// error that has latched the log, if any. Further calls wait for the first and return the same.
func (l *Log) Close() error {
	l.mu.Lock()
	l.mu.closing = true
	l.mu.idle = false
	l.mu.Unlock()
	l.mu.wake.Signal()
	<-l.done
	return l.closeErr
}
