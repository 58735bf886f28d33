package feed

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"pws/internal/disk"
	"pws/internal/id"
)

// Options of Open. Zero values select the defaults.
type Options struct {
	Dir string
	// Events is the minimum number of newest records to keep, unless they are too old; 1,000,000. Up
	// to half more may wait to be removed.
	Events int
	// Each is the number of newest records of each project to keep behind those, unless they are too
	// old; a thousandth of Events. All projects together keep up to half of Events there. If their
	// newest are more, each project keeps fewer.
	Each int
	// AgeMillis is the age above which records need not be kept; 30 days.
	AgeMillis int64
	// MayKeep reports whether there may be kept files, which earlier programs do not know. Without
	// them, the oldest files are removed. Nil is always.
	MayKeep func() bool
	// Newest is the number of records kept in memory; 8192.
	Newest int
	// Disk is the file system; by default that of the machine.
	Disk disk.Disk
}

const (
	dayMillis = 24 * 60 * 60 * 1000
	// waitingMax is the number of unwritten records above which Append fails.
	waitingMax = 1 << 16
	// eventsMax bounds Options.Events.
	eventsMax = 1 << 28
	// firstNumber is the number of the oldest record when a log is opened. Chains hold the low 32
	// bits of numbers, and these wrap around after a thousand records, so that every process
	// exercises it.
	firstNumber = 1<<32 - 1000
	// parts is the approximate number of files.
	parts = 16
)

func (o *Options) complete() {
	if o.Events <= 0 {
		o.Events = 1_000_000
	}
	o.Events = min(o.Events, eventsMax)
	if o.Each <= 0 {
		const part = 1000
		o.Each = max(1, o.Events/part)
	}
	if o.AgeMillis <= 0 {
		o.AgeMillis = 30 * dayMillis
	}
	if o.Newest <= 0 {
		o.Newest = 8192
	}
	if o.Disk == nil {
		o.Disk = disk.OS{}
	}
}

// Log stores records. It is safe for concurrent use. Readers never wait for writes to the disk.
type Log struct {
	opts    Options
	lock    io.Closer
	found   Report
	decoded decodedBlocks

	// front is held while files that nothing is appended to are replaced or removed, BEFORE write.
	front sync.Mutex
	// write is held while files are changed.
	write struct {
		sync.Mutex
		// file is the last file if it can be appended to.
		file *feedFile
		// synced is set if the last file is durable. The last file of a killed process may not be.
		synced bool
		closed bool
		blocks blockEncoder
		// gone are the files to remove from the disk.
		gone []string
		// failed is the ErrUncertain of a failed sync. Nothing is written after it.
		failed error
	}
	mu struct {
		sync.RWMutex
		state
		// chains holds the low 32 bits of the numbers of each project's records.
		chains map[id.ID][]uint32
		// chainSlots is the capacity of all chains.
		chainSlots int
	}
}

// state is the part that readers use. They copy it; elements of its slices are not changed after
// they are visible to a copy.
type state struct {
	files  []*feedFile
	blocks []block
	// first and end are the numbers of the oldest stored record and of the next new one. Those
	// between them have no gaps.
	first, end uint64
	// whole is the number of the first record from which on nothing was removed.
	whole uint64
	// written is the number of the first record that is not in a block yet.
	written uint64
	recent  recent
	// floor is a position behind all removed records and before those from whole on, last is that of
	// the newest record.
	floor, last Position
	// covered is the entry up to which all records are stored.
	covered uint64
	// replaced counts the files that were replaced or removed. Numbers and blocks of a copy are of
	// no use AFTER that.
	replaced uint64
}

// Open opens the log in a directory. A damage error contains file and offset.
func Open(o Options) (*Log, error) {
	o.complete()
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	lock, err := disk.Claim(o.Disk, dir)
	if err != nil {
		return nil, err
	}
	l := &Log{opts: o, lock: lock}
	l.mu.chains = map[id.ID][]uint32{}
	s := scan{disk: o.Disk, dir: dir, log: l}
	if err = removeTemporary(o.Disk, dir); err == nil {
		err = s.run()
	}
	if err == nil && len(s.stale) > 0 {
		// A crash has left files whose place another one has taken. It must be durable BEFORE they
		// are removed.
		if err = o.Disk.SyncDir(dir); err == nil {
			err = disk.RemoveNames(o.Disk, dir, s.stale)
		}
	}
	if err != nil {
		for _, f := range s.files {
			if f.file != nil {
				err = errors.Join(err, f.file.Close())
			}
		}
		return nil, errors.Join(err, lock.Close())
	}
	l.found = s.report
	m := &l.mu
	m.files, m.blocks = s.files, s.blocks
	m.first, m.end, m.written, m.recent = firstNumber, s.next, s.next, recentFrom(s.next)
	m.whole = m.first
	if kept := m.kept(); kept > 0 {
		m.whole = m.files[kept-1].end()
	}
	if n := len(s.files); n > 0 {
		last := s.files[n-1]
		m.floor, m.last, m.covered = s.floor, last.last, last.covered
	}
	return l, nil
}

