package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	shared "pws/internal/disk"
)

// record is the place and the content of a record of the sample log.
type record struct {
	start, end  int64
	first, last uint64
}

// sampleLog writes a log of batches with several entries each and returns the records of its last
// segment. Segments roll at segmentBytes.
func sampleLog(t testing.TB, dir string, batches, segmentBytes int) (tail []record, last uint64) {
	t.Helper()
	sample := sampleSegments{dir: dir, limit: segmentBytes}
	var w frameWriter
	pos := uint64(1)
	for index := uint64(1); index <= uint64(batches); index++ {
		w.begin(0)
		first := pos
		for range 1 + index%4 {
			w.add(entry(pos))
			pos++
		}
		sample.write(t, index, w.encode(99, index, first))
	}
	sample.write(t, 0, nil)
	data, err := os.ReadFile(tailPath(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	var s scanner
	for off := 0; off < len(data); {
		_, end, err := s.frameAt(data, off)
		if err != nil {
			t.Fatal(err)
		}
		tail = append(tail, record{int64(off), int64(end), s.head.first, s.head.last()})
		off = end
	}
	return tail, pos - 1
}

// sampleSegments writes records to segments of a length.
type sampleSegments struct {
	dir   string
	limit int
	index uint64 // of the first record that is collected
	data  []byte
}

// write collects records and writes those of a full segment; nil ends the last one.
func (s *sampleSegments) write(t testing.TB, index uint64, record []byte) {
	t.Helper()
	if s.data == nil {
		s.index = index
	}
	s.data = append(s.data, record...)
	if len(s.data) < s.limit && record != nil || s.data == nil {
		return
	}
	if err := os.WriteFile(segmentPath(s.dir, s.index), s.data, 0o640); err != nil {
		t.Fatal(err)
	}
	s.data = nil
}

// checkTorn opens a log whose tail is damaged after a valid offset, and expects the repair.
func checkTorn(t testing.TB, d disk, dir string, good int64, last uint64, what string) {
	t.Helper()
	tail := tailPath(t, dir)
	info, err := os.Stat(tail)
	if err != nil {
		t.Fatal(err)
	}
	torn := info.Size() - good
	if data, err := os.ReadFile(tail); err != nil || zeros(data[good:]) {
		torn = 0 // it is space that was reserved
	}
	rep, err := Verify(dir)
	if err != nil || rep.Last != last || rep.TornBytes != torn {
		t.Fatalf("%s: %v, %+v", what, err, rep)
	}
	l, rec, err := Open(Options{Dir: dir, disk: d})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if rec.Last != last || rec.TornBytes != torn {
		t.Fatalf("%s: %+v, wanted last %d and %d bytes torn", what, rec, last, torn)
	}
	if torn > 0 && (rec.TornFile != tail || rec.TornOffset != good) {
		t.Fatalf("%s: %+v", what, rec)
	}
	if pos := appendOne(t, l); pos != last+1 {
		t.Fatalf("%s: goes on at %d", what, pos)
	}
	mustClose(t, l)
	checkRead(t, dir, rec.First, last+1)
}

// goodPrefix returns the end of the last record that is completely below a length.
func goodPrefix(tail []record, length int64) (good int64, last uint64) {
	last = tail[0].first - 1
	for _, r := range tail {
		if r.end <= length {
			good, last = r.end, r.last
		}
	}
	return good, last
}

func TestCutAtEveryByte(t *testing.T) {
	src := t.TempDir()
	tail, _ := sampleLog(t, src, 14, 700)
	name := filepath.Base(tailPath(t, src))
	size := tail[len(tail)-1].end
	if len(tail) < 3 || name == filepath.Base(segmentPath(src, 1)) {
		t.Fatalf("the sample has one segment, or %d records in the last", len(tail))
	}
	for length := int64(0); length <= size; length++ {
		for _, zeros := range []int{0, 1, 47, 4096} {
			if zeros > 0 && length%13 != 0 && length != size ||
				length%4 != 0 && length < tail[len(tail)-2].start {
				continue
			}
			dir := t.TempDir()
			copyLog(t, src, dir, func(path string, data []byte) []byte {
				if filepath.Base(path) == name {
					return append(data[:length:length], make([]byte, zeros)...)
				}
				return data
			})
			good, last := goodPrefix(tail, length)
			if zeros > 0 && last < tail[len(tail)-1].last && allZero(t, src, name, length, zeros) {
				good, last = goodPrefix(tail, size)
			}
			checkTorn(t, unsyncedDisk{}, dir, good, last, fmt.Sprintf("cut at %d, %d zeros", length, zeros))
		}
	}
}

// allZero reports whether the removed bytes are all zeros, at most the given number.
func allZero(t testing.TB, dir, name string, length int64, zeros int) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	rest := data[length:]
	return len(rest) <= zeros && len(bytes.Trim(rest, "\x00")) == 0
}

// TestEveryBitFlipped flips each bit of a log of two segments. Only damage in the last record may
// be reported as a torn write.
func TestEveryBitFlipped(t *testing.T) {
	src := t.TempDir()
	tail, _ := sampleLog(t, src, 9, 500)
	lastRecord := tail[len(tail)-1]
	segs, err := listSegments(osDisk{}, src)
	if err != nil || len(segs) < 2 {
		t.Fatal(segs, err)
	}
	dir := t.TempDir()
	copyLog(t, src, dir, func(_ string, data []byte) []byte { return data })
	for i, seg := range segs {
		path := filepath.Join(dir, filepath.Base(seg.path))
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for bit := range len(data) * 8 {
			off := int64(bit / 8)
			data[off] ^= 1 << (bit % 8)
			if err := os.WriteFile(path, data, 0o640); err != nil {
				t.Fatal(err)
			}
			data[off] ^= 1 << (bit % 8)
			rep, err := Verify(dir)
			if i == len(segs)-1 && off >= lastRecord.start {
				if err != nil || rep.TornOffset != lastRecord.start || rep.TornBytes == 0 {
					t.Fatalf("bit %d of the last record: %+v %v", bit, rep, err)
				}
				continue
			}
			checkCorrupt(t, err, path, off)
			if bit%29 == 0 {
				_, _, err = Open(Options{Dir: dir})
				checkCorrupt(t, err, path, off)
			}
		}
		if err := os.WriteFile(path, data, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Verify(dir); err != nil {
		t.Fatal(err)
	}
}

// checkCorrupt expects a damage error with the given file and an offset at or before the given one.
func checkCorrupt(t testing.TB, err error, path string, off int64) {
	t.Helper()
	var c *CorruptError
	if !errors.Is(err, ErrCorrupt) || !errors.As(err, &c) {
		t.Fatalf("damage at %d was not found: %v", off, err)
	}
	if c.File != path || c.Offset > off || !strings.Contains(err.Error(), path) {
		t.Fatalf("damage of %s at %d is reported as %v", path, off, err)
	}
}

// structureDamages change a log of three segments or more, and name what is then reported.
var structureDamages = []struct {
	name   string
	reason string
	damage func(t *testing.T, dir string, segs []segment)
}{
	{"missing segment", "records are missing", func(t *testing.T, _ string, s []segment) {
		remove(t, s[1].path)
	}},
	{"short middle segment", "does not check", func(t *testing.T, _ string, s []segment) {
		truncate(t, s[1].path, 5)
	}},
	{"middle segment without its last record", "records are missing",
		func(t *testing.T, _ string, s []segment) { truncate(t, s[1].path, 0) }},
	{"a middle segment that ends in zeros", "records are missing",
		func(t *testing.T, _ string, s []segment) {
			truncate(t, s[1].path, 0)
			appendBytes(t, s[1].path, make([]byte, 900))
		}},
	{"zeros and a byte behind a middle segment", "does not check",
		func(t *testing.T, _ string, s []segment) {
			appendBytes(t, s[0].path, append(make([]byte, 9), 1))
		}},
	{"segment of another log", "another log", func(t *testing.T, _ string, s []segment) {
		rewriteHeader(t, s[1].path, func(h *header) { h.log++ })
	}},
	{"position jumps", "position", func(t *testing.T, _ string, s []segment) {
		rewriteHeader(t, s[1].path, func(h *header) { h.first += 5 })
	}},
	{"index jumps", "index", func(t *testing.T, _ string, s []segment) {
		rewriteHeader(t, s[len(s)-1].path, func(h *header) { h.index++ })
	}},
	{"older version", "format version 0", func(t *testing.T, _ string, s []segment) {
		path := s[len(s)-1].path
		patch(t, path, func(frame []byte) { frame[8] = 0 })
	}},
	{"left over START", "not a segment", func(t *testing.T, dir string, s []segment) {
		if err := os.WriteFile(s[1].path+".START", nil, 0o640); err != nil {
			t.Fatal(err)
		}
	}},
	{"only an empty segment", "positions are lost",
		func(t *testing.T, _ string, s []segment) {
			for _, seg := range s[:len(s)-1] {
				remove(t, seg.path)
			}
			truncate(t, s[len(s)-1].path, 0)
		}},
}

func TestDamagedStructure(t *testing.T) {
	for _, c := range structureDamages {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			sampleLog(t, dir, 9, 300)
			segs, err := listSegments(osDisk{}, dir)
			if err != nil || len(segs) < 3 {
				t.Fatal(segs, err)
			}
			c.damage(t, dir, segs)
			_, err = Verify(dir)
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.reason) {
				t.Fatalf("verify: %v", err)
			}
			before := diskState(t, dir)
			_, _, err = Open(Options{Dir: dir})
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.reason) {
				t.Fatalf("open: %v", err)
			}
			if err := Read(dir, 0, func(uint64, []byte) error { return nil }); err == nil {
				t.Fatal("read finds nothing")
			}
			if after := diskState(t, dir); after != before {
				t.Fatalf("a refused log was changed:\n%s\n%s", before, after)
			}
		})
	}
}

