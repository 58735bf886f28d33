package snapshot

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"pws/internal/disk/disktest"
)

// storeOf makes a store of one file whose sections have the same keys, positions and lengths
// whatever the words: a directory that was restored and went on differently has such files.
func storeOf(t *testing.T, words string) *disktest.Disk {
	t.Helper()
	d := disktest.New()
	s := mustOpen(t, Options{Dir: "d", disk: d})
	w, err := s.Begin()
	for _, key := range []string{"one", "two"} {
		if err == nil {
			err = w.Put("p-"+key, 7, []byte(key+" "+words))
		}
	}
	if err == nil {
		err = w.Commit(7)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	return d
}

// wantRefused expects Verify to find damage in a file, and no read to give anything but what was
// written: damage that names the file.
func wantRefused(t *testing.T, d *disktest.Disk, name string, want map[string]string) {
	t.Helper()
	var c *CorruptError
	if _, err := verify(d, "d"); !errors.As(err, &c) || c.File != name {
		t.Errorf("verify: %v", err)
	}
	s, err := Open(Options{Dir: "d", disk: d})
	if err != nil {
		if !errors.As(err, &c) || c.File != name {
			t.Errorf("open: %v", err)
		}
		return
	}
	defer s.Close()
	for key, content := range want {
		data, _, ok, err := s.Read(key)
		if err != nil && (!errors.As(err, &c) || c.File != name) ||
			err == nil && (!ok || string(data) != content) {
			t.Errorf("%s reads as %q, %v", key, data, err)
		}
	}
}

// TestReplacedFileIsRejected puts a whole section file in the place of one with the same
// number, length, keys and positions.
func TestReplacedFileIsRejected(t *testing.T) {
	name := "d/" + sectionsName(1)
	d, other := storeOf(t, "as it is."), storeOf(t, "as it was")
	if n, m := len(d.Files()[name].Data), len(other.Files()[name].Data); n != m {
		t.Fatalf("files of %d and of %d bytes", n, m)
	}
	if _, err := verify(other, "d"); err != nil {
		t.Fatal(err)
	}
	d.Put(name, other.Files()[name].Data)
	wantRefused(t, d, name, map[string]string{"p-one": "one as it is.", "p-two": "two as it is."})
	if _, err := Open(Options{Dir: "d", disk: d}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("open: %v", err)
	}
}

// TestReplacedSectionIsRejected puts a section in the place of one with the same key, position
// and length: once of a file of another time, once of another file of the same store.
func TestReplacedSectionIsRejected(t *testing.T) {
	name := "d/" + sectionsName(1)
	want := map[string]string{"p-one": "one as it is.", "p-two": "two as it is."}
	place := func(d *disktest.Disk, name, key string) (offset, size int) {
		s := mustOpen(t, Options{Dir: "d", disk: d.AfterCrash(disktest.CrashKeepsAll)})
		defer s.Close()
		e, ok := s.state.Load().find(key)
		if !ok || s.state.Load().file(e.file).name != name {
			t.Fatalf("%s is not in %s", key, name)
		}
		return int(e.offset), int(e.size)
	}
	d, other := storeOf(t, "as it is."), storeOf(t, "as it was")
	at, size := place(d, name, "p-two")
	if n, m := place(other, name, "p-two"); n != at || m != size {
		t.Fatalf("sections at %d+%d and at %d+%d", at, size, n, m)
	}
	copy(d.Files()[name].Data[at:at+size], other.Files()[name].Data[at:])
	wantRefused(t, d, name, want)

	d = storeOf(t, "as it is.")
	s := mustOpen(t, Options{Dir: "d", disk: d})
	mustRun(t, s, 7, map[string]string{"p-two": "two as it was"})
	s.Close()
	newer := "d/" + sectionsName(2)
	at, size = place(d, newer, "p-two")
	old := d.Files()[name].Data
	content := []byte("two as it is.")
	for from := range old {
		if string(old[from:min(from+len(content), len(old))]) == string(content) {
			start := from - sectionHeadBytes - len("p-two")
			copy(d.Files()[newer].Data[at:at+size], old[start:])
		}
	}
	wantRefused(t, d, newer, map[string]string{"p-one": "one as it is.", "p-two": "two as it was"})
}

// TestFilesOfVersion1AreMigrated opens a store of the first format version, and has all its
// sections moved into files of the newest one.
func TestFilesOfVersion1AreMigrated(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/v1")); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, Options{Dir: dir, FilesMax: 2})
	want := contents(t, s)
	if len(want) != 3 {
		t.Fatalf("%q", want)
	}
	for n := range 4 {
		want["new"] = fmt.Sprint(n)
		mustRun(t, s, uint64(30+n), map[string]string{"new": want["new"]})
		wantContents(t, s, want)
		if _, err := os.Stat(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range s.state.Load().files {
		if f.number <= 2 {
			t.Errorf("%s is still there", f.name)
		}
	}
	s.Close()
	if _, err := Verify(dir); err != nil {
		t.Fatal(err)
	}
	wantContents(t, mustOpen(t, Options{Dir: dir}), want)
}
