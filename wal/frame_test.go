package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	shared "pws/internal/disk"
)

// frameOf makes a frame of entries.
func frameOf(entries ...[]byte) []byte {
	var w frameWriter
	w.begin(0)
	for _, e := range entries {
		w.add(e)
	}
	record := w.encode(7, 3, 11)
	_, length := binary.Uvarint(record)
	return bytes.Clone(record[length:])
}

// entries unpacks a frame.
func entries(frame []byte) (header, [][]byte, error) {
	h, err := parseFrame(frame)
	if err != nil {
		return h, nil, err
	}
	raw, _, err := unpack(&h, frame, nil)
	if err != nil {
		return h, nil, err
	}
	var out [][]byte
	err = eachEntry(&h, raw, func(pos uint64, p []byte) error {
		if pos != h.first+uint64(len(out)) {
			return fmt.Errorf("position %d", pos)
		}
		out = append(out, bytes.Clone(p))
		return nil
	})
	return h, out, err
}

func TestFrameRoundTrip(t *testing.T) {
	for _, want := range [][][]byte{
		{nil},
		{[]byte("a")},
		{[]byte("a"), nil, bytes.Repeat([]byte("b"), 200)},
		{bytes.Repeat([]byte("entry "), 1000), []byte("x")},
		{incompressible(5000), incompressible(5000)},
		{incompressible(500), incompressible(70_000), nil},
	} {
		frame := frameOf(want...)
		h, got, err := entries(frame)
		if err != nil || len(got) != len(want) || h.log != 7 || h.index != 3 || h.first != 11 {
			t.Fatalf("%+v: %d of %d entries, %v", h, len(got), len(want), err)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("entry %d", i)
			}
		}
	}
}

// TestForgedFrames makes frames with a valid checksum and invalid content. They must be rejected
// with errFrame, not errTorn, because a torn tail is removed.
func TestForgedFrames(t *testing.T) {
	packed := bytes.Repeat([]byte("pack "), 1000)
	for name, forge := range map[string]func(f []byte) []byte{
		"version":        func(f []byte) []byte { f[8] = 0; return f },
		"flags":          func(f []byte) []byte { f[9] |= 2; return f },
		"reserved":       func(f []byte) []byte { f[11] = 1; return f },
		"no entries":     func(f []byte) []byte { f[12] = 0; return f },
		"too many":       func(f []byte) []byte { f[15] = 0xff; return f },
		"fewer":          func(f []byte) []byte { f[12]--; return f },
		"more":           func(f []byte) []byte { f[12]++; return f },
		"index 0":        func(f []byte) []byte { return overwrite(f, 24, 0, 8) },
		"position 0":     func(f []byte) []byte { return overwrite(f, 32, 0, 8) },
		"position end":   func(f []byte) []byte { return overwrite(f, 32, 0xff, 8) },
		"raw length":     func(f []byte) []byte { f[40]++; return f },
		"raw length max": func(f []byte) []byte { f[43] = 0xff; return f },
		"stored length":  func(f []byte) []byte { f[44]++; return f },
		"one byte more":  func(f []byte) []byte { return append(f, 0) },
		"not packed":     func(f []byte) []byte { f[9] ^= flagS2; return f },
		"payload":        func(f []byte) []byte { f[headerBytes] ^= 0x55; return f },
	} {
		for _, frame := range [][]byte{frameOf(packed, packed), frameOf([]byte("xy"), []byte("z"))} {
			frame = forge(frame)
			checksum(frame)
			if _, _, err := entries(frame); !errors.Is(err, errFrame) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func overwrite(f []byte, at int, b byte, n int) []byte {
	copy(f[at:], bytes.Repeat([]byte{b}, n))
	return f
}

// fixedDisk has one content for all files.
type fixedDisk struct {
	osDisk
	content []byte
}

func (d fixedDisk) ReadFile(string, []byte) ([]byte, error) { return d.content, nil }

// FuzzFrame decodes arbitrary bytes as a frame and as a segment, damages a frame that is sound, and
// takes a frame through a round trip.
func FuzzFrame(f *testing.F) {
	f.Add([]byte{}, uint32(0))
	f.Add([]byte("some content"), uint32(77))
	f.Add(bytes.Repeat([]byte("compressible content "), 50), uint32(48*8))
	f.Add(frameOf([]byte("a"), bytes.Repeat([]byte("b"), 500)), uint32(33))
	f.Add(frameOf(nil), uint32(1))
	f.Add([]byte("\x30PWSL"), uint32(5))
	f.Fuzz(func(t *testing.T, data []byte, bit uint32) {
		// Arbitrary bytes, as they are and with a right checksum.
		if _, _, err := entries(data); err != nil && !errors.Is(err, errTorn) &&
			!errors.Is(err, errFrame) {
			t.Fatal(err)
		}
		if len(data) >= headerBytes {
			forged := bytes.Clone(data)
			copy(forged, "PWSL")
			checksum(forged)
			if _, _, err := entries(forged); err != nil && !errors.Is(err, errFrame) &&
				!errors.Is(err, shared.ErrNewer) {
				t.Fatal(err)
			}
		}
		s := scanner{nextIndex: 1, disk: fixedDisk{content: data}}
		err := s.scanSegment(&segment{}, data, true)
		if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, shared.ErrNewer) {
			t.Fatal(err)
		}

		half := len(data) / 2
		frame := frameOf(data[:half], data[half:])
		_, got, err := entries(frame)
		if err != nil || len(got) != 2 || !bytes.Equal(append(got[0], got[1]...), data) {
			t.Fatalf("round trip: %v", err)
		}
		i := int(bit) % (len(frame) * 8)
		frame[i/8] ^= 1 << (i % 8)
		if _, err := parseFrame(frame); err == nil {
			t.Fatalf("bit %d is flipped and the frame is accepted", i)
		}
	})
}