// TestNewerFrame has a newer program write the last frame: that is neither damage nor a torn tail.
func TestNewerFrame(t *testing.T) {
	dir := t.TempDir()
	sampleLog(t, dir, 9, 300)
	segs, err := listSegments(osDisk{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	last := segs[len(segs)-1].path
	patch(t, last, func(frame []byte) { frame[8] = 2 })
	before := diskState(t, dir)
	_, verified := Verify(dir)
	_, _, opened := Open(Options{Dir: dir})
	for name, err := range map[string]error{"verify": verified, "open": opened} {
		if !errors.Is(err, shared.ErrNewer) || errors.Is(err, ErrCorrupt) ||
			!strings.Contains(err.Error(), last) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := diskState(t, dir); after != before {
		t.Errorf("a refused log was changed:\n%s\n%s", before, after)
	}
}

func remove(t *testing.T, path string) {
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string, size int64) {
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

// patch changes the first frame of a segment and corrects its checksum.
func patch(t *testing.T, path string, change func(frame []byte)) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s scanner
	frame, _, err := s.frameAt(data, 0)
	if err != nil {
		t.Fatal(err)
	}
	change(frame)
	checksum(frame)
	if err := os.WriteFile(path, data, 0o640); err != nil {
		t.Fatal(err)
	}
}

// rewriteHeader changes the header of the first frame of a segment.
func rewriteHeader(t *testing.T, path string, change func(h *header)) {
	patch(t, path, func(frame []byte) {
		h, err := parseFrame(frame)
		if err != nil {
			t.Fatal(err)
		}
		change(&h)
		le := binary.LittleEndian
		le.PutUint64(frame[16:], h.log)
		le.PutUint64(frame[24:], h.index)
		le.PutUint64(frame[32:], h.first)
	})
}

func diskState(t testing.TB, dir string) string {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, e := range names {
		if e.Name() == lockName {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s %d %x\n", e.Name(), len(data), data[:min(len(data), 64)])
	}
	return out.String()
}

// TestEntryLikeAFrameIsNoDamage truncates a record whose entry looks like a valid later frame with
// the wrong log number, as a client could store one. It must not be mistaken for a later record.
func TestEntryLikeAFrameIsNoDamage(t *testing.T) {
	dir := t.TempDir()
	tail, last := sampleLog(t, dir, 3, 1<<20)
	var forged frameWriter
	forged.begin(0)
	forged.add([]byte("forged"))
	payload := bytes.Clone(forged.encode(1234, 100, 1000))
	var w frameWriter
	w.begin(0)
	w.add(payload)
	w.add(make([]byte, 30))
	rec := bytes.Clone(w.encode(99, 4, last+1))
	if !bytes.Contains(rec, payload) {
		t.Fatal("the forged frame was compressed")
	}
	appendBytes(t, tailPath(t, dir), rec[:len(rec)-20])
	checkTorn(t, osDisk{}, dir, tail[len(tail)-1].end, last, "forged frame")
}

// TestRandomTailIsTorn appends random bytes to a log; they must be treated as a torn tail.
func TestRandomTailIsTorn(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		dir := t.TempDir()
		tail, last := sampleLog(t, dir, 5, 1<<20)
		junk := make([]byte, r.IntN(300)+1)
		for i := range junk {
			junk[i] = byte(r.Uint32())
		}
		appendBytes(t, tailPath(t, dir), junk)
		checkTorn(t, unsyncedDisk{}, dir, tail[len(tail)-1].end, last, fmt.Sprintf("%x", junk))
	}
}

// TestFrozenLogs reads logs of all format versions. The files are never rewritten.
func TestFrozenLogs(t *testing.T) {
	for version, last := range map[string]uint64{"v1": 22} {
		dir := t.TempDir()
		copyLog(t, filepath.Join("testdata", version), dir,
			func(_ string, data []byte) []byte { return data })
		checkRead(t, dir, 1, last)
		rep, err := Verify(dir)
		if err != nil || rep.Segments < 2 || rep.TornBytes != 0 {
			t.Fatalf("%s: %+v %v", version, rep, err)
		}
		l, rec := mustOpen(t, Options{Dir: dir})
		if rec.Last != last {
			t.Fatalf("%s: %+v", version, rec)
		}
		appendOne(t, l)
		mustClose(t, l)
	}
}
