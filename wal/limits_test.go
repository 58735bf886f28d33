package wal

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// gateDisk lets a test block each Sync and set the free space.
type gateDisk struct {
	osDisk
	entered chan struct{} // a Sync has begun
	release chan struct{} // it may go on
	fail    error         // what each Sync then returns
	free    atomic.Int64
	asked   atomic.Int64
}

func newGateDisk() *gateDisk {
	d := &gateDisk{entered: make(chan struct{}, 100), release: make(chan struct{}, 100)}
	d.free.Store(math.MaxInt64)
	return d
}

func (d *gateDisk) Free(string) (int64, error) {
	d.asked.Add(1)
	return d.free.Load(), nil
}

func (d *gateDisk) OpenSegment(path string, size int64) (segmentFile, error) {
	f, err := d.osDisk.OpenSegment(path, size)
	return &gateSegment{segmentFile: f, d: d}, err
}

type gateSegment struct {
	segmentFile
	d      *gateDisk
	closes bool
}

func (s *gateSegment) Sync() error {
	if s.closes {
		return s.segmentFile.Sync()
	}
	s.d.entered <- struct{}{}
	<-s.d.release
	if s.d.fail != nil {
		return s.d.fail
	}
	return s.segmentFile.Sync()
}

// Truncate is called where the segment is closed: the Sync AFTER it does not wait.
func (s *gateSegment) Truncate(size int64) error {
	s.closes = true
	return s.segmentFile.Truncate(size)
}

