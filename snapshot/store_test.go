package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustOpen(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustRun(t testing.TB, s *Store, position uint64, put map[string]string, gone ...string) {
	t.Helper()
	w, err := s.Begin()
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	for k, v := range put {
		if err := w.Put(k, position, []byte(v)); err != nil {
			t.Fatalf("put %q: %v", k, err)
		}
	}
	for _, k := range gone {
		if err := w.Delete(k); err != nil {
			t.Fatalf("delete %q: %v", k, err)
		}
	}
	if err := w.Commit(position); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

// contents reads all there is, and checks that Keys, SectionPosition and Read agree.
func contents(t testing.TB, s *Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	last := ""
	s.Keys("", func(key string, position uint64) bool {
		if key <= last {
			t.Fatalf("keys out of order: %q after %q", key, last)
		}
		last = key
		data, p, ok, err := s.Read(key)
		if err != nil || !ok || p != position {
			t.Fatalf("read %q: position %d instead of %d, ok %v, %v", key, p, position, ok, err)
		}
		if p, ok := s.SectionPosition(key); !ok || p != position {
			t.Fatalf("position of %q: %d %v", key, p, ok)
		}
		out[key] = string(data)
		return true
	})
	wantScan(t, s, out)
	if n := s.Stats().Sections; n != len(out) {
		t.Fatalf("stats say %d sections, keys gave %d", n, len(out))
	}
	return out
}

func wantContents(t testing.TB, s *Store, want map[string]string) {
	t.Helper()
	got := contents(t, s)
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			t.Fatalf("section %q: %d bytes (present %v), want %d", k, len(g), ok, len(v))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d sections instead of %d", len(got), len(want))
	}
}

func TestRoundTripAndReopen(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, Options{Dir: dir})
	if s.Position() != 0 || s.Generation() != 0 {
		t.Fatal("an empty store covers something")
	}
	big := string(bytes.Repeat([]byte("0123456789abcdef"), 1<<16))
	mustRun(t, s, 7, map[string]string{"p1": "one", "p2": "", "p3": big, "q": "x"})
	mustRun(t, s, 9, map[string]string{"p1": "uno"}, "q", "never there")
	mustRun(t, s, 12, nil)
	want := map[string]string{"p1": "uno", "p2": "", "p3": big}
	wantContents(t, s, want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(dir); err != nil {
		t.Fatalf("verify: %v", err)
	}
	s = mustOpen(t, Options{Dir: dir})
	if s.Position() != 12 || s.Generation() != 3 {
		t.Fatalf("position %d generation %d", s.Position(), s.Generation())
	}
	wantContents(t, s, want)
	if p, ok := s.SectionPosition("p3"); !ok || p != 7 {
		t.Fatalf("position of p3 is %d %v", p, ok)
	}
	var keys []string
	s.Keys("p", func(k string, _ uint64) bool { keys = append(keys, k); return len(keys) < 2 })
	if fmt.Sprint(keys) != "[p1 p2]" {
		t.Fatalf("keys %v", keys)
	}
}

func TestRunRules(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, Options{Dir: dir})
	mustRun(t, s, 5, map[string]string{"a": "1"})
	w, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(); !errors.Is(err, ErrBusy) {
		t.Fatalf("second run: %v", err)
	}
	if err := w.Put(string(make([]byte, 65)), 1, nil); err == nil {
		t.Fatal("a key of 65 bytes was taken")
	}
	if err := w.Put("a", 6, []byte("2")); err != nil {
		t.Fatal(err)
	}
	if err := w.Put("a", 6, []byte("3")); err != nil {
		t.Fatal(err)
	}
	wantContents(t, s, map[string]string{"a": "1"})
	if err := w.Commit(4); err == nil {
		t.Fatal("the position went back")
	}
	if err := w.Commit(8); !errors.Is(err, ErrClosed) {
		t.Fatalf("commit after commit: %v", err)
	}
	w, _ = s.Begin()
	w.Put("b", 6, []byte("2"))
	w.Abort()
	wantContents(t, s, map[string]string{"a": "1"})
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Fatalf("second store: %v", err)
	}
	if _, err := Verify(dir); !errors.Is(err, ErrLocked) {
		t.Fatalf("verify of an open store: %v", err)
	}
	s.Close()
	if _, err := s.Begin(); !errors.Is(err, ErrClosed) {
		t.Fatalf("run of a closed store: %v", err)
	}
	if _, _, _, err := s.Read("a"); !errors.Is(err, ErrClosed) {
		t.Fatalf("read of a closed store: %v", err)
	}
}

// TestReadersDuringRuns has readers that never see a mixture while runs commit and compact.
func TestReadersDuringRuns(t *testing.T) {
	s := mustOpen(t, Options{Dir: t.TempDir(), FilesMax: 3, CompactionBytes: 1000})
	mustRun(t, s, 1, map[string]string{"a": "1", "b": "1", "still": "0"})
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			last := uint64(0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, key := range []string{"a", "b", "still"} {
					data, position, ok, err := s.Read(key)
					if err != nil || !ok {
						t.Errorf("read %s: %v %v", key, ok, err)
						return
					}
					if key != "still" && string(data) != fmt.Sprint(position) {
						t.Errorf("%s is %q at position %d", key, data, position)
					}
					if key == "a" && position < last {
						t.Errorf("position %d after %d", position, last)
					}
					if key == "a" {
						last = position
					}
				}
				s.Keys("", func(string, uint64) bool { return true })
				s.Stats()
			}
		})
	}
	for i := 2; i < 60; i++ {
		v := fmt.Sprint(i)
		mustRun(t, s, uint64(i), map[string]string{"a": v, "b": v, "x" + v: v}, fmt.Sprint("x", i-1))
	}
	close(stop)
	readers.Wait()
}
