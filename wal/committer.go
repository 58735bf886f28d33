package wal

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// committer owns the files of a Log. All its fields belong to its one goroutine.
type committer struct {
	l     *Log
	tail  *tail
	segs  []segment // oldest first, never empty; the last one is appended to
	log   uint64
	index uint64 // of the next record
	next  uint64 // position of the next entry to commit
	bytes int64
	frame frameWriter
	cuts  []cut
	// pending are entries that were taken from the queue and are not committed yet.
	pending []queued
	// wanted is the number of entries to wait for before a batch, patience the maximum wait; timer
	// ends the wait.
	wanted   int
	patience time.Duration
	timer    *time.Timer
}

// queueKeepMax is the maximum length of the queue's array that is reused after a burst.
const queueKeepMax = 1 << 16

// run commits queued entries until the log is closed and the queue is empty.
func (c *committer) run() {
	var taken []queued
	for {
		c.gather()
		var stop bool
		taken, stop = c.take(taken)
		if len(c.pending) == 0 {
			c.pending = taken
		} else {
			c.pending = append(c.pending, taken...)
		}
		if err := c.commitPending(); err != nil {
			c.fail(err)
		}
		clear(taken)
		if cap(taken) > queueKeepMax {
			taken = nil
		}
		if err := c.cutStep(); err != nil {
			c.fail(err)
		}
		if stop {
			break
		}
	}
	c.close()
}

// gatherRounds bounds how often the committer yields the processor BEFORE it takes the queue.
const gatherRounds = 8

// gather yields to the writers woken by the last batch, so that they can append again, as long as
// the queue grows. Without it the writers form two groups that wait for each other's fsync.
func (c *committer) gather() {
	l, seen := c.l, -1
	for range gatherRounds {
		l.mu.Lock()
		n := len(l.mu.queue)
		l.mu.Unlock()
		if n == seen {
			return
		}
		seen = n
		runtime.Gosched()
	}
}

// take waits for work and returns the whole queue. It reuses old as the queue's next array. stop is
// set if the log is closing and there is no more work.
func (c *committer) take(old []queued) (taken []queued, stop bool) {
	l := c.l
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.mu.queue) == 0 && len(l.mu.cuts) == 0 && len(c.cuts) == 0 && !l.mu.closing &&
		len(c.pending) == 0 {
		l.mu.idle = true
		l.mu.wake.Wait()
	}
	l.mu.idle = false
	if len(c.pending) == 0 {
		c.linger()
	}
	taken, l.mu.queue = l.mu.queue, old[:0]
	c.cuts = append(c.cuts, l.mu.cuts...)
	l.mu.cuts = nil
	return taken, l.mu.closing && len(taken) == 0 && len(c.cuts) == 0 && len(c.pending) == 0
}

// lingerMax bounds how long a batch may wait for more entries.
const lingerMax = 2 * time.Millisecond

// linger waits until half of the writers of the last batch have appended again, at most as long as
// the last fsync took. An fsync for the first one alone would delay all others; with halves, one is
// synced while the other is prepared. A single writer never waits. The caller holds the lock.
func (c *committer) linger() {
	l := c.l
	busy := func() bool {
		return len(l.mu.queue) >= c.wanted || l.mu.closing || len(l.mu.cuts) > 0 || len(c.cuts) > 0
	}
	if busy() {
		return
	}
	l.mu.wanted = c.wanted
	if c.timer == nil {
		c.timer = time.AfterFunc(c.patience, l.lingered)
	} else {
		c.timer.Reset(c.patience)
	}
	for l.mu.wanted > 0 && !busy() {
		l.mu.wake.Wait()
	}
	l.mu.wanted = 0
	c.timer.Stop()
}

// lingered ends the wait of the committer. If it runs too late, it shortens the next wait, which is
// harmless.
func (l *Log) lingered() {
	l.mu.Lock()
	l.mu.wanted = 0
	l.mu.Unlock()
	l.mu.wake.Signal()
}

// commit makes entries durable as one record and calls Committed. size is the sum of their lengths.
func (c *committer) commit(q []queued, size int) error {
	c.frame.begin(size + len(q)*4)
	for i := range q {
		c.frame.add(q[i].payload)
	}
	record := c.frame.encode(c.log, c.index, c.next)
	if err := c.maybeRoll(); err != nil {
		return err
	}
	if err := c.tail.write(record); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	c.place(int64(len(record)))
	now := c.l.opts.now
	start := now()
	if err := c.tail.file.Sync(); err != nil {
		return fmt.Errorf("fsync: %w", err)
	}
	took := now().Sub(start)

	l := c.l
	l.mu.Lock()
	// Until the free space is measured, what was queued counts as taken from it.
	done := int64(size) + int64(len(q))*entryOverheadBytes
	l.mu.queueBytes -= done
	l.mu.freeBytes -= done
	c.wanted, c.patience = (len(q)+len(l.mu.queue))/2, min(took, lingerMax)
	st := &l.mu.stats
	st.Bytes, st.Segments = c.bytes, len(c.segs)
	st.Batches++
	st.Entries += uint64(len(q))
	st.RawBytes += uint64(size)
	st.SyncTotal += took
	l.mu.Unlock()
	c.report(q, nil)
	l.durable.Store(c.next - 1)
	c.measure(start.Add(took))
	return nil
}

// measure notes the free space at a time. It follows the report of a batch, because nobody has to
// wait for it.
func (c *committer) measure(now time.Time) {
	l := c.l
	if l.opts.ReserveBytes < 0 {
		return
	}
	free, err := l.free()
	l.mu.Lock()
	l.setFree(now, free, err)
	l.mu.Unlock()
}

// place adds a record to the list of segments.
func (c *committer) place(length int64) {
	last := c.last()
	last.bytes += length
	last.records++
	c.bytes += length
	c.index++
}

func (c *committer) last() *segment { return &c.segs[len(c.segs)-1] }

// report calls Committed for entries in order and advances next.
func (c *committer) report(q []queued, err error) {
	for i := range q {
		pos := c.next
		c.next++
		if q[i].done != nil {
			q[i].done.Committed(pos, err)
		}
	}
}

// latch stops the log: from now on nothing is written and no entry is accepted.
func (c *committer) latch(cause error) error {
	l := c.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.failed == nil {
		l.mu.failed = fmt.Errorf("%w: %w", ErrLatched, cause)
	}
	return l.mu.failed
}

// fail latches the log and reports the error for all queued entries in the order of positions, and
// then to OnFailure.
func (c *committer) fail(cause error) {
	err := cause
	if !errors.Is(cause, ErrLatched) {
		err = c.latch(cause)
	}
	c.l.mu.Lock()
	rest := append(c.pending, c.l.mu.queue...)
	c.pending = nil
	c.l.mu.queue, c.l.mu.queueBytes = nil, 0
	c.l.mu.Unlock()
	c.report(rest, err)
	if c.l.opts.OnFailure != nil {
		c.l.opts.OnFailure(err)
	}
}

// close closes the files and the log's done channel.
func (c *committer) close() {
	l := c.l
	failed := l.Healthy()
	err := c.tail.close(failed != nil)
	if failed != nil {
		// After a failure the error of closing the files adds nothing.
		err = failed
	}
	l.closeErr = errors.Join(err, l.lock.Close())
	close(l.done)
}
