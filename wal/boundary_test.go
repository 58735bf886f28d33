package wal

import (
	"errors"
	"slices"
	"testing"
)

// within reads Durable in each call of Committed.
type within struct {
	l    *Log
	seen []uint64
	done chan struct{}
}

func (w *within) Committed(uint64, error) {
	w.seen = append(w.seen, w.l.Durable())
	w.done <- struct{}{}
}

// TestDurableComesAfterCommitted checks that a position counts as durable only after its Committed
// has returned.
func TestDurableComesAfterCommitted(t *testing.T) {
	l, _ := mustOpen(t, Options{Dir: t.TempDir(), disk: unsyncedDisk{}})
	defer mustClose(t, l)
	w := &within{l: l, done: make(chan struct{}, 1)}
	for n := range uint64(5) {
		if _, err := l.Append(entry(n+1), w); err != nil {
			t.Fatal(err)
		}
		if <-w.done; w.seen[n] != n {
			t.Fatalf("within the call for %d, up to %d is durable", n+1, w.seen[n])
		}
	}
}

// TestSegmentsOfExactLength fills a segment to the last byte, and opens a log whose tail has
// exactly the length of a segment: Stats must agree with the disk.
func TestSegmentsOfExactLength(t *testing.T) {
	dir := t.TempDir()
	l, _ := mustOpen(t, Options{Dir: dir, disk: unsyncedDisk{}})
	appendOne(t, l)
	length := int(l.Stats().Bytes)
	mustClose(t, l)
	check := func(what, dir string, records int) {
		t.Helper()
		l, _ := mustOpen(t, Options{Dir: dir, SegmentBytes: length, disk: unsyncedDisk{}})
		for range records {
			appendOne(t, l)
		}
		stats := l.Stats()
		mustClose(t, l)
		segs, err := listSegments(osDisk{}, dir)
		if err != nil || len(segs) != stats.Segments {
			t.Errorf("%s: %d segments, Stats says %d: %v", what, len(segs), stats.Segments, err)
		}
	}
	check("a full tail is opened", dir, 1)
	check("a record fills a segment", t.TempDir(), 1)
}

// heldBatches appends an entry, and further ones of the given lengths while its fsync is blocked.
// It returns the total number of batches.
func heldBatches(t *testing.T, batchBytesMax int, lengths ...int) uint64 {
	t.Helper()
	d := newGateDisk()
	l, _ := mustOpen(t, Options{Dir: t.TempDir(), batchBytesMax: batchBytesMax, disk: d})
	defer mustClose(t, l)
	f := newFate()
	for n, length := range append([]int{0}, lengths...) {
		if _, err := l.Append(make([]byte, length), f); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			<-d.entered
		}
	}
	close(d.release)
	f.wait(1 + len(lengths))
	return l.Stats().Batches
}

// TestBatchOfExactLength fills a batch to the last byte: one byte more requires another batch.
func TestBatchOfExactLength(t *testing.T) {
	if n := heldBatches(t, 100, 50, 50); n != 1+1 {
		t.Errorf("%d batches, and both entries fit into one", n)
	}
	if n := heldBatches(t, 100, 50, 51); n != 1+2 {
		t.Errorf("%d batches, and both entries are a byte too long for one", n)
	}
}

// TestQueueOfExactLength fills the queue to the last byte, and appends an entry of the maximum
// length.
func TestQueueOfExactLength(t *testing.T) {
	const size = 36
	d := newGateDisk()
	l, _ := mustOpen(t, Options{
		Dir: t.TempDir(), QueueBytesMax: 3 * (size + entryOverheadBytes), ReserveBytes: -1, disk: d,
	})
	defer mustClose(t, l)
	defer close(d.release)
	for n := range 4 {
		_, err := l.Append(make([]byte, size), nil)
		if full := n == 3; full != errors.Is(err, ErrBusy) || !full && err != nil {
			t.Errorf("entry %d: %v", n+1, err)
		}
		if n == 0 {
			<-d.entered
		}
	}
	idle := Log{opts: Options{QueueBytesMax: 1, ReserveBytes: -1}}
	if err := idle.admit(EntryBytesMax, false); err != nil {
		t.Error(err)
	}
	if err := idle.admit(EntryBytesMax+1, false); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// TestLatchReportsEachOnce fails an fsync while another entry is queued: the error is reported once
// for both, and nothing is written after that.
func TestLatchReportsEachOnce(t *testing.T) {
	d := newGateDisk()
	d.fail = errFault
	l, _ := mustOpen(t, Options{Dir: t.TempDir(), disk: d})
	f := newFate()
	for n := range 2 {
		if _, err := l.Append([]byte("entry"), f); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			<-d.entered
		}
	}
	close(d.release)
	f.wait(2)
	if err := l.Close(); !errors.Is(err, ErrLatched) {
		t.Error(err)
	}
	if len(f.mu.acked) != 0 || !slices.Equal(f.mu.failed, []uint64{1, 2}) {
		t.Errorf("%d had success, %d failed", f.mu.acked, f.mu.failed)
	}
	if n := len(d.entered); n != 0 {
		t.Errorf("%d further batches were written", n)
	}
}
