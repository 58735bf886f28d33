package feed

import (
	"errors"
	"slices"
	"sort"

	"pws/internal/disk"
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
	l.write.failed = files[len(files)-1].file.Sync()
	l.write.synced = l.write.failed == nil
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
	if f.count >= max(blockRecords, l.opts.Events/parts) ||
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
		number: 1, first: s.written, size: fileHead, covered: s.floor.Entry, last: s.floor,
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
		next.covered, next.last = before.covered, before.last
	}
	next.path = pathOf(l.opts.Dir, next.number)
	file, err := l.opts.Disk.Create(next.path)
	if err != nil {
		return err
	}
	head := appendFileHead(nil, fileVersion, next.number, previous, next.covered, next.last)
	_, err = file.Write(head)
	if err == nil {
		// The file name must be durable BEFORE any block is written.
		err = l.opts.Disk.SyncDir(l.opts.Dir)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	next.file = file
	l.mu.Lock()
	l.mu.files = append(l.mu.files, next)
	l.mu.Unlock()
	l.write.file, l.write.synced = next, false
	return nil
}

// Expire removes records that need not be kept at the given time, in Unix milliseconds: whole
// files, the oldest first.
func (l *Log) Expire(now int64) error {
	if !l.due(now) {
		return nil
	}
	l.write.Lock()
	defer l.write.Unlock()
	for !l.write.closed && l.due(now) {
		// The remaining records must be durable BEFORE a file is removed.
		err := l.syncFile()
		if err == nil {
			err = l.remove()
		}
		if err == nil {
			err = l.removeFirst()
		}
		if err != nil {
			return err
		}
	}
	return l.remove()
}

// due reports whether the oldest file may be removed.
func (l *Log) due(now int64) bool {
	s := l.snapshot()
	if len(s.files) == 0 {
		return false
	}
	oldest := s.files[0]
	if oldest.count == 0 {
		return len(s.files) > 1
	}
	return len(s.files) > 1 && s.end-oldest.end() >= uint64(l.opts.Events) ||
		oldest.lastAt < now-l.opts.AgeMillis && s.written == s.end
}

// removeFirst removes the oldest file, AFTER its records have become invisible to new readers. At
// least one file remains; its header has the position of the last removed record.
func (l *Log) removeFirst() error {
	s := l.snapshot()
	if len(s.files) == 1 {
		l.write.file = nil
		if err := l.needFile(); err != nil {
			return err
		}
		if err := l.syncFile(); err != nil {
			return err
		}
		s = l.snapshot()
	}
	oldest := s.files[0]
	first := oldest.end()
	l.mu.Lock()
	m := &l.mu
	l.cutChains(first)
	m.files = slices.Clone(m.files[1:])
	m.blocks = slices.Clone(m.blocks[sort.Search(len(m.blocks), func(at int) bool {
		return m.blocks[at].first >= first
	}):])
	m.first, m.floor = first, oldest.last
	m.recent.cut(first)
	l.mu.Unlock()
	l.write.gone = []string{disk.NumberedName(filePrefix, oldest.number)}
	return errors.Join(oldest.file.Close(), l.remove())
}

// remove removes a file that no reader uses from the disk. The next one is removed AFTER it, so
// that a start never finds a gap.
func (l *Log) remove() error {
	err := disk.RemoveNames(l.opts.Disk, l.opts.Dir, l.write.gone)
	if err == nil {
		l.write.gone = nil
	}
	return err
}

// cutChains removes the records before a number from the chains, BEFORE it becomes the oldest
// number. Arrays that are mostly unused are copied.
func (l *Log) cutChains(first uint64) {
	m := &l.mu
	for project, chain := range m.chains {
		gone := m.search(chain, first)
		switch rest := chain[gone:]; {
		case gone == 0:
			continue
		case len(rest) == 0:
			delete(m.chains, project)
		case cap(rest) > 2*len(rest):
			m.chains[project] = slices.Clone(rest)
		default:
			m.chains[project] = rest
		}
		m.chainSlots += cap(m.chains[project]) - cap(chain)
	}
}
