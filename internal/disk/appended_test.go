package disk

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// openBoth opens a file as the system allows, and one that is written through the page cache.
func openBoth(t *testing.T, dir string, end int64) map[string]*Appended {
	t.Helper()
	var files [2]*os.File
	for i, name := range []string{"direct", "cached"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = f
	}
	direct, err := OpenAppended(files[0].Name(), end)
	if err = errors.Join(err, files[0].Close()); err != nil {
		t.Fatal(err)
	}
	return map[string]*Appended{"direct": direct, "cached": {File: files[1], block: 1, end: end}}
}

// TestAppendedKeepsWhatWasWritten writes pieces of many sizes, fills space before some of them and
// opens the files again from time to time: only zeros follow what was written.
func TestAppendedKeepsWhatWasWritten(t *testing.T) {
	dir, r := t.TempDir(), rand.New(rand.NewPCG(3, 5))
	var want []byte
	for range 8 {
		files := openBoth(t, dir, int64(len(want)))
		t.Log("blocks of", files["direct"].Block(), "bytes")
		for range 12 {
			piece := make([]byte, r.IntN([]int{10, 700, 5000, 2*appendBytes + 100}[r.IntN(4)]))
			for i := range piece {
				piece[i] = byte(r.Uint32())
			}
			end := int64(len(want))
			fill := r.IntN(3) == 0
			for name, f := range files {
				if fill {
					from := (end + f.Block() - 1) / f.Block() * f.Block()
					if err := f.Fill(from, from+3*blockMax); err != nil {
						t.Fatal(name, err)
					}
				}
				if n, err := f.WriteAt(piece, end); n != len(piece) || err != nil {
					t.Fatal(name, n, err)
				}
			}
			want = append(want, piece...)
		}
		for name, f := range files {
			got, err := os.ReadFile(f.Name())
			if err != nil || len(got) < len(want) || !bytes.Equal(got[:len(want)], want) ||
				len(bytes.Trim(got[len(want):], "\x00")) > 0 {
				t.Fatalf("%s: %d bytes, of which %d were written, differ: %v", name, len(got), len(want), err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestAppendedWritesAtItsEnd refuses to write elsewhere in whole blocks, and to open a file that is
// shorter than what it should have.
func TestAppendedWritesAtItsEnd(t *testing.T) {
	f := openBoth(t, t.TempDir(), 0)["direct"]
	if f.Block() == 1 {
		t.Skip("the file system does not say in which blocks it can write")
	}
	if _, err := f.WriteAt([]byte("begin"), 0); err != nil {
		t.Fatal(err)
	}
	if n, err := f.WriteAt([]byte("x"), 4); n != 0 || err == nil {
		t.Errorf("wrote %d bytes into what is there: %v", n, err)
	}
	if err := f.Truncate(5); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAppended(f.Name(), 6); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file of 5 bytes is opened behind 6: %v", err)
	}
	again, err := OpenAppended(f.Name(), 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.WriteAt([]byte(" and end"), 5); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(f.Name())
	if err != nil || string(bytes.TrimRight(got, "\x00")) != "begin and end" {
		t.Errorf("%q %v", got, err)
	}
}
