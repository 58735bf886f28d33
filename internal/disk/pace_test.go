package disk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestNewFilesReachTheDiskInPieces writes a file whose parts end within pieces and at their ends.
func TestNewFilesReachTheDiskInPieces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	created, err := OS{}.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := created.(*pacedFile)
	if !ok {
		t.Fatalf("a new file is a %T", created)
	}
	var flushed []int64
	flush, pauses := f.flush, 0
	f.flush = func(of osFile, offset, length int64) error {
		info, err := of.Stat()
		if err != nil {
			return err
		}
		if length != pieceBytes || info.Size() != offset+length {
			t.Errorf("%d bytes at %d of %d", length, offset, info.Size())
		}
		flushed = append(flushed, offset)
		return flush(of, offset, length)
	}
	f.pause = func(time.Duration) { pauses++ }
	var want []byte
	for i, size := range []int{10, pieceBytes - 10, pieceBytes, 3*pieceBytes + 5, 0, 7} {
		part := bytes.Repeat([]byte{byte('a' + i)}, size)
		want = append(want, part...)
		if n, err := f.Write(part); n != size || err != nil {
			t.Fatalf("%d of %d, %v", n, size, err)
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	if len(flushed) != 5 || flushed[4] != 4*pieceBytes || pauses != 5 {
		t.Errorf("pieces at %v, %d pauses", flushed, pauses)
	}
}

// TestFailuresOfPiecesAreReported has the disk fail in the second piece.
func TestFailuresOfPiecesAreReported(t *testing.T) {
	created, err := OS{}.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	f, ok := created.(*pacedFile)
	if !ok {
		t.Fatalf("a new file is a %T", created)
	}
	broken := errors.New("broken")
	f.flush = func(_ osFile, offset, _ int64) error {
		if offset > 0 {
			return broken
		}
		return nil
	}
	if n, err := f.Write(make([]byte, 3*pieceBytes)); n != 2*pieceBytes || !errors.Is(err, broken) {
		t.Errorf("%d, %v", n, err)
	}
	// The kernel reports the failure only once, and what was written may not be on the disk.
	if n, err := f.Write([]byte("more")); n != 0 || !errors.Is(err, broken) {
		t.Errorf("a write after that: %d, %v", n, err)
	}
	for range 2 {
		if err := f.Sync(); !errors.Is(err, broken) {
			t.Errorf("a sync after that: %v", err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