func TestBusyAndGroupCommit(t *testing.T) {
	d := newGateDisk()
	l, _ := mustOpen(t, Options{Dir: t.TempDir(), QueueBytesMax: 1000, disk: d})
	f := newFate()
	if _, err := l.Append(make([]byte, 5000), f); err != nil {
		t.Fatalf("a large entry must pass an empty queue: %v", err)
	}
	<-d.entered
	if _, err := l.Append(nil, f); !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	if l.Durable() != 0 || l.Stats().Last != 1 {
		t.Fatal("reported durable BEFORE the sync")
	}
	d.release <- struct{}{}
	f.wait(1)

	if _, err := l.Append(nil, f); err != nil {
		t.Fatal(err)
	}
	<-d.entered
	taken := 0
	for ; ; taken++ {
		_, err := l.Append(make([]byte, 36), f)
		if errors.Is(err, ErrBusy) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if taken != 9 {
		t.Fatalf("%d entries of 100 bytes fit behind one of 64", taken)
	}
	d.release <- struct{}{}
	<-d.entered
	d.release <- struct{}{}
	f.wait(1 + taken)
	if st := l.Stats(); st.Batches != 3 || st.Entries != 11 || st.QueueBytes != 0 {
		t.Fatalf("what queues during a sync must be one batch: %+v", st)
	}
	if _, err := l.Append(make([]byte, EntryBytesMax+1), f); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	mustClose(t, l)
}

func TestAppendIsRefusedBelowTheReserve(t *testing.T) {
	d := newGateDisk()
	close(d.release)
	var now atomic.Int64
	l, _ := mustOpen(t, Options{Dir: t.TempDir(), ReserveBytes: 1000, disk: d,
		now: func() time.Time { return time.Unix(0, now.Load()) }})
	defer mustClose(t, l)
	tick := func() { now.Add(int64(freeAgeMax)) }
	f := newFate()
	d.free.Store(1000 + 100 + entryOverheadBytes)
	if _, err := l.Append(make([]byte, 101), f); !errors.Is(err, ErrNoSpace) {
		t.Fatal(err)
	}
	tick()
	if _, err := l.Append(make([]byte, 100), f); err != nil {
		t.Fatal(err)
	}
	f.wait(1)
	d.free.Store(0)
	// While the committer is not idle, its last measurement is used.
	last, err := uint64(1), error(nil)
	for ; err == nil; last++ {
		tick()
		if _, err = l.Append(nil, f); err == nil {
			f.wait(1)
		}
	}
	if last--; !errors.Is(err, ErrNoSpace) {
		t.Fatal(err)
	}
	asked := d.asked.Load()
	for range 100 {
		if _, err := l.Append(nil, f); !errors.Is(err, ErrNoSpace) {
			t.Fatal(err)
		}
	}
	if n := d.asked.Load() - asked; n != 0 {
		t.Fatalf("asked %d times at one moment", n)
	}
	if err := l.Healthy(); err != nil {
		t.Fatalf("a full disk must not latch: %v", err)
	}
	d.free.Store(1 << 20)
	tick()
	if pos, err := l.Append(nil, f); err != nil || pos != last+1 {
		t.Fatalf("space has come back: %d %v", pos, err)
	}
	f.wait(1)
}

// TestReservedEntriesUseTheReserve appends small reserved entries while others are refused, down to
// the floor, and with additional space required by Needs.
func TestReservedEntriesUseTheReserve(t *testing.T) {
	d := newGateDisk()
	close(d.release)
	var now, needs atomic.Int64
	l, _ := mustOpen(t, Options{Dir: t.TempDir(), ReserveBytes: 1000, FloorBytes: 200, disk: d,
		Needs: func(int64) int64 { return needs.Load() },
		now:   func() time.Time { return time.Unix(0, now.Load()) }})
	defer mustClose(t, l)
	for _, c := range []struct {
		free, needs        int64
		ordinary, reserved error
	}{
		{2000, 0, nil, nil},
		{2000, 1000, ErrNoSpace, nil},
		{1000, 0, ErrNoSpace, nil},
		{200 + entryOverheadBytes, 0, ErrNoSpace, nil},
		{199 + entryOverheadBytes, 0, ErrNoSpace, ErrNoSpace},
		{0, 0, ErrNoSpace, ErrNoSpace},
		{2000, -5000, nil, nil},
	} {
		d.free.Store(c.free)
		needs.Store(c.needs)
		for reserved, want := range map[bool]error{false: c.ordinary, true: c.reserved} {
			// The committer has measured the free space AFTER the last entry, or will not do so any
			// more.
			space := l.Space()
			for space.FreeBytes != c.free {
				now.Add(int64(freeAgeMax))
				space = l.Space()
			}
			if space.Writable != (c.ordinary == nil) || space.KeptBytes != 1000+max(0, c.needs) {
				t.Errorf("%+v: %+v", c, space)
			}
			f := newFate()
			_, err := l.append(queued{done: f}, reserved)
			if !errors.Is(err, want) {
				t.Errorf("%+v, reserved %v: %v", c, reserved, err)
			}
			if err == nil {
				f.wait(1)
			}
		}
	}
}

// TestNeedsOfWhatIsQueued has each queued byte need another one that remains free.
func TestNeedsOfWhatIsQueued(t *testing.T) {
	d := newGateDisk()
	close(d.release)
	d.free.Store(10_000)
	l, _ := mustOpen(t, Options{Dir: t.TempDir(), ReserveBytes: 1000, disk: d,
		Needs: func(queuedBytes int64) int64 { return queuedBytes }})
	defer mustClose(t, l)
	const most = (10_000-1000)/2 - entryOverheadBytes
	f := newFate()
	if _, err := l.Append(make([]byte, most+1), f); !errors.Is(err, ErrNoSpace) {
		t.Errorf("an entry of %d bytes: %v", most+1, err)
	}
	if _, err := l.Append(make([]byte, most), f); err != nil {
		t.Fatalf("an entry of %d bytes: %v", most, err)
	}
	f.wait(1)
}

// TestSpaceIsCountedWhileQueued fills the queue during one sync: queued entries count as written.
func TestSpaceIsCountedWhileQueued(t *testing.T) {
	d := newGateDisk()
	d.free.Store(10_000)
	l, _ := mustOpen(t, Options{Dir: t.TempDir(), ReserveBytes: 1000, disk: d})
	f := newFate()
	if _, err := l.Append(nil, f); err != nil {
		t.Fatal(err)
	}
	<-d.entered
	taken := 1
	for ; ; taken++ {
		if _, err := l.Append(make([]byte, 1000-entryOverheadBytes), f); err != nil {
			if !errors.Is(err, ErrNoSpace) {
				t.Fatal(err)
			}
			break
		}
	}
	if taken != 9 {
		t.Fatalf("%d entries were taken", taken)
	}
	close(d.release)
	f.wait(taken)
	mustClose(t, l)
}

func TestCutBefore(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dir: dir, SegmentBytes: 300}
	l, _ := mustOpen(t, o)
	for range 40 {
		appendOne(t, l)
	}
	before := l.Stats()
	for _, pos := range []uint64{0, 1, 9, 9, 20} {
		if err := l.CutBefore(pos); err != nil {
			t.Fatal(err)
		}
		st := l.Stats()
		rep, err := Verify(dir)
		if err != nil || st.First > max(pos, 1) || st.Last != 40 || st.Bytes != rep.Bytes {
			t.Fatalf("cut before %d: %+v, %+v %v", pos, st, rep, err)
		}
		checkRead(t, dir, st.First, 40)
	}
	if st := l.Stats(); st.First < 12 || st.Segments >= before.Segments || st.Bytes >= before.Bytes {
		t.Fatalf("nothing was removed: %+v", st)
	}
	if err := l.CutBefore(42); !errors.Is(err, ErrOutOfRange) {
		t.Fatal(err)
	}
	if err := l.CutBefore(41); err != nil {
		t.Fatal(err)
	}
	st := l.Stats()
	if st.First > 40 || st.First < 35 || st.Segments > 2 {
		t.Fatalf("%+v", st)
	}
	if pos := appendOne(t, l); pos != 41 {
		t.Fatal(pos)
	}
	mustClose(t, l)
	l, rec := mustOpen(t, o)
	if rec.First != st.First || rec.Last != 41 {
		t.Fatalf("%+v", rec)
	}
	if err := l.Replay(1, nil); !errors.Is(err, ErrOutOfRange) {
		t.Fatal(err)
	}
	if err := Read(dir, 1, nil); !errors.Is(err, ErrOutOfRange) {
		t.Fatal(err)
	}
	if err := Read(dir, 43, nil); !errors.Is(err, ErrOutOfRange) {
		t.Fatal(err)
	}
	mustClose(t, l)
}

