package wal

import (
	"bytes"
	"fmt"
)

// Report is the result of Verify.
type Report struct {
	Segments    int
	Records     uint64
	Entries     uint64
	First, Last uint64 // entry positions; Last is First-1 when the log is empty
	Bytes       int64  // of valid records on disk
	RawBytes    int64  // of entries before compression
	TornBytes   int64  // bytes behind the last valid record; Open would cut them off
	TornFile    string
	TornOffset  int64
}

// Replay calls fn with every entry from a position on, in order. It must be called before the first
// Append, from one goroutine. payload is valid only during the call. From 0 means from the first
// stored entry; any other position before the first or after Last+1 is ErrOutOfRange, because the
// caller then expects entries that the log does not have. An error of fn ends the replay and is
// returned unchanged.
func (l *Log) Replay(from uint64, fn func(pos uint64, payload []byte) error) error {
	l.mu.Lock()
	touched, failed, closed := l.mu.touched, l.mu.failed, l.mu.closing
	l.mu.Unlock()
	switch {
	case failed != nil:
		return failed
	case closed:
		return ErrClosed
	case touched:
		return errReplayOrder
	}
	return read(l.disk, l.opts.Dir, from, l.recovered, fn)
}

// Read calls fn with every entry of a log from a position on, like Replay, for offline tools. It
// takes no lock and changes nothing; it ends without an error at a torn tail. If the log is
// being written to, it is read up to an entry that was durable when Read reached it.
func Read(dir string, from uint64, fn func(pos uint64, payload []byte) error) error {
	return read(osDisk{}, dir, from, nil, fn)
}

// Verify checks every frame of a log, their order, and that every payload can be decompressed. It
// takes no lock and changes nothing. A torn tail is reported and is not an error; damage is a
// *CorruptError, and the report then counts what was valid before it.
func Verify(dir string) (Report, error) {
	var (
		rep Report
		buf []byte
	)
	s := scanner{disk: osDisk{}}
	s.visit = func(h *header, frame []byte) error {
		raw, keep, err := unpack(h, frame, buf)
		buf = keep
		if err != nil {
			return err
		}
		err = eachEntry(h, raw, func(_ uint64, payload []byte) error {
			rep.RawBytes += int64(len(payload))
			return nil
		})
		if err != nil {
			return err
		}
		if rep.Entries == 0 {
			rep.First = h.first
		}
		rep.Entries += uint64(h.count)
		return nil
	}
	segs, err := listSegments(s.disk, dir)
	if err == nil {
		err = s.scanSegments(segs)
	}
	rep.Segments, rep.Records, rep.Bytes = len(segs), s.records, s.bytes
	if rep.Entries == 0 {
		rep.First = 1
	}
	rep.Last = rep.First + rep.Entries - 1
	if s.torn != nil {
		rep.TornBytes, rep.TornFile, rep.TornOffset = s.torn.bytes, s.torn.file, s.torn.offset
	}
	return rep, err
}

// Extent returns the length of the last segment of a log without the zeros at its end, which are
// space that was filled. A server may append at the same time: what is up to there stays as it is,
// but for a record that is being written.
func Extent(path string) (int64, error) {
	seg, s := segment{path: path}, scanner{disk: osDisk{}}
	data, err := s.disk.ReadFile(path, nil)
	if err != nil {
		return 0, err
	}
	s.buf = data
	if len(data) > 0 {
		if _, _, err := s.frameAt(data, 0); err == nil {
			s.nextIndex = s.head.index
		}
	}
	switch err := s.scanSegment(&seg, data, true); {
	case err != nil:
		// Damage is for those to report who read the log.
		return int64(len(s.buf)), nil
	case s.torn != nil:
		return int64(len(bytes.TrimRight(s.buf, "\x00"))), nil
	}
	return seg.bytes, nil
}

// read reads the log from its first relevant segment. known are the bounds that Open has found, nil
// if unknown.
func read(d disk, dir string, from uint64, known *Recovery, fn func(uint64, []byte) error) error {
	if known != nil {
		if err := inRange(from, known.First, known.Last); err != nil {
			return err
		}
	}
	segs, err := listSegments(d, dir)
	if err != nil {
		return err
	}
	var checked []segment
	if known != nil {
		checked = known.segs
	}
	segs = skipSegments(segs, checked, from)
	var buf []byte
	s := scanner{disk: d}
	s.visit = func(h *header, frame []byte) error {
		if s.records == 0 && from != 0 && from < h.first {
			return outOfRange(from, h.first)
		}
		if h.last() < from {
			return nil
		}
		raw, keep, err := unpack(h, frame, buf)
		buf = keep
		if err != nil {
			return err
		}
		return eachEntry(h, raw, func(pos uint64, payload []byte) error {
			if pos < from {
				return nil
			}
			return fn(pos, payload)
		})
	}
	if err := s.scanSegments(segs); err != nil {
		return err
	}
	if s.nextPos != 0 && from > s.nextPos {
		return outOfRange(from, s.nextPos)
	}
	if s.torn != nil && checked != nil {
		return &CorruptError{File: s.torn.file, Offset: s.torn.offset,
			Reason: "it has changed since the log was opened"}
	}
	return nil
}

// skipSegments skips the segments whose entries are all before a position. Open has checked them.
func skipSegments(segs, checked []segment, from uint64) []segment {
	n := 0
	for n+1 < len(checked) && n+1 < len(segs) && checked[n+1].records > 0 &&
		checked[n+1].first <= from {
		n++
	}
	return segs[n:]
}

func inRange(from, first, last uint64) error {
	switch {
	case from == 0:
		return nil
	case from < first:
		return outOfRange(from, first)
	case from > last+1:
		return outOfRange(from, last+1)
	}
	return nil
}

func outOfRange(from, bound uint64) error {
	if from < bound {
		return fmt.Errorf("%w: %d, the first entry is %d", ErrOutOfRange, from, bound)
	}
	return fmt.Errorf("%w: %d, the next entry is %d", ErrOutOfRange, from, bound)
}
