package feed

import (
	"errors"
	"testing"

	"pws/internal/disk"
	"pws/internal/disk/disktest"
)

var errPiece = errors.New("a piece is not on the disk")

// pieceDisk is a disk whose files fail as new files do of which a piece did not reach the disk.
type pieceDisk struct {
	*disktest.Disk
	failing bool
}

type pieceFile struct {
	disk.File
	d      *pieceDisk
	failed bool
}

func (d *pieceDisk) Create(path string) (disk.File, error) {
	file, err := d.Disk.Create(path)
	return &pieceFile{File: file, d: d}, err
}

func (f *pieceFile) Write(data []byte) (int, error) {
	if f.failed = f.failed || f.d.failing; f.failed {
		return 0, errPiece
	}
	return f.File.Write(data)
}

func (f *pieceFile) Sync() error {
	if f.failed {
		return errPiece
	}
	return f.File.Sync()
}

// TestPiecesThatFailAreNotDurable has a piece of a file fail once. The log fails for good, and no
// later sync says that the records of the file are durable.
func TestPiecesThatFailAreNotDurable(t *testing.T) {
	d := &pieceDisk{Disk: disktest.New()}
	l := reopen(t, Options{Dir: "/feed", Events: 600, Disk: d})
	if err := fill(l, 1, 100); err != nil {
		t.Fatal(err)
	}
	d.failing = true
	if err := fill(l, 101, 200); !errors.Is(err, errPiece) {
		t.Fatal(err)
	}
	d.failing = false
	for range 2 {
		if err := l.Sync(); !errors.Is(err, errPiece) {
			t.Errorf("a sync after that: %v", err)
		}
	}
	if err := l.Close(); !errors.Is(err, errPiece) {
		t.Errorf("closed with %v", err)
	}
}

// nameDisk fails the next sync of a directory. The one after it succeeds and does nothing: the
// system reports a failed write once.
type nameDisk struct {
	*disktest.Disk
	failing, failed bool
}

func (d *nameDisk) SyncDir(dir string) error {
	switch {
	case d.failing:
		d.failing, d.failed = false, true
		return errPiece
	case d.failed:
		d.failed = false
		return nil
	}
	return d.Disk.SyncDir(dir)
}

// TestNamesThatFailAreNotDurable has the name of a new file not reach the disk. The log fails for
// good: what it says to be durable survives a power loss.
func TestNamesThatFailAreNotDurable(t *testing.T) {
	d := &nameDisk{Disk: disktest.New()}
	l := reopen(t, Options{Dir: "/feed", Disk: d})
	d.failing = true
	if err := fill(l, 1, 100); !errors.Is(err, errPiece) || !errors.Is(err, ErrUncertain) {
		t.Fatal(err)
	}
	durable := uint64(0)
	if l.Sync() == nil {
		durable = l.Covered()
	}
	after := d.AfterCrash(disktest.CrashKeepsNothing)
	again := reopen(t, Options{Dir: "/feed", Disk: after})
	if covered := again.Covered(); covered < durable {
		t.Errorf("entries up to %d were said to be durable, and those up to %d are", durable, covered)
	}
	if err := l.Close(); !errors.Is(err, ErrUncertain) {
		t.Errorf("closed with %v", err)
	}
}
