package wal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	tidwall "github.com/tidwall/wal"
)

// lifeless copies the files of an open log, as a kill would leave them.
func lifeless(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name.Name()), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// fillingDisk reports each fill of a segment that is written to when it is done.
type fillingDisk struct {
	osDisk
	filled chan struct{}
}

func (d fillingDisk) OpenSegment(path string, size int64) (segmentFile, error) {
	f, err := d.osDisk.OpenSegment(path, size)
	return fillingSegment{f, d}, err
}

type fillingSegment struct {
	segmentFile
	d fillingDisk
}

func (s fillingSegment) Fill(from, to int64) error {
	err := s.segmentFile.Fill(from, to)
	s.d.filled <- struct{}{}
	return err
}

// TestFilledSpaceIsNoDamage opens what a kill leaves of a log whose last segment has filled
// space, alone, behind a record that is torn, and with the next segment already made.
func TestFilledSpaceIsNoDamage(t *testing.T) {
	dir, d := t.TempDir(), fillingDisk{filled: make(chan struct{}, 1)}
	l, _ := mustOpen(t, Options{Dir: dir, SegmentBytes: 4096, disk: d})
	for range 30 {
		appendOne(t, l)
	}
	<-d.filled
	records := l.Stats().Bytes
	for _, torn := range []string{"", "\x90\x01PWSL torn", "\x90\x01PWSL torn\x00\x00\x00more"} {
		left := lifeless(t, dir)
		tail := tailPath(t, left)
		data, err := os.ReadFile(tail)
		if err != nil || len(data) != 4096 || !zeros(data[records:]) {
			t.Fatalf("%d bytes, of which %d are records: %v", len(data), records, err)
		}
		copy(data[records:], torn)
		if err := os.WriteFile(tail, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if size, err := Extent(tail); err != nil || size != records+int64(len(torn)) {
			t.Errorf("%q: the extent is %d of %d: %v", torn, size, records, err)
		}
		if torn == "" {
			checkRead(t, left, 1, 30)
		}
		again, rec := mustOpen(t, Options{Dir: left, SegmentBytes: 4096})
		if rec.Last != 30 || (rec.TornBytes > 0) != (torn != "") {
			t.Errorf("%q: %+v", torn, rec)
		}
		if pos := appendOne(t, again); pos != 31 {
			t.Errorf("%q: goes on at %d", torn, pos)
		}
		mustClose(t, again)
		checkRead(t, left, 1, 31)
		if _, err := os.Stat(filepath.Join(left, nextName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: the next segment is still there: %v", torn, err)
		}
	}
	mustClose(t, l)
	if size := diskBytes(t, dir); size != records {
		t.Errorf("a closed log has %d bytes, %d of which are records", size, records)
	}
}

// TestNoSpaceIsFilledOnAFullDisk opens a log where little is free.
func TestNoSpaceIsFilledOnAFullDisk(t *testing.T) {
	for free, want := range map[int64]int64{1000 + 4*4096: 0, 1001 + 4*4096: 4096} {
		dir, d := t.TempDir(), fillingDisk{filled: make(chan struct{}, 1)}
		l, _ := mustOpen(t, Options{
			Dir: dir, SegmentBytes: 4096, ReserveBytes: 1000, disk: d,
			Free: func(string) (int64, error) { return free, nil },
		})
		appendOne(t, l)
		if want > 0 {
			<-d.filled
		}
		if size := diskBytes(t, dir); (size == 4096) != (want == 4096) {
			t.Errorf("%d bytes free: %d bytes are filled, not %d", free, size, want)
		}
		mustClose(t, l)
	}
}

// TestTidwallReadsAllRecords reads a log of several segments with tidwall.
func TestTidwallReadsAllRecords(t *testing.T) {
	dir := t.TempDir()
	l, _ := mustOpen(t, Options{Dir: dir, SegmentBytes: 700})
	for range 40 {
		appendOne(t, l)
	}
	mustClose(t, l)
	other, err := tidwall.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	pos := uint64(1)
	for index := uint64(1); index <= 40; index++ {
		frame, err := other.Read(index)
		if err != nil {
			t.Fatal(err)
		}
		h, got, err := entries(frame)
		if err != nil || h.index != index || h.first != pos || len(got) != 1 ||
			!bytes.Equal(got[0], entry(pos)) {
			t.Fatalf("record %d: %+v %q %v", index, h, got, err)
		}
		pos++
	}
}

// TestReadersSeeWhatWasWritten reads a log, and takes copies of its last segment, while writers go
// on: nobody may take space that was not written yet for damage.
func TestReadersSeeWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	l, _ := mustOpen(t, Options{Dir: dir, SegmentBytes: 1 << 20, disk: unsyncedDisk{}})
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			f := newFate()
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := l.Append(incompressible(900), f); err != nil {
					t.Error(err)
					return
				}
				f.wait(1)
			}
		})
	}
	for round := 0; l.Durable() < 6000; round++ {
		durable := l.Durable()
		var last uint64
		if err := Read(dir, 1, func(pos uint64, _ []byte) error { last = pos; return nil }); err != nil ||
			last < durable {
			t.Errorf("round %d: read up to %d of %d: %v", round, last, durable, err)
			break
		}
		if err := copyTail(t, dir); err != nil {
			t.Errorf("round %d: %v", round, err)
			break
		}
	}
	close(stop)
	writers.Wait()
	mustClose(t, l)
}

// copyTail copies the extent of the last segment, and checks the copy.
func copyTail(t *testing.T, dir string) error {
	path := tailPath(t, dir)
	size, err := Extent(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil || int64(len(data)) < size {
		return fmt.Errorf("%d of %d bytes: %w", len(data), size, err)
	}
	s := scanner{disk: fixedDisk{content: data[:size]}}
	if _, _, err := s.frameAt(data, 0); err == nil {
		s.nextIndex = s.head.index
	}
	return s.scanSegment(&segment{path: path}, data[:size], true)
}
