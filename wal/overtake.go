package wal

// largeBytes is the size above which an entry with a key is committed alone, AFTER the small ones
// of other keys. A megabyte takes several milliseconds: writers of small entries wait for one large
// entry at most, and not for all that are queued.
const largeBytes = 128 << 10

func (q *queued) large() bool { return q.keyed && len(q.payload) > largeBytes }

// commitPending writes the pending entries as records of at most batchBytesMax. It returns AFTER a
// large entry, so that small ones that have arrived since are committed BEFORE the next. AFTER
// an error the entries of the record have it, and the others are still pending.
func (c *committer) commitPending() error {
	for len(c.pending) > 0 {
		batch, large := c.pick()
		size := 0
		for i := range batch {
			size += len(batch[i].payload)
		}
		if err := c.commit(batch, size); err != nil {
			err = c.latch(err)
			c.report(batch, err)
			return err
		}
		if large {
			return nil
		}
	}
	return nil
}

// pick takes the entries of the next record out of those that are pending: small ones that may be
// committed now, or one large entry.
func (c *committer) pick() (batch []queued, large bool) {
	n, size := 0, 0
	for n < len(c.pending) && !c.pending[n].large() && c.fits(n, &size, &c.pending[n]) {
		n++
	}
	if n == len(c.pending) || !c.pending[n].large() {
		// No large entry is in front of those that fit.
		batch, c.pending = c.pending[:n], c.pending[n:]
		return batch, false
	}
	batch = append(batch, c.pending[:n]...)
	var later []queued
	waits := map[Key]bool{}
	for i := n; i < len(c.pending); i++ {
		one := &c.pending[i]
		if !one.keyed || !one.large() && !waits[one.key] && !c.fits(len(batch), &size, one) {
			// Nothing overtakes an entry without a key, or one for which this record has no room.
			later = append(later, c.pending[i:]...)
			break
		}
		if one.large() || waits[one.key] {
			waits[one.key] = true
			later = append(later, *one)
			continue
		}
		batch = append(batch, *one)
	}
	if len(batch) == 0 {
		batch, later, large = later[:1], later[1:], true
	}
	c.pending = later
	return batch, large
}

// fits adds an entry to the size of a record with a number of entries, unless it is too large for
// it.
func (c *committer) fits(entries int, size *int, one *queued) bool {
	if entries > 0 && *size+len(one.payload) > c.l.opts.batchBytesMax {
		return false
	}
	*size += len(one.payload)
	return true
}
