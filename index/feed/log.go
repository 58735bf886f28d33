package feed

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"pws/internal/disk"
	"pws/internal/id"
)

// Options of Open. Zero values mean the defaults.
type Options struct {
	Dir string
	// Events is how many records are kept at least, unless they are too old; 1,000,000. A sixteenth
	// more may be there.
	Events int
	// AgeMillis is the age above which records need not be kept; 30 days.
	AgeMillis int64
	// Newest is how many records are in memory; 8192.
	Newest int
	// Disk is the file system; that of the machine.
	Disk disk.Disk
}

const (
	dayMillis = 24 * 60 * 60 * 1000
	// waitingMax is how many records wait for a disk that fails before Append refuses others.
	waitingMax = 1 << 16
	// eventsMax bounds Options.Events.
	eventsMax = 1 << 30
	// firstNumber is that of the oldest record when a log is opened. Chains hold the low halves of
	// numbers, and these start anew after a thousand records, so that it happens in every process.
	firstNumber = 1<<32 - 1000
	// parts is about how many files hold the records that are kept.
	parts = 16
)

func (o *Options) complete() {
	if o.Events <= 0 {
		o.Events = 1_000_000
	}
	o.Events = min(o.Events, eventsMax)
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

// Log keeps records. It is safe for concurrent use; readers wait for no disk but their own.
type Log struct {
	opts    Options
	lock    io.Closer
	decoded decodedBlocks

	// write is held while files are changed.
	write struct {
		sync.Mutex
		// file is the last one where it can be appended to.
		file *feedFile
		// synced says that the last file is durable. One of a process that was killed is not.
		synced bool
		closed bool
		// gone is the file that is to be removed from the disk.
		gone []string
		// failed is why nothing is written: after a failed sync only a start can find out what is
		// on disk.
		failed error
	}
	mu struct {
		sync.RWMutex
		state
		// chains are the numbers of the records of each project, of each the low half.
		chains map[id.ID][]uint32
	}
}

// state is what readers look at. It is copied as a whole: its slices are never changed where a copy
// can see them.
type state struct {
	files  []*feedFile
	blocks []block
	// first and end are the numbers of the oldest record that is kept, and of the next one.
	first, end uint64
	// written is the number of the first record that is in no block yet.
	written uint64
	// recent are the newest records, from the number recentFirst on.
	recent      []Record
	recentFirst uint64
	// floor is the position of the newest record that was removed, last that of the newest.
	floor, last Position
	// covered is the entry up to which all records are here.
	covered uint64
}

// Open reads what a directory holds. Damage is an error that names its place.
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
	if err = s.run(); err != nil {
		for _, f := range s.files {
			if f.file != nil {
				err = errors.Join(err, f.file.Close())
			}
		}
		return nil, errors.Join(err, lock.Close())
	}
	m := &l.mu
	m.files, m.blocks = s.files, s.blocks
	m.first, m.end, m.written, m.recentFirst = firstNumber, s.next, s.next, s.next
	if n := len(s.files); n > 0 {
		last := s.files[n-1]
		m.floor, m.last, m.covered = s.floor, last.last, last.covered
	}
	return l, nil
}

// link puts a record into the chain of its project.
func (l *Log) link(project id.ID, number uint64) {
	l.mu.chains[project] = append(l.mu.chains[project], uint32(number))
}

// Empty reports whether the log has no file and no record.
func (l *Log) Empty() bool {
	s := l.snapshot()
	return len(s.files) == 0 && s.end == s.first
}

// Begin has an empty log start behind an entry, without the records of those up to it.
func (l *Log) Begin(covered uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.covered = covered
	if covered > 0 {
		l.mu.floor, l.mu.last = EndOf(covered), EndOf(covered)
	}
}

// Covered is the entry up to which all records can be read.
func (l *Log) Covered() uint64 { return l.snapshot().covered }

// Floor is the position of the newest record that was removed, Start where none was.
func (l *Log) Floor() Position { return latest(l.snapshot().floor, Start) }

// Stats are the numbers of a moment.
type Stats struct {
	Files   int
	Records uint64
	Bytes   int64
	Covered uint64
}

// Stats counts what is kept.
func (l *Log) Stats() Stats {
	l.mu.RLock()
	defer l.mu.RUnlock()
	s := Stats{Files: len(l.mu.files), Records: l.mu.end - l.mu.first, Covered: l.mu.covered}
	for _, f := range l.mu.files {
		s.Bytes += f.size
	}
	return s
}

// Append puts records at the end, which are in order and all that there are of entries up to one.
// Records that are there already are passed over. Where the disk fails they are kept in memory
// for a while; an error says that they were not taken.
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
	l.take(records, covered)
	// What cannot be written waits; Sync says so.
	_ = l.flush(blockRecords)
	return nil
}

func (l *Log) waiting() uint64 {
	s := l.snapshot()
	return s.end - s.written
}

func (l *Log) take(records []Record, covered uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &l.mu
	for len(records) > 0 && records[0].Compare(m.last) <= 0 {
		records = records[1:]
	}
	for at := range records {
		l.link(records[at].Project, m.end+uint64(at))
	}
	m.covered = max(m.covered, covered)
	if len(records) == 0 {
		return
	}
	m.recent = append(m.recent, records...)
	m.end += uint64(len(records))
	m.last = records[len(records)-1].Position
	l.forget()
}

// forget frees records in memory that are on disk and not among the newest.
func (l *Log) forget() {
	m := &l.mu
	if len(m.recent) < 2*l.opts.Newest {
		return
	}
	keep := min(m.written, m.end-uint64(l.opts.Newest))
	if keep > m.recentFirst {
		m.recent = slices.Clone(m.recent[keep-m.recentFirst:])
		m.recentFirst = keep
	}
}

// Sync makes all records durable, and what is covered by them.
func (l *Log) Sync() error {
	l.write.Lock()
	defer l.write.Unlock()
	return l.sync()
}

// Close makes all durable and ends the log.
func (l *Log) Close() error {
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
