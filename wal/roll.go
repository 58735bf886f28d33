package wal

// Roll makes the next record begin a new segment: CutBefore can then remove all entries in front of
// that record.
func (l *Log) Roll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.roll = true
}

// maybeRoll begins a new segment if Roll was called, or if the last one is full.
func (c *committer) maybeRoll() error {
	c.l.mu.Lock()
	roll := c.l.mu.roll
	c.l.mu.roll = false
	c.l.mu.Unlock()
	last := c.last()
	if last.records == 0 || !roll && last.bytes < int64(c.l.opts.SegmentBytes) {
		return nil
	}
	next := segment{path: segmentPath(c.l.opts.Dir, c.index), index: c.index, first: c.next}
	if err := c.tail.roll(next.path); err != nil {
		return err
	}
	c.segs = append(c.segs, next)
	return nil
}
