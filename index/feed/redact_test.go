package feed

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"pws/internal/disk"
	"pws/internal/disk/disktest"
	"pws/internal/id"
	"pws/work"
)

// redactedLog has several files with records of six projects, each with its own text.
func redactedLog(t testing.TB, o Options) (*Log, []Record) {
	t.Helper()
	o.Events = 4096
	l := reopen(t, o)
	var all []Record
	for entry := uint64(1); entry <= 2000; entry++ {
		of := int(entry % 6)
		one := recordOf(At(entry, 0, 0), project(of), int64(entry))
		text := "text of nobody"
		if of == 1 {
			text = "xylophone"
		}
		one.Activity.Facts = []work.Fact{{Name: work.FactVisibility, Text: text}}
		all = append(all, one)
		if entry%100 == 0 {
			if err := l.Append(all[entry-100:], entry); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	return l, all
}

// checkRedacted reads all records: those of one project have no facts.
func checkRedacted(t testing.TB, l *Log, all []Record) {
	t.Helper()
	page, err := l.Read(Query{After: Start, Limit: len(all)})
	if err != nil || len(page.Records) != len(all) {
		t.Fatalf("%d records, %v", len(page.Records), err)
	}
	for i, got := range page.Records {
		want := all[i]
		if want.Project == project(1) {
			want.Activity.Facts = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
}

// TestRedactedTextsLeaveAllFiles removes the texts of one project from all files, while a reader
// has an old view; the log goes on, and is read again.
func TestRedactedTextsLeaveAllFiles(t *testing.T) {
	dir := t.TempDir()
	l, all := redactedLog(t, Options{Dir: dir, Newest: 1})
	if name, err := disktest.Holding(dir, "xylophone"); err != nil || name == "" {
		t.Fatalf("%q, %v", name, err)
	}
	redact := func() {
		for range 2 {
			if err := l.Redact(map[id.ID]bool{project(1): true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var seen []Position
	err := l.Newest(EndOf(1<<60), []id.ID{project(1), project(2)}, func(record *Record) Step {
		if seen = append(seen, record.Position); len(seen) == 3 {
			redact()
		}
		if record.Project == project(1) && len(seen) > 10 {
			return Leave
		}
		return Next
	})
	var want []Position
	left := false
	for _, one := range slices.Backward(all) {
		if one.Project == project(2) || one.Project == project(1) && !left {
			want = append(want, one.Position)
			left = left || one.Project == project(1) && len(want) > 10
		}
	}
	if err != nil || !slices.Equal(seen, want) {
		t.Fatalf("a reader at the time sees %d records, %v", len(seen), err)
	}
	if name, err := disktest.Holding(dir, "xylophone"); err != nil || name != "" {
		t.Fatalf("%q, %v", name, err)
	}
	checkRedacted(t, l, all)
	if n := l.Stats().Files; n < 5 {
		t.Errorf("%d files", n)
	}
	more := recordOf(At(2001, 0, 0), project(2), 2001)
	if err := l.Append([]Record{more}, 2001); err != nil {
		t.Fatal(err)
	}
	all = append(all, more)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := Verify(dir); err != nil || report.Records != uint64(len(all)) {
		t.Errorf("%+v, %v", report, err)
	}
	checkRedacted(t, reopen(t, Options{Dir: dir, Events: 4096}), all)
}

// TestRedactFails has each operation of the disk fail: the log can be opened, and redacted again.
func TestRedactFails(t *testing.T) {
	for nth := 0; ; nth++ {
		dir := t.TempDir()
		failing := &failAt{Disk: disk.OS{}, left: -1}
		l, all := redactedLog(t, Options{Dir: dir, Newest: 1, Disk: failing})
		failing.left = nth
		err := l.Redact(map[id.ID]bool{project(1): true})
		failed := failing.left < 0
		failing.left = -1
		// A failed sync leaves the log unusable.
		_ = l.Close()
		if err == nil && failed {
			t.Fatalf("the failure of operation %d is not noticed", nth)
		}
		again := reopen(t, Options{Dir: dir, Events: 4096})
		if err := again.Redact(map[id.ID]bool{project(1): true}); err != nil {
			t.Fatalf("after the failure of operation %d: %v", nth, err)
		}
		if name, err := disktest.Holding(dir, "xylophone"); err != nil || name != "" {
			t.Errorf("after the failure of operation %d: %q, %v", nth, filepath.Base(name), err)
		}
		checkRedacted(t, again, all)
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if !failed {
			if nth < 10 {
				t.Errorf("%d operations", nth)
			}
			return
		}
	}
}

// TestRedactTornTails has blocks that a crash, or a write that failed, has left behind the valid
// part of a file: no text of them stays.
func TestRedactTornTails(t *testing.T) {
	facts := []work.Fact{{Name: work.FactVisibility, Text: "xylophone"}}
	var others, secrets []Record
	for entry := uint64(1); entry <= blockRecords; entry++ {
		others = append(others, recordOf(At(entry, 0, 0), project(2), int64(entry)))
		one := recordOf(At(blockRecords+entry, 0, 0), project(1), int64(blockRecords+entry))
		one.Activity.Facts = facts
		secrets = append(secrets, one)
	}
	for _, crashes := range []bool{true, false} {
		d := disktest.New()
		full := &fullDisk{Disk: d}
		l := reopen(t, Options{Dir: "/feed", Disk: full})
		err := errors.Join(l.Append(others, blockRecords), l.Sync())
		full.is = !crashes
		// The records are written as a block, which is not synced, or a half of it. They are derived
		// again from the log AFTER a crash.
		err = errors.Join(err, l.Append(secrets, 2*blockRecords))
		full.is = false
		if crashes {
			d = d.AfterCrash(disktest.CrashKeepsHalf)
			l = reopen(t, Options{Dir: "/feed", Disk: d})
			err = errors.Join(err, l.Append(secrets, 2*blockRecords))
		}
		if got := countHolding(t, d, "xylophone"); got == 0 {
			t.Fatal("the tail has no text")
		}
		err = errors.Join(err, l.Redact(map[id.ID]bool{project(1): true}))
		if got := countHolding(t, d, "xylophone"); err != nil || got != 0 {
			t.Errorf("crash %v: %d files have the text, %v", crashes, got, err)
		}
		checkRedacted(t, l, slices.Concat(others, secrets))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		checkRedacted(t, reopen(t, Options{Dir: "/feed", Disk: d}), slices.Concat(others, secrets))
	}
}

// countHolding counts the files of a feed that hold a text.
func countHolding(t *testing.T, d *disktest.Disk, text string) (count int) {
	t.Helper()
	names, err := d.List("/feed")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := d.Open(filepath.Join("/feed", name))
		if err != nil {
			t.Fatal(err)
		}
		size, err := file.Size()
		content := make([]byte, size)
		if err := errors.Join(err, disk.ReadRange(file, name, 0, content)); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(text)) {
			count++
		}
	}
	return count
}

// fullDisk writes half of what it is given while it is full.
type fullDisk struct {
	disk.Disk
	is bool
}

func (d *fullDisk) Create(path string) (disk.File, error) {
	file, err := d.Disk.Create(path)
	return fullFile{file, d}, err
}

type fullFile struct {
	disk.File
	on *fullDisk
}

func (f fullFile) Write(content []byte) (int, error) {
	if !f.on.is {
		return f.File.Write(content)
	}
	n, err := f.File.Write(content[:len(content)/2])
	return n, errors.Join(err, errFailAt)
}

// failAt is a disk on which one operation that changes something fails; left counts down to it.
type failAt struct {
	disk.Disk
	left int
}

var errFailAt = errors.New("the disk fails")

func (d *failAt) fails() error {
	if d.left < 0 {
		return nil
	}
	if d.left--; d.left < 0 {
		return errFailAt
	}
	return nil
}

func (d *failAt) Create(path string) (disk.File, error) {
	if err := d.fails(); err != nil {
		return nil, err
	}
	return d.Disk.Create(path)
}

func (d *failAt) Open(path string) (disk.File, error) {
	if err := d.fails(); err != nil {
		return nil, err
	}
	return d.Disk.Open(path)
}

func (d *failAt) Rename(from, to string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func (d *failAt) SyncDir(dir string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.Disk.SyncDir(dir)
}
