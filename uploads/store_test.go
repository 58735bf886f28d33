package uploads

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"pws/internal/disk"
	"pws/internal/disk/disktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	one, two = Key{1}, Key{2}
	record   = []byte("record")
)

func openOn(t testing.TB, d disk.Disk, most int64) *Store {
	t.Helper()
	s, err := Open(Options{Dir: "d", BytesMax: most, disk: d})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustPut(t testing.TB, s *Store, key Key, number uint32, content []byte) Part {
	t.Helper()
	part, err := s.Put(key, number, 7, content)
	if err != nil {
		t.Fatal(err)
	}
	return part
}

func mustRead(t testing.TB, s *Store, key Key, number uint32, want []byte) {
	t.Helper()
	if got, err := s.Read(key, number); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("number %d has %d bytes, want %d: %v", number, len(got), len(want), err)
	}
}

func noiseOf(size int) []byte {
	noise := make([]byte, size)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	return noise
}

// TestPartsSurviveAnotherStart puts, replaces and removes parts, and finds the same AFTER another
// start.
func TestPartsSurviveAnotherStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "uploads")
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	noise := noiseOf(9000)
	text := []byte(strings.Repeat("a text that compresses well. ", 4000))
	if _, err := s.Put(one, 1, 7, text); !errors.Is(err, ErrNotFound) {
		t.Errorf("a part without a record: %v", err)
	}
	mustPut(t, s, one, RecordNumber, record)
	mustPut(t, s, two, RecordNumber, nil)
	mustPut(t, s, one, 2, []byte("replaced"))
	mustPut(t, s, one, 12, noise)
	part := mustPut(t, s, one, 2, text)
	if part.Size != len(text) || part.At != 7 || part.SHA256 != sha256.Sum256(text) {
		t.Errorf("%+v", part)
	}
	mustPut(t, s, one, NoteNumber, []byte("note"))
	check := func(s *Store) {
		t.Helper()
		parts := s.Parts(one)
		if len(parts) != 2 || parts[0] != part || parts[1].Number != 12 || len(s.Keys()) != 2 {
			t.Fatalf("%+v", parts)
		}
		mustRead(t, s, one, 2, text)
		mustRead(t, s, one, 12, noise)
		mustRead(t, s, one, NoteNumber, []byte("note"))
		mustRead(t, s, one, RecordNumber, record)
		mustRead(t, s, two, RecordNumber, []byte{})
		if bytes := s.Bytes(); bytes < 9000 || bytes > 20_000 {
			t.Errorf("%d bytes", bytes)
		}
	}
	check(s)
	before := s.Bytes()
	if _, err := Verify(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("verify of an open store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := Verify(dir)
	if err != nil || report.Uploads != 2 || report.Parts != 2 || report.Bytes != before {
		t.Errorf("%+v, %v", report, err)
	}
	if s, err = Open(Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check(s)
	if err := s.RemoveParts(one); err != nil || len(s.Parts(one)) != 0 {
		t.Errorf("%+v, %v", s.Parts(one), err)
	}
	mustRead(t, s, one, RecordNumber, record)
	for _, key := range []Key{one, two, two} {
		if err := s.Remove(key); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Put(one, 1, 7, text); !errors.Is(err, ErrNotFound) || s.Bytes() != 0 {
		t.Errorf("%d bytes are left: %v", s.Bytes(), err)
	}
	if names, err := (disk.OS{}).List(dir); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// TestUploadsAreBoundedByRoom refuses what is beyond the bound, and takes what replaces something
// smaller within it.
func TestUploadsAreBoundedByRoom(t *testing.T) {
	d := disktest.New()
	s := openOn(t, d, 3*headBytes+30)
	mustPut(t, s, one, RecordNumber, record)
	mustPut(t, s, one, 1, []byte("0123456789"))
	if _, err := s.Put(one, 2, 7, []byte("0123456789012345678")); !errors.Is(err, ErrFull) {
		t.Errorf("beyond the bound: %v", err)
	}
	mustPut(t, s, one, 2, []byte("01234567890123"))
	if _, err := s.Put(two, RecordNumber, 7, nil); !errors.Is(err, ErrFull) || len(s.Keys()) != 1 {
		t.Errorf("another upload: %v", err)
	}
	if err := s.RemoveParts(one); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, one, 9, []byte("01234567890123456789"))
}

// TestEveryByteIsGuarded flips each byte of a part: it is then found by Open or by Read, named by
// Verify, and never served.
func TestEveryByteIsGuarded(t *testing.T) {
	end := disktest.New()
	s := openOn(t, end, 0)
	mustPut(t, s, one, RecordNumber, record)
	mustPut(t, s, one, 1, []byte("some content of a part"))
	name := filepath.Join("d", fileName(one, 1))
	whole := end.Files()[name].Data
	for i := range whole {
		d := end.AfterCrash(disktest.CrashKeepsAll)
		changed := bytes.Clone(whole)
		changed[i] ^= 1 << (i % 8)
		d.Put(name, changed)
		var damage *disk.CorruptError
		if _, err := verify(d, "d"); !errors.As(err, &damage) || damage.File != name {
			t.Fatalf("byte %d: verify: %v", i, err)
		}
		s := openOn(t, d, 0)
		got, err := s.Read(one, 1)
		switch {
		case len(s.Damage()) == 1 && errors.Is(err, ErrNotFound):
			if files := d.Files(); files[name] != nil {
				t.Fatalf("byte %d: a damaged file is kept", i)
			}
		case len(s.Damage()) > 0 || !errors.Is(err, ErrCorrupt):
			t.Fatalf("byte %d: %q, %v", i, got, err)
		}
		mustRead(t, s, one, RecordNumber, record)
	}
}

// step is one change of the story below, and what there is AFTER it.
type step struct {
	do   func(s *Store) error
	want map[string]string
}

func story() []step {
	put := func(key Key, number uint32, content string) func(*Store) error {
		return func(s *Store) error {
			_, err := s.Put(key, number, 7, []byte(content))
			return err
		}
	}
	name := fileName
	return []step{
		{put(one, RecordNumber, "r"), map[string]string{name(one, 0): "r"}},
		{put(one, 1, "a"), map[string]string{name(one, 0): "r", name(one, 1): "a"}},
		{put(one, 2, "b"), map[string]string{
			name(one, 0): "r", name(one, 1): "a", name(one, 2): "b",
		}},
		{put(one, 1, "c"), map[string]string{
			name(one, 0): "r", name(one, 1): "c", name(one, 2): "b",
		}},
		{put(one, RecordNumber, "s"), map[string]string{
			name(one, 0): "s", name(one, 1): "c", name(one, 2): "b",
		}},
		{put(two, RecordNumber, "q"), map[string]string{
			name(one, 0): "s", name(one, 1): "c", name(one, 2): "b", name(two, 0): "q",
		}},
		{func(s *Store) error { return s.RemoveParts(one) }, map[string]string{
			name(one, 0): "s", name(two, 0): "q",
		}},
		{put(two, 3, "d"), map[string]string{
			name(one, 0): "s", name(two, 0): "q", name(two, 3): "d",
		}},
		{func(s *Store) error { return s.Remove(two) }, map[string]string{name(one, 0): "s"}},
	}
}

// contents are all that a store serves.
func contents(t testing.TB, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, key := range s.Keys() {
		for number := range uint32(4) {
			content, err := s.Read(key, number)
			if err == nil {
				all[fileName(key, number)] = string(content)
			} else if !errors.Is(err, ErrNotFound) {
				t.Fatal(err)
			}
		}
	}
	return all
}

// sizeOf is what files with some contents take.
func sizeOf(contents map[string]string) (size int64) {
	for _, content := range contents {
		size += headBytes + int64(len(content))
	}
	return size
}

// within reports whether each content is that before or AFTER a step, and those that are in both
// are there.
func within(got, before, after map[string]string) bool {
	for name, content := range got {
		if before[name] != content && after[name] != content {
			return false
		}
	}
	for name, content := range before {
		if kept := after[name] == content; kept && got[name] != content {
			return false
		}
	}
	return true
}

// TestCrashAtEveryStep stops the machine at every operation of the story, in three ways, and has
// each operation fail once. What was confirmed is there.
func TestCrashAtEveryStep(t *testing.T) {
	steps := story()
	for i := 1; ; i++ {
		for _, crash := range []bool{true, false} {
			d := disktest.New()
			if d.FailAt = i; crash {
				d.FailAt, d.CrashAt = 0, i
			}
			done := 0
			s, err := Open(Options{Dir: "d", disk: d})
			if err == nil {
				for done < len(steps) && steps[done].do(s) == nil {
					done++
				}
				s.Close()
			}
			before := map[string]string{}
			if done > 0 {
				before = steps[done-1].want
			}
			after := before
			if done < len(steps) {
				after = steps[done].want
			}
			for kind := range disktest.CrashKinds {
				again := openOn(t, d.AfterCrash(kind), 0)
				if got := contents(t, again); !within(got, before, after) ||
					len(again.Damage()) > 0 {
					t.Fatalf("stop at %d, kind %d, after step %d: %v", i, kind, done, got)
				}
				if size := sizeOf(contents(t, again)); again.Bytes() != size {
					t.Fatalf("stop at %d: %d bytes, want %d", i, again.Bytes(), size)
				}
			}
			if err == nil && !crash {
				if got := contents(t, s); !within(got, before, after) {
					t.Fatalf("failure %d, after step %d: %v", i, done, got)
				}
				retry(t, s, d, steps[done:])
			}
			if d.Ops < i && done == len(steps) {
				if i < 20 {
					t.Fatalf("the story has %d operations", d.Ops)
				}
				return
			}
		}
	}
}

// TestWhatAStartListsIsDurable kills the process at every step. What the next start lists survives
// a power loss right AFTER it.
func TestWhatAStartListsIsDurable(t *testing.T) {
	steps := story()
	for i := 1; ; i++ {
		d := disktest.New()
		d.CrashAt = i
		if s, err := Open(Options{Dir: "d", disk: d}); err == nil {
			for done := 0; done < len(steps) && steps[done].do(s) == nil; {
				done++
			}
			s.Close()
		}
		if d.Ops < i {
			return
		}
		killed := d.AfterKill()
		listed := contents(t, openOn(t, killed, 0))
		for kind := range disktest.CrashKinds {
			got := contents(t, openOn(t, killed.AfterCrash(kind), 0))
			if !within(got, listed, listed) {
				t.Fatalf("kill at %d, kind %d: %v, and %v was listed", i, kind, got, listed)
			}
		}
	}
}

// retry goes on with a store in which an operation of the disk has failed. No file is forgotten
// that is still there.
func retry(t *testing.T, s *Store, d *disktest.Disk, steps []step) {
	t.Helper()
	d.FailAt = 0
	contents(t, s)
	for _, one := range steps {
		if err := one.do(s); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, s); !within(got, one.want, one.want) || s.Bytes() != sizeOf(one.want) {
			t.Fatalf("%d bytes, %v, want %v", s.Bytes(), got, one.want)
		}
		if files := d.Files(); len(files) != len(one.want) {
			t.Fatalf("%d files are left, want %v", len(files), one.want)
		}
	}
}
