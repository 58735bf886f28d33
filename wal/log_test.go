package wal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fate collects the calls of Committed.
type fate struct {
	mu struct {
		sync.Mutex
		acked  []uint64
		failed []uint64
		errs   []error
	}
	c chan struct{}
}

func newFate() *fate { return &fate{c: make(chan struct{}, 1<<16)} }

func (f *fate) Committed(pos uint64, err error) {
	f.mu.Lock()
	if err == nil {
		f.mu.acked = append(f.mu.acked, pos)
	} else {
		f.mu.failed = append(f.mu.failed, pos)
		f.mu.errs = append(f.mu.errs, err)
	}
	f.mu.Unlock()
	f.c <- struct{}{}
}

func (f *fate) wait(n int) {
	for range n {
		<-f.c
	}
}

func mustOpen(t testing.TB, o Options) (*Log, *Recovery) {
	t.Helper()
	l, rec, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l, rec
}

func mustClose(t testing.TB, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// entry returns the content that every test writes at a position.
func entry(pos uint64) []byte {
	return fmt.Appendf(nil, "entry %d %s", pos, strings.Repeat("x", int(pos%7)*10))
}

// appendOne appends the entry of the next position and waits for it.
func appendOne(t testing.TB, l *Log) uint64 {
	t.Helper()
	f := newFate()
	pos, err := l.Append(entry(l.Stats().Last+1), f)
	if err != nil {
		t.Fatal(err)
	}
	f.wait(1)
	if f.mu.errs != nil {
		t.Fatal(f.mu.errs[0])
	}
	return pos
}

// checkRead reads a log offline and fails unless it contains exactly the entries from first to
// last.
func checkRead(t testing.TB, dir string, first, last uint64) {
	t.Helper()
	want := first
	err := Read(dir, 0, func(pos uint64, payload []byte) error {
		if pos != want || !bytes.Equal(payload, entry(pos)) {
			return fmt.Errorf("position %d holds %q, wanted %d", pos, payload, want)
		}
		want++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want != last+1 {
		t.Fatalf("log ends at %d, wanted %d", want-1, last)
	}
}

func TestAppendReopenReplay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "log")
	l, rec := mustOpen(t, Options{Dir: dir, SegmentBytes: 300})
	if rec.First != 1 || rec.Last != 0 || rec.TornBytes != 0 {
		t.Fatalf("new log: %+v", rec)
	}
	for want := uint64(1); want <= 30; want++ {
		if pos := appendOne(t, l); pos != want {
			t.Fatalf("position %d, wanted %d", pos, want)
		}
	}
	if err := l.Replay(0, nil); !errors.Is(err, errReplayOrder) {
		t.Fatal(err)
	}
	st := l.Stats()
	mustClose(t, l)
	if st.First != 1 || st.Last != 30 || l.Durable() != 30 || st.Batches != 30 || st.Entries != 30 {
		t.Fatalf("%+v", st)
	}
	if got := diskBytes(t, dir); got != st.Bytes {
		t.Fatalf("%d bytes on disk, Stats says %d", got, st.Bytes)
	}
	checkRead(t, dir, 1, 30)

	l, rec = mustOpen(t, Options{Dir: dir, SegmentBytes: 300})
	defer mustClose(t, l)
	if rec.First != 1 || rec.Last != 30 || rec.Segments != st.Segments || rec.Bytes != st.Bytes {
		t.Fatalf("%+v", rec)
	}
	for from := uint64(0); from <= 31; from++ {
		want := max(from, 1)
		err := l.Replay(from, func(pos uint64, payload []byte) error {
			if pos != want || !bytes.Equal(payload, entry(pos)) {
				return fmt.Errorf("position %d holds %q", pos, payload)
			}
			want++
			return nil
		})
		if err != nil || want != 31 {
			t.Fatalf("from %d: %v, end %d", from, err, want)
		}
	}
	if err := l.Replay(32, nil); !errors.Is(err, ErrOutOfRange) {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	if err := l.Replay(5, func(uint64, []byte) error { return stop }); err != stop {
		t.Fatal(err)
	}
	if pos := appendOne(t, l); pos != 31 {
		t.Fatalf("position %d", pos)
	}
}

func diskBytes(t testing.TB, dir string) int64 {
	t.Helper()
	segs, err := listSegments(osDisk{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, s := range segs {
		info, err := os.Stat(s.path)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

func TestConcurrentOrder(t *testing.T) {
	l, _ := mustOpen(t, Options{Dir: t.TempDir(), SegmentBytes: 4096, batchBytesMax: 1000})
	const writers, each = 16, 200
	f := newFate()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			last := uint64(0)
			for i := range each {
				pos, err := l.Append(fmt.Appendf(nil, "%d %d", w, i), f)
				if err != nil || pos <= last {
					t.Errorf("position %d after %d: %v", pos, last, err)
					return
				}
				last = pos
			}
		})
	}
	wg.Wait()
	f.wait(writers * each)
	for i, pos := range f.mu.acked {
		if pos != uint64(i)+1 {
			t.Fatalf("callback %d is for position %d", i, pos)
		}
	}
	mustClose(t, l)
	if l.Durable() != writers*each {
		t.Fatal(l.Durable())
	}
	next := map[int]int{}
	err := Read(l.opts.Dir, 1, func(_ uint64, p []byte) error {
		var w, i int
		if _, err := fmt.Sscanf(string(p), "%d %d", &w, &i); err != nil {
			return err
		}
		if next[w] != i {
			return fmt.Errorf("writer %d: entry %d where %d is due", w, i, next[w])
		}
		next[w]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	dir := t.TempDir()
	l, _ := mustOpen(t, Options{Dir: dir})
	if _, _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Fatal(err)
	} else if !strings.Contains(err.Error(), dir) {
		t.Fatalf("the directory is not named: %v", err)
	}
	appendOne(t, l)
	if rep, err := Verify(dir); err != nil || rep.Entries != 1 {
		t.Fatalf("%+v %v", rep, err)
	}
	mustClose(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(nil, nil); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if err := l.CutBefore(1); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if err := l.Replay(0, nil); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	l, _ = mustOpen(t, Options{Dir: dir})
	mustClose(t, l)
}
