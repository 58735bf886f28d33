package feed

import (
	"errors"
	"os"
	"slices"
	"sort"

	"pws/internal/disk"
)

// Expire removes records that need not be kept at the given time, in Unix milliseconds. Of old
// files, only the newest records of each project stay. Files that are too old are removed. An error
// that is ErrCorrupt is about records that were damaged, and are removed now.
func (l *Log) Expire(now int64) error {
	if l.due(now) == nothingDue {
		return nil
	}
	l.front.Lock()
	defer l.front.Unlock()
	var damage error
	for {
		var err error
		switch l.due(now) {
		case nothingDue:
			return damage
		case removalDue:
			err = l.removeFirst()
		case keepingDue:
			err = l.keepNewest(now - l.opts.AgeMillis)
		}
		if errors.Is(err, ErrCorrupt) {
			damage, err = errors.Join(damage, err), nil
		}
		if err != nil {
			return errors.Join(damage, err)
		}
	}
}

// dueStep is what Expire does next.
type dueStep int

const (
	nothingDue dueStep = iota
	// removalDue means that the oldest file has no records that are to be kept.
	removalDue
	// keepingDue means that the files at the front are to be replaced by kept files.
	keepingDue
)

// due returns the next step. Kept files are written again seldom, because each time all of them
// are: when half as many records as are whole wait for it, or when the oldest are too old.
func (l *Log) due(now int64) dueStep {
	// Records are added to the last file.
	l.mu.RLock()
	defer l.mu.RUnlock()
	s := &l.mu.state
	if len(s.files) == 0 {
		return nothingDue
	}
	oldest, oldestAt := s.files[0], now-l.opts.AgeMillis
	behind := s.behind(l.opts.Events)
	switch {
	case oldest.count == 0:
		if len(s.files) > 1 {
			return removalDue
		}
	case oldest.lastAt < oldestAt && (len(s.files) > 1 || s.written == s.end):
		return removalDue
	case l.opts.MayKeep != nil && !l.opts.MayKeep():
		if behind > 0 {
			return removalDue
		}
	case behind > s.kept() && s.files[behind-1].end()-s.whole >= uint64(l.opts.Events)/2,
		oldest.kept && oldest.firstAt < oldestAt-l.opts.AgeMillis/parts:
		return keepingDue
	}
	return nothingDue
}

// behind is the number of files at the front behind which so many newer records are stored.
func (s *state) behind(events int) (count int) {
	for count+1 < len(s.files) && s.end-s.files[count].end() >= uint64(events) {
		count++
	}
	return count
}

// beginChange makes the files durable that nothing is appended to, and removes from the disk what
// an earlier change has left. Callers hold l.write.
func (l *Log) beginChange() error {
	if l.write.closed {
		return os.ErrClosed
	}
	// The remaining records must be durable BEFORE a file is removed.
	if err := l.syncFile(); err != nil {
		return err
	}
	return l.remove()
}

// removeFirst removes the oldest file, AFTER its records have become invisible to new readers. At
// least one file remains; its header has the position of the last removed record.
func (l *Log) removeFirst() error {
	l.write.Lock()
	defer l.write.Unlock()
	if err := l.beginChange(); err != nil {
		return err
	}
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
	m.first, m.whole = first, max(m.whole, first)
	m.floor = latest(m.floor, oldest.last)
	m.recent.cut(first)
	m.replaced++
	l.mu.Unlock()
	l.write.gone = []string{disk.NumberedName(filePrefix, oldest.number)}
	return errors.Join(oldest.file.Close(), l.remove())
}

// remove removes files that no reader uses from the disk. The next ones are removed AFTER them, so
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
