package feed

import (
	"errors"
	"fmt"
)

// flush writes blocks while at least the given number of records wait. Callers hold l.write.
func (l *Log) flush(least uint64) error {
	for {
		waiting := l.waiting()
		if waiting < least || waiting == 0 {
			return nil
		}
		if err := l.writeBlock(min(waiting, blockRecords)); err != nil {
			return err
		}
	}
}

// sync writes all waiting records and makes them durable.
func (l *Log) sync() error {
	if err := l.flush(1); err != nil {
		return err
	}
	s := l.snapshot()
	if n := len(s.files); (n > 0 && s.files[n-1].covered < s.covered) || n == 0 && s.covered > 0 {
		if err := l.writeBlock(0); err != nil {
			return err
		}
	}
	return l.syncFile()
}

// syncFile syncs the last file. The previous files are already durable.
func (l *Log) syncFile() error {
	files := l.snapshot().files
	if l.write.synced || l.write.failed != nil || len(files) == 0 {
		return l.write.failed
	}
	if err := files[len(files)-1].file.Sync(); err != nil {
		return l.latch(err)
	}
	l.write.synced = true
	return nil
}

// latch keeps the error of a failed sync. Callers hold l.write.
func (l *Log) latch(err error) error {
	l.write.failed = fmt.Errorf("%w: %w", ErrUncertain, err)
	return l.write.failed
}

// writeBlock writes at most n of the waiting records, and creates a new file if necessary.
func (l *Log) writeBlock(n uint64) error {
	if err := l.needFile(); err != nil {
		return err
	}
	s := l.snapshot()
	records := s.recent.run(s.written, n)
	n = uint64(len(records))
	covered := s.covered
	if s.written+n < s.end {
		// More records of the same entry may follow.
		covered = max(l.write.file.covered, records[n-1].Entry-1)
	}
	content, info := l.write.blocks.encode(records, covered)
	l.write.synced = false
	if _, err := l.write.file.file.Write(content); err != nil {
		// The next file records the valid length of this one.
		l.write.file = nil
		return err
	}
	f := l.write.file
	l.mu.Lock()
	if n > 0 {
		l.mu.blocks = append(l.mu.blocks, block{f, f.size, s.written, info})
	}
	f.add(&info)
	l.mu.written += n
	l.forget()
	l.mu.Unlock()
	if f.count >= l.opts.fileRecords() ||
		f.count > 0 && f.lastAt-f.firstAt >= l.opts.AgeMillis/parts {
		l.write.file = nil
	}
	return nil
}

// needFile creates the next file if the last one is full.
func (l *Log) needFile() error {
	if l.write.failed != nil {
		return l.write.failed
	}
	if l.write.file != nil {
		return nil
	}
	s := l.snapshot()
	next := &feedFile{
		number: 1, from: 1, first: s.written, size: fileHead, covered: s.floor.Entry, last: s.floor,
	}
	previous := int64(0)
	if n := len(s.files); n > 0 {
		before := s.files[n-1]
		// The new header contains the length of the previous file, which must be durable BEFORE
		// that.
		if err := l.syncFile(); err != nil {
			return err
		}
		next.number, previous = before.number+1, before.size
		next.from = next.number
		next.covered, next.last = before.covered, before.last
	}
	next.path = pathOf(l.opts.Dir, next.number)
	file, err := l.opts.Disk.Create(next.path)
	if err != nil {
		return err
	}
	head := appendFileHead(nil, next.number, &fileHeader{
		version: fileVersion, previous: previous, covered: next.covered, last: next.last,
	})
	if _, err := file.Write(head); err != nil {
		return errors.Join(err, file.Close())
	}
	// The file name must be durable BEFORE any block is written.
	if err := l.opts.Disk.SyncDir(l.opts.Dir); err != nil {
		// Another sync may succeed although the name is lost: the system reports a failure once.
		return errors.Join(l.latch(err), file.Close())
	}
	next.file = file
	l.mu.Lock()
	l.mu.files = append(l.mu.files, next)
	l.mu.Unlock()
	l.write.file, l.write.synced = next, false
	return nil
}