// link appends a record to the chain of its project.
func (l *Log) link(project id.ID, number uint64) {
	before := l.mu.chains[project]
	after := append(before, uint32(number))
	l.mu.chainSlots += cap(after) - cap(before)
	l.mu.chains[project] = after
}

// Empty reports whether the log has no files and no records.
func (l *Log) Empty() bool {
	s := l.snapshot()
	return len(s.files) == 0 && s.end == s.first
}

// Begin makes an empty log start after an entry, without the records up to it.
func (l *Log) Begin(covered uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.covered = covered
	if covered > 0 {
		l.mu.floor, l.mu.last = EndOf(covered), EndOf(covered)
	}
}

// Found returns what Open has found.
func (l *Log) Found() Report { return l.found }

// Covered returns the entry up to which all records can be read.
func (l *Log) Covered() uint64 { return l.snapshot().covered }

// Floor returns a position behind all removed records, Start if there are none.
func (l *Log) Floor() Position { return latest(l.snapshot().floor, Start) }

// Stats are the current sizes of a log.
type Stats struct {
	Files   int
	Records uint64
	Bytes   int64
	Covered uint64
}

// Stats returns the current sizes.
func (l *Log) Stats() Stats {
	l.mu.RLock()
	defer l.mu.RUnlock()
	s := Stats{Files: len(l.mu.files), Records: l.mu.end - l.mu.first, Covered: l.mu.covered}
	for _, f := range l.mu.files {
		s.Bytes += f.size
	}
	return s
}

// Append appends records, which are sorted and complete for the entries up to covered. Records that
// are already stored are skipped. If writing fails, records are kept in memory up to a limit;
// beyond it Append returns an error and adds nothing.
func (l *Log) Append(records []Record, covered uint64) error {
	l.write.Lock()
	defer l.write.Unlock()
	if l.write.closed {
		return os.ErrClosed
	}
	if l.waiting() >= waitingMax {
		if err := l.flush(blockRecords); err != nil {
			return errors.Join(errBehind, err)
		}
	}
	l.add(records, covered)
	// Records that could not be written stay in memory; Sync returns the error.
	_ = l.flush(blockRecords)
	return nil
}

func (l *Log) waiting() uint64 {
	s := l.snapshot()
	return s.end - s.written
}

func (l *Log) add(records []Record, covered uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &l.mu
	for len(records) > 0 && records[0].Compare(m.last) <= 0 {
		records = records[1:]
	}
	for i := range records {
		l.link(records[i].Project, m.end+uint64(i))
	}
	m.covered = max(m.covered, covered)
	if len(records) == 0 {
		return
	}
	m.recent.add(records)
	m.end += uint64(len(records))
	m.last = records[len(records)-1].Position
	l.forget()
}

// forget frees records in memory that are on disk and not among the newest.
func (l *Log) forget() {
	if m := &l.mu; m.end > uint64(l.opts.Newest) {
		m.recent.forget(min(m.written, m.end-uint64(l.opts.Newest)))
	}
}

// Sync makes all records and the covered entry durable.
func (l *Log) Sync() error {
	l.write.Lock()
	defer l.write.Unlock()
	return l.sync()
}

// Close syncs and closes the log.
func (l *Log) Close() error {
	l.front.Lock()
	defer l.front.Unlock()
	l.write.Lock()
	defer l.write.Unlock()
	if l.write.closed {
		return nil
	}
	err := l.sync()
	l.write.closed = true
	for _, f := range l.snapshot().files {
		err = errors.Join(err, f.file.Close())
	}
	return errors.Join(err, l.lock.Close())
}

func (l *Log) snapshot() state {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.mu.state
}
