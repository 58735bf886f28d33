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
