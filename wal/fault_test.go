package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// errFault is the error of an injected failure.
var errFault = errors.New("injected fault")

// unsyncedDisk skips every possible fsync. A test that reads the files through the page cache sees
// the same contents, and many parallel tests do not wait for the disk.
type unsyncedDisk struct{ osDisk }

func (unsyncedDisk) MakeDir(dir string) error { return os.MkdirAll(dir, 0o750) }

func (unsyncedDisk) Truncate(path string, size int64) error { return os.Truncate(path, size) }

func (unsyncedDisk) Sync(path string) error {
	_, err := os.Stat(path)
	return err
}

func (unsyncedDisk) SyncDir(dir string) error {
	_, err := os.Stat(dir)
	return err
}

func (unsyncedDisk) CreateSegment(path string) error { return os.WriteFile(path, nil, 0o600) }

func (unsyncedDisk) OpenSegment(path string, _ int64) (segmentFile, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return unsyncedSegment{f}, nil
}

// unsyncedSegment is written through the page cache.
type unsyncedSegment struct{ *os.File }

func (unsyncedSegment) Block() int64 { return 1 }

func (s unsyncedSegment) Fill(_, to int64) error {
	info, err := s.Stat()
	if err != nil || info.Size() >= to {
		return err
	}
	return s.Truncate(to)
}

func (unsyncedSegment) Sync() error { return nil }

// faultDisk counts the calls of the file system. It can fail one of them, with the possible partial
// effects of a failing call, and calls a hook for each.
type faultDisk struct {
	unsyncedDisk
	mu     sync.Mutex
	calls  int
	failAt int    // number of the call that fails; 0 for none
	mode   int    // what the failing call leaves behind, see faultSegment
	failed string // name of the call that has failed
	before func(call string)
}

const faultModes = 3

func (d *faultDisk) call(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	if d.before != nil {
		d.before(name)
	}
	if d.calls == d.failAt {
		d.failed = name
		return fmt.Errorf("%w: %s", errFault, name)
	}
	return nil
}

func (d *faultDisk) MakeDir(dir string) error {
	if err := d.call("MakeDir"); err != nil {
		return err
	}
	return d.unsyncedDisk.MakeDir(dir)
}

func (d *faultDisk) ReadDir(dir string) ([]os.DirEntry, error) {
	if err := d.call("ReadDir"); err != nil {
		return nil, err
	}
	return d.unsyncedDisk.ReadDir(dir)
}

func (d *faultDisk) ReadFile(path string, buf []byte) ([]byte, error) {
	if err := d.call("ReadFile"); err != nil {
		return nil, err
	}
	return d.unsyncedDisk.ReadFile(path, buf)
}

func (d *faultDisk) Truncate(path string, size int64) error {
	if err := d.call("Truncate"); err != nil {
		return err
	}
	return d.unsyncedDisk.Truncate(path, size)
}

func (d *faultDisk) Sync(path string) error {
	if err := d.call("SyncFile"); err != nil {
		return err
	}
	return d.unsyncedDisk.Sync(path)
}

func (d *faultDisk) Remove(path string) error {
	if err := d.call("Remove"); err != nil {
		return err
	}
	return d.unsyncedDisk.Remove(path)
}

func (d *faultDisk) SyncDir(dir string) error {
	if err := d.call("SyncDir"); err != nil {
		return err
	}
	return d.unsyncedDisk.SyncDir(dir)
}

func (d *faultDisk) Free(dir string) (int64, error) {
	if err := d.call("Free"); err != nil {
		return 0, err
	}
	return d.unsyncedDisk.Free(dir)
}

func (d *faultDisk) Rename(from, to string) error {
	if err := d.call("Rename"); err != nil {
		return err
	}
	return d.unsyncedDisk.Rename(from, to)
}

func (d *faultDisk) Check(dir string) (last uint64, err error) {
	if err := d.call("Check"); err != nil {
		return 0, err
	}
	return d.unsyncedDisk.Check(dir)
}

func (d *faultDisk) CreateSegment(path string) error {
	if err := d.call("CreateSegment"); err != nil {
		return err
	}
	return d.unsyncedDisk.CreateSegment(path)
}

