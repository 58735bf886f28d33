package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/s2"

	shared "pws/internal/disk"
)

const (
	frameMagic   = 0x4c535750 // "PWSL" in little-endian
	frameVersion = 1
	headerBytes  = 48

	flagS2 = 1

	// EntryBytesMax is the maximum length of an entry.
	EntryBytesMax = 64 << 20

	// rawBytesMax is the maximum decompressed length of a frame: the longest entry and its length
	// prefix.
	rawBytesMax = EntryBytesMax + binary.MaxVarintLen64

	// compressBytesMin is the payload size below which compression is not worthwhile.
	compressBytesMin = 256
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the decoded header of a frame.
type header struct {
	flags  byte
	count  uint32
	log    uint64
	index  uint64
	first  uint64
	raw    uint32
	stored uint32
}

// last returns the position of the last entry of the frame.
func (h *header) last() uint64 { return h.first + uint64(h.count) - 1 }

// Reasons why a frame is rejected. A frame with a wrong checksum may be a torn write. errFrame is a
// frame with a valid checksum that this program cannot have written.
var (
	errTorn  = errors.New("frame does not check")
	errFrame = errors.New("frame is not understood")
)

// frameWriter builds frames in buffers that it reuses. The result of encode is valid until the next
// begin.
type frameWriter struct {
	raw    []byte // leadBytes and payload
	packed []byte // leadBytes and compressed payload
	count  uint32
}

// leadBytes is the space in front of a payload, for the length of the frame and its header.
const leadBytes = binary.MaxVarintLen64 + headerBytes

// keepBytesMax is the maximum size of buffers that are reused between two frames.
const keepBytesMax = 8 << 20

// begin starts a frame whose payload will be about sizeHint bytes.
func (w *frameWriter) begin(sizeHint int) {
	if cap(w.raw) > keepBytesMax || cap(w.raw) < leadBytes+sizeHint {
		w.raw = make([]byte, 0, leadBytes+sizeHint)
	}
	if cap(w.packed) > keepBytesMax {
		w.packed = nil
	}
	w.raw = w.raw[:leadBytes]
	w.count = 0
}

// add appends one entry.
func (w *frameWriter) add(payload []byte) {
	w.raw = binary.AppendUvarint(w.raw, uint64(len(payload)))
	w.raw = append(w.raw, payload...)
	w.count++
}

// encode compresses the payload if that saves an eighth or more, and returns the record: the length
// of the frame and the frame.
func (w *frameWriter) encode(log, index, first uint64) (record []byte) {
	whole, flags := w.raw, byte(0)
	raw := len(w.raw) - leadBytes
	if raw >= compressBytesMin {
		if need := leadBytes + s2.MaxEncodedLen(raw); cap(w.packed) < need {
			w.packed = make([]byte, need)
		}
		n := len(s2.Encode(w.packed[leadBytes:cap(w.packed)], w.raw[leadBytes:]))
		w.packed = w.packed[:leadBytes+n]
		if n <= raw-raw/8 {
			whole, flags = w.packed, flagS2
		}
	}
	frame := whole[binary.MaxVarintLen64:]
	le := binary.LittleEndian
	le.PutUint32(frame[0:], frameMagic)
	frame[8], frame[9], frame[10], frame[11] = frameVersion, flags, 0, 0
	le.PutUint32(frame[12:], w.count)
	le.PutUint64(frame[16:], log)
	le.PutUint64(frame[24:], index)
	le.PutUint64(frame[32:], first)
	le.PutUint32(frame[40:], uint32(raw))
	le.PutUint32(frame[44:], uint32(len(frame)-headerBytes))
	checksum(frame)
	at := binary.MaxVarintLen64 - uvarintLen(uint64(len(frame)))
	binary.PutUvarint(whole[at:], uint64(len(frame)))
	return whole[at:]
}

// checksum sets the checksum of a frame whose other bytes are complete.
func checksum(frame []byte) {
	binary.LittleEndian.PutUint32(frame[4:], crc32.Checksum(frame[8:], castagnoli))
}

// parseFrame checks a whole frame without decompressing its payload. The error is errTorn if the
// bytes differ from what was written, errFrame if they do not but are invalid, shared.ErrNewer if a
// newer program has written them.
func parseFrame(frame []byte) (header, error) {
	le := binary.LittleEndian
	if len(frame) < headerBytes || le.Uint32(frame) != frameMagic ||
		le.Uint32(frame[4:]) != crc32.Checksum(frame[8:], castagnoli) {
		return header{}, errTorn
	}
	h := header{
		flags: frame[9], count: le.Uint32(frame[12:]), log: le.Uint64(frame[16:]),
		index: le.Uint64(frame[24:]), first: le.Uint64(frame[32:]),
		raw: le.Uint32(frame[40:]), stored: le.Uint32(frame[44:]),
	}
	switch {
	case frame[8] > frameVersion:
		return h, fmt.Errorf("%w: format version %d, known is %d", shared.ErrNewer, frame[8],
			frameVersion)
	case frame[8] != frameVersion:
		return h, fmt.Errorf("%w: format version %d, known is %d", errFrame, frame[8], frameVersion)
	case h.flags&^flagS2 != 0 || frame[10] != 0 || frame[11] != 0:
		return h, fmt.Errorf("%w: unknown flags", errFrame)
	case int64(h.stored) != int64(len(frame)-headerBytes):
		return h, fmt.Errorf("%w: stored length %d of %d", errFrame, h.stored,
			len(frame)-headerBytes)
	case h.raw > rawBytesMax || h.flags&flagS2 == 0 && h.raw != h.stored:
		return h, fmt.Errorf("%w: raw length %d", errFrame, h.raw)
	case h.count == 0 || h.count > h.raw || h.index == 0 || h.first == 0 ||
		h.first+uint64(h.count) < h.first:
		return h, fmt.Errorf("%w: index %d, first position %d, %d entries", errFrame,
			h.index, h.first, h.count)
	}
	return h, nil
}

// unpack returns the raw payload of a checked frame. It is either a part of frame or uses buf,
// which is returned for the next call.
func unpack(h *header, frame, buf []byte) (raw, keep []byte, err error) {
	if h.flags&flagS2 == 0 {
		return frame[headerBytes:], buf, nil
	}
	size, err := s2.DecodedLen(frame[headerBytes:])
	if err != nil || size != int(h.raw) {
		return nil, buf, fmt.Errorf("%w: unpacks to %d bytes of %d: %v", errFrame, size, h.raw, err)
	}
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	raw, err = s2.Decode(buf[:cap(buf)], frame[headerBytes:])
	if err != nil {
		return nil, buf, fmt.Errorf("%w: %v", errFrame, err)
	}
	return raw, buf, nil
}

// eachEntry calls fn with the entries of a raw payload. It stops at the first error of fn and
// returns it; its own errors are errFrame.
func eachEntry(h *header, raw []byte, fn func(pos uint64, payload []byte) error) error {
	pos := h.first
	for n := uint32(0); n < h.count; n++ {
		size, k := binary.Uvarint(raw)
		if k <= 0 || size > uint64(len(raw)-k) {
			return fmt.Errorf("%w: entry %d runs over the end", errFrame, pos)
		}
		end := k + int(size)
		if err := fn(pos, raw[k:end:end]); err != nil {
			return err
		}
		raw = raw[end:]
		pos++
	}
	if len(raw) != 0 {
		return fmt.Errorf("%w: %d bytes behind the last entry", errFrame, len(raw))
	}
	return nil
}
