package snapshot

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// wantScan checks that scans find what Read does.
func wantScan(t testing.TB, s *Store, want map[string]string) {
	t.Helper()
	for _, of := range []struct {
		prefix string
		keyLen int
	}{{"", 2}, {"p", 2}, {"p", 5}, {"p1", 5}, {"nowhere", 8}} {
		got, positions := scanned(t, s, of.prefix, of.keyLen)
		there := 0
		for key, data := range want {
			if !strings.HasPrefix(key, of.prefix) || len(key) != of.keyLen {
				continue
			}
			there++
			position, _ := s.SectionPosition(key)
			if got[key] != data || positions[key] != position {
				t.Fatalf("a scan of %v found %q with %d bytes of position %d", of, key,
					len(got[key]), positions[key])
			}
		}
		if len(got) != there {
			t.Fatalf("a scan of %v found %d sections instead of %d", of, len(got), there)
		}
	}
}

func scanned(t testing.TB, s *Store, prefix string, keyLen int) (
	data map[string]string, positions map[string]uint64,
) {
	t.Helper()
	data, positions = map[string]string{}, map[string]uint64{}
	var mu sync.Mutex
	err := s.Scan(prefix, keyLen, func(one Section) error {
		mu.Lock()
		defer mu.Unlock()
		key := string(one.Key)
		if _, twice := data[key]; twice {
			return fmt.Errorf("%q was found twice", key)
		}
		data[key], positions[key] = string(one.Data), one.Position
		return nil
	})
	if err != nil {
		t.Fatalf("scan of %q: %v", prefix, err)
	}
	return data, positions
}

// TestScanOfManyFiles has sections of several runs between each other, far from each other, and
// larger than a piece.
func TestScanOfManyFiles(t *testing.T) {
	s := mustOpen(t, Options{Dir: t.TempDir()})
	want := map[string]string{}
	for run := range 5 {
		put := map[string]string{}
		for i := run; i < 3000; i += 1 + run*3 {
			put[fmt.Sprintf("p%04d", i)] = strings.Repeat(fmt.Sprint(run, i), 1+i%97*(i%13))
		}
		put[fmt.Sprintf("p%04d", 7*run)] = strings.Repeat("large", scanPieceBytes/4)
		mustRun(t, s, uint64(run+1), put)
		for key, data := range put {
			want[key] = data
		}
	}
	wantContents(t, s, want)
}

// TestScanWhileFilesAreRemoved commits runs that move every section, until the file that a scan
// reads is closed and removed.
func TestScanWhileFilesAreRemoved(t *testing.T) {
	s := mustOpen(t, Options{Dir: t.TempDir(), CompactionBytes: 64 << 20, FilesMax: 2})
	put := map[string]string{}
	for i := range 2000 {
		put[fmt.Sprintf("p%04d", i)] = strings.Repeat("x", 1000)
	}
	mustRun(t, s, 1, put)
	var once sync.Once
	found := map[string]bool{}
	var mu sync.Mutex
	err := s.Scan("p", 5, func(one Section) error {
		once.Do(func() {
			for run := range uint64(4) {
				mustRun(t, s, 2+run, put)
			}
		})
		mu.Lock()
		defer mu.Unlock()
		found[string(one.Key)] = true
		if string(one.Data) != put[string(one.Key)] {
			return errors.New("other data")
		}
		return nil
	})
	if err != nil || len(found) != len(put) {
		t.Fatalf("%d of %d sections, error %v", len(found), len(put), err)
	}
}

func TestScanEndsWithTheFirstError(t *testing.T) {
	s := mustOpen(t, Options{Dir: t.TempDir()})
	put := map[string]string{}
	for i := range 1000 {
		put[fmt.Sprintf("p%04d", i)] = strings.Repeat("x", 10_000)
	}
	mustRun(t, s, 1, put)
	fault := errors.New("enough")
	if err := s.Scan("p", 5, func(Section) error { return fault }); err != fault {
		t.Fatalf("the scan returned %v", err)
	}
	s.Close()
	if err := s.Scan("p", 5, func(Section) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Fatalf("a scan of a closed store returned %v", err)
	}
}