func (d *faultDisk) OpenSegment(path string, size int64) (segmentFile, error) {
	if err := d.call("OpenSegment"); err != nil {
		return nil, err
	}
	f, err := d.unsyncedDisk.OpenSegment(path, size)
	if err != nil {
		return nil, err
	}
	return &faultSegment{unsyncedSegment: f.(unsyncedSegment), d: d}, nil
}

// faultSegment fails calls for a segment. A failing WriteAt writes nothing, a part of the record or
// all of it; a failing Sync leaves the file as it is, without the unsynced bytes, or with zeros in
// their place.
type faultSegment struct {
	unsyncedSegment
	d *faultDisk
	// begun says that something was written; then synced is the end of what was synced.
	begun   bool
	synced  int64
	written int64
}

func (s *faultSegment) WriteAt(b []byte, offset int64) (int, error) {
	if !s.begun {
		s.begun, s.synced = true, offset
	}
	err := s.d.call("WriteAt")
	if err != nil && s.d.mode < 2 {
		n, werr := s.unsyncedSegment.WriteAt(b[:len(b)/2*s.d.mode], offset)
		return n, errors.Join(err, io.ErrShortWrite, werr)
	}
	n, werr := s.unsyncedSegment.WriteAt(b, offset)
	s.written = offset + int64(n)
	return n, errors.Join(err, werr)
}

func (s *faultSegment) Fill(from, to int64) error {
	if err := s.d.call("Fill"); err != nil {
		return err
	}
	return s.unsyncedSegment.Fill(from, to)
}

func (s *faultSegment) Sync() error {
	if err := s.d.call("Sync"); err != nil {
		s.lose()
		return err
	}
	if s.begun {
		s.synced = s.written
	}
	return s.unsyncedSegment.Sync()
}

func (s *faultSegment) Truncate(size int64) error {
	if err := s.d.call("TruncateSegment"); err != nil {
		return err
	}
	return s.unsyncedSegment.Truncate(size)
}

func (s *faultSegment) Close() error {
	return errors.Join(s.d.call("Close"), s.unsyncedSegment.Close())
}

// lose discards the bytes that were not synced.
func (s *faultSegment) lose() {
	if s.d.mode == 0 {
		return
	}
	info, err := s.Stat()
	if err == nil {
		err = s.unsyncedSegment.Truncate(s.synced)
	}
	if err == nil && s.d.mode == 2 {
		err = s.unsyncedSegment.Truncate(info.Size())
	}
	if err != nil {
		panic(err)
	}
}

// workload runs a small log: several segments, a cut, and a close.
type workload struct {
	t        *testing.T
	l        *Log
	acked    atomic.Uint64
	tried    uint64
	cut      uint64 // largest position that CutBefore was called with
	failures int
	err      error
}