// TestCutWhileAppending cuts from one goroutine while others append and read.
func TestCutWhileAppending(t *testing.T) {
	dir := t.TempDir()
	l, _ := mustOpen(t, Options{Dir: dir, SegmentBytes: 400})
	var wg sync.WaitGroup
	const writers, each = 4, 60
	for range writers {
		wg.Go(func() {
			f := newFate()
			for range each {
				if _, err := l.Append([]byte("some content of an entry"), f); err != nil {
					t.Error(err)
				}
				f.wait(1)
			}
		})
	}
	for l.Durable() < writers*each {
		if err := l.CutBefore(l.Durable()); err != nil {
			t.Fatal(err)
		}
		err := Read(dir, 0, func(uint64, []byte) error { return nil })
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	wg.Wait()
	// On a fast disk all entries may be appended BEFORE the first cut.
	if err := l.CutBefore(l.Durable()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, l)
	l, rec := mustOpen(t, Options{Dir: dir})
	if rec.Last != writers*each || rec.First < 10 {
		t.Fatalf("%+v", rec)
	}
	mustClose(t, l)
}

// TestSegmentCountsMatchFiles compares the committer's records of its files with the files, for
// entries and limits of many sizes, also if the limit changes between two runs.
func TestSegmentCountsMatchFiles(t *testing.T) {
	dir := t.TempDir()
	pos := uint64(0)
	for life, limit := range []int{1, 100, 5000, 300, 80, 1 << 20, 1000} {
		l, _ := mustOpen(t, Options{Dir: dir, SegmentBytes: limit})
		for i := range 12 {
			f := newFate()
			payload := fmt.Appendf(make([]byte, 0, 100), "%d", i)
			if i == 7 {
				payload = append(payload, incompressible(3000)...)
			}
			got, err := l.Append(payload, f)
			if pos++; err != nil || got != pos {
				t.Fatal(got, err)
			}
			f.wait(1)
		}
		st := l.Stats()
		mustClose(t, l)
		segs, err := listSegments(osDisk{}, dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(segs) != st.Segments || diskBytes(t, dir) != st.Bytes {
			t.Fatalf("life %d: %d segments, %d bytes; booked %+v", life, len(segs),
				diskBytes(t, dir), st)
		}
		if rep, err := Verify(dir); err != nil || rep.Last != pos || rep.Bytes != st.Bytes {
			t.Fatalf("%+v %v", rep, err)
		}
	}
}

func incompressible(n int) []byte {
	out, x := make([]byte, n), uint64(88172645463325252)
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x >> 32)
	}
	return out
}

