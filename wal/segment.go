package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	shared "pws/internal/disk"
)

// segmentNameLen is the number of digits in the name of a segment.
const segmentNameLen = 20

// segment is one file of the log.
type segment struct {
	path    string
	index   uint64 // of the first record, also while the segment is empty
	first   uint64 // position of the first entry, also while the segment is empty
	records uint64
	bytes   int64
	// unused says that zeros follow the records: space that was filled.
	unused bool
}

func segmentPath(dir string, index uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%0*d", segmentNameLen, index))
}

// listSegments returns the segments of a directory in order, with path and index only. A name that
// tidwall would interpret but this package never writes is damage.
func listSegments(d disk, dir string) ([]segment, error) {
	names, err := d.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []segment
	for _, e := range names {
		name := e.Name()
		if len(name) < segmentNameLen {
			continue
		}
		index, err := strconv.ParseUint(name[:segmentNameLen], 10, 64)
		if err != nil {
			continue
		}
		path, rest := filepath.Join(dir, name), name[segmentNameLen:]
		if rest != "" && rest != ".START" && rest != ".END" {
			continue
		}
		if rest != "" || index == 0 || !e.Type().IsRegular() {
			return nil, &CorruptError{File: path, Reason: "not a segment of this log"}
		}
		out = append(out, segment{path: path, index: index})
	}
	return out, nil
}

// scanner reads the frames of a log from its first segment to its end and checks their order. The
// zero value of a field that starts with next means unknown.
type scanner struct {
	disk disk
	// visit is called for every valid frame; nil to only check.
	visit func(h *header, frame []byte) error

	buf       []byte
	head      header // of the frame at hand
	log       uint64
	nextIndex uint64
	nextPos   uint64
	records   uint64
	bytes     int64
	torn      *tornTail
}

// tornTail is the damaged end of the last segment after a crash.
type tornTail struct {
	file   string
	offset int64
	bytes  int64
}

// scanSegments reads all segments and sets the fields that listSegments leaves out. It changes
// nothing on disk.
func (s *scanner) scanSegments(segs []segment) error {
	for i := range segs {
		seg := &segs[i]
		if s.nextIndex != 0 && seg.index != s.nextIndex {
			return &CorruptError{File: seg.path, Reason: fmt.Sprintf(
				"records are missing, the one before it is %d", s.nextIndex-1)}
		}
		s.nextIndex = seg.index
		data, err := s.disk.ReadFile(seg.path, s.buf)
		if errors.Is(err, fs.ErrNotExist) && s.records == 0 && i+1 < len(segs) {
			// The oldest segments may be removed while an offline tool reads.
			s.nextIndex = 0
			continue
		}
		if err != nil {
			return err
		}
		s.buf = data
		if err := s.scanSegment(seg, data, i+1 == len(segs)); err != nil {
			return err
		}
	}
	if n := len(segs); n > 0 && s.records == 0 && segs[n-1].index > 1 {
		return &CorruptError{File: segs[n-1].path, Reason: "no record is left, positions are lost"}
	}
	return nil
}

// scanSegment reads the frames of one segment.
func (s *scanner) scanSegment(seg *segment, data []byte, last bool) error {
	seg.first = s.nextPos
	off, again := 0, false
	for off < len(data) {
		frame, end, err := s.frameAt(data, off)
		h := &s.head
		if err == nil {
			err = s.follows(h)
		}
		if errors.Is(err, errTorn) && zeros(data[off:]) {
			seg.unused = true
			break
		}
		if errors.Is(err, errTorn) && last {
			if !s.hasLaterFrame(data[off:]) {
				s.torn = &tornTail{file: seg.path, offset: int64(off), bytes: int64(len(data) - off)}
				break
			}
			if !again {
				// Who reads a log that is written to may have seen the space of a frame before it
				// was written, and then the frames behind it. Now the frame is there.
				again = true
				if data, err = s.disk.ReadFile(seg.path, s.buf); err != nil {
					return err
				}
				s.buf = data
				continue
			}
		}
		if err == nil && s.visit != nil {
			err = s.visit(h, frame)
		}
		if errors.Is(err, errTorn) || errors.Is(err, errFrame) {
			return &CorruptError{File: seg.path, Offset: int64(off), Reason: err.Error()}
		}
		if errors.Is(err, shared.ErrNewer) {
			err = fmt.Errorf("%s at offset %d: %w", seg.path, off, err)
		}
		if err != nil {
			return err
		}
		if seg.records == 0 {
			seg.first = h.first
		}
		s.log, s.nextIndex, s.nextPos = h.log, h.index+1, h.last()+1
		seg.records++
		s.records++
		off, again = end, false
	}
	seg.bytes = int64(off)
	s.bytes += int64(off)
	return nil
}

var zeroBlock [64 << 10]byte

// zeros reports whether all bytes are zero.
func zeros(data []byte) bool {
	for block := range slices.Chunk(data, len(zeroBlock)) {
		if !bytes.Equal(block, zeroBlock[:len(block)]) {
			return false
		}
	}
	return true
}

// follows checks that a valid frame is the expected next one.
func (s *scanner) follows(h *header) error {
	switch {
	case h.index != s.nextIndex:
		return fmt.Errorf("%w: index %d where %d is due", errFrame, h.index, s.nextIndex)
	case s.nextPos != 0 && h.first != s.nextPos:
		return fmt.Errorf("%w: position %d where %d is due", errFrame, h.first, s.nextPos)
	case s.nextPos != 0 && h.log != s.log:
		return fmt.Errorf("%w: it belongs to another log", errFrame)
	}
	return nil
}

// hasLaterFrame reports whether data contains, at any offset, a valid frame of this log with an
// index after the expected one. Only damage leaves such a frame after an invalid one.
func (s *scanner) hasLaterFrame(data []byte) bool {
	var magic [4]byte
	binary.LittleEndian.PutUint32(magic[:], frameMagic)
	le := binary.LittleEndian
	for {
		i := bytes.Index(data, magic[:])
		if i < 0 || len(data)-i < headerBytes {
			return false
		}
		data = data[i:]
		// The log number is compared BEFORE the checksum is computed: clients do not know it, so
		// their entries cannot slow this search down or be mistaken for frames.
		end := headerBytes + int64(le.Uint32(data[44:]))
		known := s.nextPos == 0 || le.Uint64(data[16:]) == s.log
		if known && le.Uint64(data[24:]) > s.nextIndex && end <= int64(len(data)) {
			if _, err := parseFrame(data[:end]); err == nil {
				return true
			}
		}
		data = data[1:]
	}
}

// frameAt returns the record at an offset: its header, its frame, and the offset of the next
// record.
func (s *scanner) frameAt(data []byte, off int) (frame []byte, end int, err error) {
	size, k := binary.Uvarint(data[off:])
	if k <= 0 || k != uvarintLen(size) || size > uint64(len(data)-off-k) {
		return nil, 0, errTorn
	}
	end = off + k + int(size)
	frame = data[off+k : end : end]
	s.head, err = parseFrame(frame)
	return frame, end, err
}

// uvarintLen returns the length of the shortest encoding, which is the one used.
func uvarintLen(x uint64) int {
	n := 1
	for ; x >= 0x80; x >>= 7 {
		n++
	}
	return n
}
