package wal

import "fmt"

// cut is a pending call of CutBefore.
type cut struct {
	before uint64
	done   chan error
}

// CutBefore removes the segments that hold only entries before a position. Many of these entries
// may remain: a segment is kept as long as one of its entries is needed, and the one with the last
// record is always kept. The committer removes one segment between two batches, the oldest first,
// with an fsync of the directory BEFORE the next, so that a crash never leaves a gap. CutBefore
// returns when all are removed.
//
// It returns ErrOutOfRange for a position after the next one, ErrClosed, or an error that wraps
// ErrLatched; a failed removal latches the log.
func (l *Log) CutBefore(pos uint64) error {
	l.mu.Lock()
	var err error
	switch {
	case l.mu.failed != nil:
		err = l.mu.failed
	case l.mu.closing:
		err = ErrClosed
	case pos > l.mu.next:
		err = outOfRange(pos, l.mu.next)
	}
	if err != nil {
		l.mu.Unlock()
		return err
	}
	k := cut{before: pos, done: make(chan error, 1)}
	l.mu.touched = true
	l.mu.cuts = append(l.mu.cuts, k)
	l.mu.idle = false
	l.mu.Unlock()
	l.mu.wake.Signal()
	return <-k.done
}

// cutStep removes the oldest segment if a pending call requires it, and ends the calls that are
// done.
func (c *committer) cutStep() error {
	if err := c.l.Healthy(); err != nil {
		for _, k := range c.cuts {
			k.done <- err
		}
		c.cuts = nil
		return nil
	}
	for len(c.cuts) > 0 && !c.removable(c.cuts[0].before) {
		c.cuts[0].done <- nil
		c.cuts = c.cuts[1:]
	}
	if len(c.cuts) == 0 {
		c.cuts = nil
		return nil
	}
	if err := c.tail.settle(); err != nil {
		return err
	}
	if err := c.l.disk.Remove(c.segs[0].path); err != nil {
		return fmt.Errorf("remove segment: %w", err)
	}
	if err := c.l.disk.SyncDir(c.l.opts.Dir); err != nil {
		return fmt.Errorf("fsync directory: %w", err)
	}
	c.bytes -= c.segs[0].bytes
	c.segs = c.segs[1:]
	c.l.mu.Lock()
	c.l.mu.stats.First = c.segs[0].first
	c.l.mu.stats.Bytes, c.l.mu.stats.Segments = c.bytes, len(c.segs)
	c.l.mu.Unlock()
	return nil
}

// removable reports whether the oldest segment holds only entries before a position and not the
// last record, which is needed to know the next position.
func (c *committer) removable(before uint64) bool {
	return len(c.segs) > 1 && c.segs[1].records > 0 && c.segs[1].first <= before
}