// clock returns a clock that advances by a second with each call.
func clock() func() time.Time {
	var now time.Time
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

func (w *workload) run(dir string, d disk) {
	l, _, err := Open(Options{
		Dir: dir, SegmentBytes: 600, disk: d, now: clock(),
		OnFailure: func(error) { w.failures++ },
	})
	if err != nil {
		w.err = err
		return
	}
	w.l = l
	w.append(12)
	if w.err == nil {
		w.cut = 7
		w.err = l.CutBefore(7)
	}
	w.append(8)
	if w.err != nil && !errors.Is(w.err, errFault) {
		w.t.Fatalf("the cause is not named: %v", w.err)
	}
	if w.err != nil {
		if _, err := l.Append(nil, nil); !errors.Is(err, ErrLatched) {
			w.t.Fatalf("append after a fault: %v", err)
		}
	}
	closed := l.Close()
	if w.err != nil && !errors.Is(closed, ErrLatched) {
		w.t.Fatalf("close after a fault: %v", closed)
	}
	if w.failures > 1 || w.failures == 0 && w.err != nil {
		w.t.Fatalf("OnFailure was called %d times for %v", w.failures, w.err)
	}
}

func (w *workload) append(n int) {
	for i := 0; i < n && w.err == nil; i++ {
		f := newFate()
		pos, err := w.l.Append(entry(w.acked.Load()+1), f)
		if errors.Is(err, ErrNoSpace) {
			pos, err = w.l.Append(entry(w.acked.Load()+1), f)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		w.tried = pos
		f.wait(1)
		if f.mu.errs != nil {
			w.err = f.mu.errs[0]
			return
		}
		w.acked.Store(pos)
	}
}

// checkSurvivor opens the log that is left: all acknowledged entries are there, no others than the
// appended ones, and new entries can be appended.
func (w *workload) checkSurvivor(dir, what string) {
	w.t.Helper()
	l, rec, err := Open(Options{Dir: dir, SegmentBytes: 600, disk: unsyncedDisk{}})
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
	if rec.Last < w.acked.Load() || rec.Last > w.tried || rec.First > max(w.cut, 1) {
		w.t.Fatalf("%s: %d to %d are there; %d acknowledged, %d tried, cut before %d", what,
			rec.First, rec.Last, w.acked.Load(), w.tried, w.cut)
	}
	pos := appendOne(w.t, l)
	if pos != rec.Last+1 {
		w.t.Fatalf("%s: goes on at %d after %d", what, pos, rec.Last)
	}
	mustClose(w.t, l)
	checkRead(w.t, dir, rec.First, pos)
	if rep, err := Verify(dir); err != nil || rep.Last != pos {
		w.t.Fatalf("%s: %+v %v", what, rep, err)
	}
}

func TestEveryCallFailsOnce(t *testing.T) {
	sound := &workload{t: t}
	d := &faultDisk{}
	sound.run(t.TempDir(), d)
	if sound.err != nil || sound.acked.Load() != 20 || d.calls < 60 {
		t.Fatalf("%+v after %d calls", sound, d.calls)
	}
	seen := map[string]bool{}
	for n := 1; n <= d.calls; n++ {
		for mode := range faultModes {
			dir := filepath.Join(t.TempDir(), "log")
			w, d := &workload{t: t}, &faultDisk{failAt: n, mode: mode}
			w.run(dir, d)
			if d.failed == "" {
				continue
			}
			seen[d.failed] = true
			w.checkSurvivor(dir, fmt.Sprintf("call %d (%s) mode %d", n, d.failed, mode))
		}
	}
	for _, name := range []string{"MakeDir", "ReadDir", "Check", "OpenSegment", "CreateSegment",
		"Rename", "SyncDir", "Fill", "WriteAt", "Sync", "TruncateSegment", "Close", "Remove", "Free"} {
		if !seen[name] {
			t.Errorf("%s never failed", name)
		}
	}
}

// TestRepairCallsFailOnce fails each call of an Open that finds segments and a torn tail.
func TestRepairCallsFailOnce(t *testing.T) {
	for n := 1; ; n++ {
		dir := t.TempDir()
		w := &workload{t: t}
		w.run(dir, &faultDisk{})
		tail := tailPath(t, dir)
		appendBytes(t, tail, []byte("\x90\x01PWSL torn"))
		d := &faultDisk{failAt: n}
		l, _, err := Open(Options{Dir: dir, disk: d})
		if err == nil {
			failed := d.failed
			d.failAt = 0
			mustClose(t, l)
			if failed == "" {
				break
			}
			// Without the free space, no space is reserved.
			if failed != "Free" {
				t.Fatalf("%s failed and Open did not", failed)
			}
			w.checkSurvivor(dir, fmt.Sprintf("open call %d (%s)", n, failed))
			continue
		}
		if !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		w.checkSurvivor(dir, fmt.Sprintf("open call %d (%s)", n, d.failed))
	}
}

// copyLog copies the segments through a filter that may shorten them; nil omits a segment.
func copyLog(t testing.TB, from, to string, filter func(path string, data []byte) []byte) {
	t.Helper()
	segs, err := listSegments(osDisk{}, from)
	if err != nil {
		t.Fatal(err)
	}
	for _, seg := range segs {
		data, err := os.ReadFile(seg.path)
		if err != nil {
			t.Fatal(err)
		}
		if data = filter(seg.path, data); data == nil {
			continue
		}
		err = os.WriteFile(filepath.Join(to, filepath.Base(seg.path)), data, 0o640)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func tailPath(t testing.TB, dir string) string {
	t.Helper()
	segs, err := listSegments(osDisk{}, dir)
	if err != nil || len(segs) == 0 {
		t.Fatal(len(segs), err)
	}
	return segs[len(segs)-1].path
}

func appendBytes(t testing.TB, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
