package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
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
}

func segmentPath(dir string, index uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%0*d", segmentNameLen, index))
}

// listSegments gives the segments of a directory in order, with path and index only. A name that
// tidwall would act on and that this package never writes is damage.
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

// scanner walks the frames of a log from its first segment to its end and checks that they follow
// each other. The zero value of a field that starts with next means that nothing was seen yet.
type scanner struct {
	disk disk
	// visit sees every valid frame; nil for a mere check.
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

// tornTail is the end of the last segment that a crash has spoiled.
type tornTail struct {
	file   string
	offset int64
	bytes  int64
}

// scanSegments walks all segments and fills in what listSegments left open. It changes nothing on
// disk.
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
			// The oldest segments may be cut while an offline reader looks on.
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

// scanSegment walks the frames of one segment.
func (s *scanner) scanSegment(seg *segment, data []byte, last bool) error {
	seg.first = s.nextPos
	off := 0
	for off < len(data) {
		frame, end, err := s.frameAt(data, off)
		h := &s.head
		if err == nil {
			err = s.follows(h)
		}
		if errors.Is(err, errTorn) && last && !s.hasLaterFrame(data[off:]) {
			s.torn = &tornTail{file: seg.path, offset: int64(off), bytes: int64(len(data) - off)}
			break
		}
		if err == nil && s.visit != nil {
			err = s.visit(h, frame)
		}
		if errors.Is(err, errTorn) || errors.Is(err, errFrame) {
			return &CorruptError{File: seg.path, Offset: int64(off), Reason: err.Error()}
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
		off = end
	}
	seg.bytes = int64(off)
	s.bytes += int64(off)
	return nil
}

// follows says whether a valid frame is the one that is expected next.
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

// hasLaterFrame says whether data holds, anywhere, a valid frame of this log with an index
// behind the one that is due. Only damage leaves such a frame behind one that does not check.
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
		// The number of the log is compared BEFORE the checksum is computed: nobody who writes
		// entries knows it, so nobody can make this search slow or find something that is not.
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

// frameAt reads the record at an offset: its header, its frame, and where the next record starts.
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

// uvarintLen is the length of the shortest encoding, which is the one that is written.
func uvarintLen(x uint64) int {
	n := 1
	for ; x >= 0x80; x >>= 7 {
		n++
	}
	return n
}
