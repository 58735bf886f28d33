package wal

import "fmt"

// Roll makes the next record begin a new segment, and end it: CutBefore can then remove all entries
// in front of that record.
func (l *Log) Roll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.roll = true
}

// maybeRoll reopens the store so that tidwall ends the segment at the next record, if Roll was
// called. The reopening AFTER that record restores the length of segments. It returns the length of
// a segment until then.
func (c *committer) maybeRoll() (segmentBytes int, err error) {
	c.l.mu.Lock()
	roll := c.l.mu.roll
	c.l.mu.roll = false
	c.l.mu.Unlock()
	if !roll {
		return c.l.opts.SegmentBytes, nil
	}
	const rollBytes = 1
	if err := c.store.Close(); err != nil {
		return 0, fmt.Errorf("close segment: %w", err)
	}
	st, err := c.l.disk.OpenStore(c.l.opts.Dir, rollBytes)
	if err != nil {
		return 0, fmt.Errorf("open segment: %w", err)
	}
	c.store = st
	return rollBytes, nil
}