func TestLargeEntries(t *testing.T) {
	dir := t.TempDir()
	l, _ := mustOpen(t, Options{Dir: dir, batchBytesMax: 1 << 20})
	f := newFate()
	sizes := []int{10, 3 << 20, 10, 700_000, 700_000, 0, 17 << 20, 5}
	for _, n := range sizes {
		if _, err := l.Append(incompressible(n), f); err != nil {
			t.Fatal(err)
		}
	}
	f.wait(len(sizes))
	mustClose(t, l)
	i := 0
	err := Read(dir, 1, func(pos uint64, p []byte) error {
		if len(p) != sizes[i] || string(p) != string(incompressible(sizes[i])) {
			t.Errorf("position %d has %d bytes", pos, len(p))
		}
		i++
		return nil
	})
	if err != nil || i != len(sizes) {
		t.Fatal(i, err)
	}
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	if _, _, err := Open(Options{}); err == nil {
		t.Fatal("no directory")
	}
	if _, _, err := Open(Options{Dir: t.TempDir(), SegmentBytes: -1}); err == nil {
		t.Fatal("negative size")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(Options{Dir: file}); err == nil {
		t.Fatal("a file is no directory")
	}
}

// TestLatchReportsAllQueued fails a sync while entries are queued: the error is reported for each
// of them, in order, then to OnFailure, and no entry is accepted after that.
func TestLatchReportsAllQueued(t *testing.T) {
	d := newGateDisk()
	var owner []error
	f := newFate()
	l, _ := mustOpen(t, Options{Dir: t.TempDir(), disk: d, OnFailure: func(err error) {
		if len(f.mu.failed) != 50 {
			t.Errorf("%d entries were reported BEFORE the owner", len(f.mu.failed))
		}
		owner = append(owner, err)
	}})
	d.fail = errFault
	for range 50 {
		if _, err := l.Append([]byte("entry"), f); err != nil {
			t.Fatal(err)
		}
	}
	cut := make(chan error)
	<-d.entered
	go func() { cut <- l.CutBefore(1) }()
	d.release <- struct{}{}
	f.wait(50)
	if err := <-cut; !errors.Is(err, ErrLatched) {
		t.Fatal(err)
	}
	if err := l.Healthy(); !errors.Is(err, ErrLatched) || !errors.Is(err, errFault) {
		t.Fatal(err)
	}
	for i, pos := range f.mu.failed {
		if pos != uint64(i)+1 || !errors.Is(f.mu.errs[i], ErrLatched) {
			t.Fatalf("callback %d: position %d, %v", i, pos, f.mu.errs[i])
		}
	}
	if _, err := l.Append(nil, nil); !errors.Is(err, ErrLatched) {
		t.Fatal(err)
	}
	if err := l.CutBefore(1); !errors.Is(err, ErrLatched) {
		t.Fatal(err)
	}
	if err := l.Close(); !errors.Is(err, ErrLatched) || len(owner) != 1 {
		t.Fatal(err, owner)
	}
	if l.Durable() != 0 {
		t.Fatal(l.Durable())
	}
}

// TestAppendAllocates checks that appending an entry does not allocate.
func TestAppendAllocates(t *testing.T) {
	l, _ := mustOpen(t, Options{Dir: t.TempDir(), disk: unsyncedDisk{}, SegmentBytes: 1 << 30})
	payload := []byte("an entry that many have written before")
	const entries = 1000
	c := &countdown{done: make(chan error, 1)}
	allocs := testing.AllocsPerRun(20, func() {
		c.last += entries
		for range entries {
			if _, err := l.Append(payload, c); err != nil {
				t.Fatal(err)
			}
		}
		<-c.done
	})
	if allocs > entries/10 {
		t.Fatalf("%d entries allocate %.0f times", entries, allocs)
	}
	mustClose(t, l)
}
