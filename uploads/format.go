package uploads

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"pws/internal/disk"
)

const (
	magic         = "PWSUPLD1"
	formatVersion = 1
	headBytes     = 76
	tmpSuffix     = ".tmp"

	// RecordNumber and NoteNumber are the numbers of the record and the note of an upload.
	RecordNumber = 0
	NoteNumber   = math.MaxUint32
	// ContentBytesMax bounds one content.
	ContentBytesMax = 64 << 20
)

var le = binary.LittleEndian

// Key names an upload.
type Key [16]byte

// Part is what is known of a file.
type Part struct {
	Number uint32
	// Size is that of the content, in bytes.
	Size int
	// At is when it was stored, in Unix milliseconds.
	At     int64
	SHA256 [sha256.Size]byte

	stored   int
	codec    byte
	checksum uint32
}

// fileBytes is the size of the file.
func (p *Part) fileBytes() int64 { return headBytes + int64(p.stored) }

func fileName(key Key, number uint32) string {
	return fmt.Sprintf("%x-%08x", key[:], number)
}

func parseName(name string) (key Key, number uint32, ok bool) {
	text, digits, found := strings.Cut(name, "-")
	raw, err := hex.DecodeString(text)
	if !found || err != nil || len(raw) != len(key) || len(digits) != 8 {
		return key, 0, false
	}
	parsed, err := strconv.ParseUint(digits, 16, 32)
	key, number = Key(raw), uint32(parsed)
	return key, number, err == nil && name == fileName(key, number)
}

// RecordOfNote reports whether a file is a note, and returns the file of the record it belongs to.
func RecordOfNote(name string) (record string, is bool) {
	key, number, ok := parseName(name)
	return fileName(key, RecordNumber), ok && number == NoteNumber
}

// encode returns the file of a content.
func encode(number uint32, at int64, content []byte) (Part, []byte) {
	p := Part{Number: number, Size: len(content), At: at, SHA256: sha256.Sum256(content)}
	out, codec := disk.Encode(make([]byte, headBytes, headBytes+len(content)/2), content)
	p.codec, p.stored = codec, len(out)-headBytes
	p.checksum = disk.Checksum(out[headBytes:])
	head := append(out[:0], magic...)
	head = le.AppendUint32(head, formatVersion)
	head = le.AppendUint32(head, number)
	head = le.AppendUint32(head, uint32(p.Size))
	head = le.AppendUint32(head, uint32(p.stored))
	head = append(head, codec, 0, 0, 0)
	head = le.AppendUint64(head, uint64(at))
	head = append(head, p.SHA256[:]...)
	head = le.AppendUint32(head, p.checksum)
	le.AppendUint32(head, disk.Checksum(head))
	return p, out
}

// parseHead checks the head of a file of a size.
func parseHead(name string, b []byte, number uint32, size int64) (Part, error) {
	switch {
	case len(b) != headBytes || string(b[:8]) != magic:
		return Part{}, disk.Corrupt(name, 0, "file does not begin with %s", magic)
	case disk.Checksum(b[:headBytes-4]) != le.Uint32(b[headBytes-4:]):
		return Part{}, disk.Corrupt(name, 0, "header checksum does not match")
	case le.Uint32(b[8:]) != formatVersion:
		return Part{}, disk.UnknownVersion(name, 8, le.Uint32(b[8:]), formatVersion)
	case le.Uint32(b[12:]) != number:
		return Part{}, disk.Corrupt(name, 12, "header says number %d", le.Uint32(b[12:]))
	}
	p := Part{
		Number: number, Size: int(le.Uint32(b[16:])), stored: int(le.Uint32(b[20:])), codec: b[24],
		At: int64(le.Uint64(b[28:])), SHA256: [sha256.Size]byte(b[36:68]),
		checksum: le.Uint32(b[68:]),
	}
	if p.fileBytes() != size || p.Size > ContentBytesMax {
		return Part{}, disk.Corrupt(name, 16, "file has %d bytes instead of %d", size, p.fileBytes())
	}
	return p, nil
}

// decode returns the content of a file behind its head.
func (p *Part) decode(name string, stored []byte) ([]byte, error) {
	if disk.Checksum(stored) != p.checksum {
		return nil, disk.Corrupt(name, headBytes, "content checksum does not match")
	}
	held := disk.Content{Codec: p.codec, Raw: uint32(p.Size), Stored: stored}
	if !held.Fits() {
		return nil, disk.Corrupt(name, headBytes, "content does not fit its header")
	}
	content, err := held.Decode(name, headBytes, nil)
	if err == nil && sha256.Sum256(content) != p.SHA256 {
		err = disk.Corrupt(name, headBytes, "content does not match its hash")
	}
	return content, err
}
