package snapshot

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

const (
	formatVersion = 1

	headerMagic   = "PWSSECT1"
	footerMagic   = "PWSSECTF"
	manifestMagic = "PWSMANI1"

	headerBytes       = 24
	sectionHeadBytes  = 24
	footerBytes       = 48
	manifestHeadBytes = 28
	manifestFileBytes = 16

	kindSection  = 0
	kindDeletion = 1

	// KeyBytesMax bounds a key.
	KeyBytesMax = 64
	// SectionBytesMax bounds the content of one section; larger state is cut into chunks with a
	// key each.
	SectionBytesMax = 256 << 20
	// manifestFilesLimit bounds what a manifest may claim; the store itself stays far below.
	manifestFilesLimit = 1 << 16
)

var le = binary.LittleEndian

func sectionsName(number uint32) string { return fmt.Sprintf("sections-%08x", number) }

func manifestName(generation uint32) string { return fmt.Sprintf("manifest-%08x", generation) }

// parseName reads the number out of a name that the two functions above have made.
func parseName(name, prefix string) (uint32, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok || len(digits) != 8 {
		return 0, false
	}
	var n uint32
	for _, c := range []byte(digits) {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uint32(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uint32(c-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

func appendHeader(b []byte, number uint32) []byte {
	start := len(b)
	b = append(b, headerMagic...)
	b = le.AppendUint32(b, formatVersion)
	b = le.AppendUint32(b, number)
	b = le.AppendUint32(b, 0)
	return le.AppendUint32(b, checksum(b[start:]))
}

func checkHeader(name string, b []byte, number uint32) error {
	switch {
	case len(b) < headerBytes:
		return corrupt(name, 0, "file ends inside its header")
	case string(b[:8]) != headerMagic:
		return corrupt(name, 0, "not a section file")
	case checksum(b[:20]) != le.Uint32(b[20:]):
		return corrupt(name, 0, "header checksum does not match")
	case le.Uint32(b[8:]) != formatVersion:
		return corrupt(name, 8, "format version %d is not known", le.Uint32(b[8:]))
	case le.Uint32(b[12:]) != number:
		return corrupt(name, 12, "header says file %d", le.Uint32(b[12:]))
	}
	return nil
}

// sectionHead is the fixed front of a section as stored.
type sectionHead struct {
	stored, raw uint32
	position    uint64
	codec       byte
	key         []byte
}

// appendSection appends one complete section. The caller has checked the limits.
func appendSection(b []byte, key string, position uint64, data []byte) []byte {
	start := len(b)
	b = append(b, make([]byte, sectionHeadBytes)...)
	b = append(b, key...)
	b, codec := compress(b, data)
	head := b[start:]
	le.PutUint32(head[4:], uint32(len(head)-sectionHeadBytes-len(key)))
	le.PutUint32(head[8:], uint32(len(data)))
	le.PutUint64(head[12:], position)
	head[20] = codec
	head[21] = byte(len(key))
	le.PutUint32(head, checksum(head[4:]))
	return b
}

// parseSection checks the bytes of one section and returns its parts; both alias b.
func parseSection(name string, offset int64, b []byte) (sectionHead, []byte, error) {
	var h sectionHead
	if len(b) < sectionHeadBytes {
		return h, nil, corrupt(name, offset, "section is shorter than its head")
	}
	if checksum(b[4:]) != le.Uint32(b) {
		return h, nil, corrupt(name, offset, "section checksum does not match")
	}
	h.stored, h.raw = le.Uint32(b[4:]), le.Uint32(b[8:])
	h.position = le.Uint64(b[12:])
	h.codec = b[20]
	keyLen := int(b[21])
	if keyLen > KeyBytesMax || uint64(sectionHeadBytes+keyLen)+uint64(h.stored) != uint64(len(b)) {
		return h, nil, corrupt(name, offset, "section lengths do not add up")
	}
	if h.raw > SectionBytesMax || h.codec > codecZstd ||
		(h.codec == codecRaw && h.raw != h.stored) {
		return h, nil, corrupt(name, offset, "section head is not valid")
	}
	h.key = b[sectionHeadBytes : sectionHeadBytes+keyLen]
	return h, b[sectionHeadBytes+keyLen:], nil
}

// decodeSection returns the content of a parsed section; raw content aliases stored.
func decodeSection(name string, offset int64, h sectionHead, stored []byte) ([]byte, error) {
	if h.codec == codecRaw {
		return stored, nil
	}
	data, err := decoder().DecodeAll(stored, make([]byte, 0, h.raw))
	if err != nil {
		return nil, corrupt(name, offset, "section does not decompress: %v", err)
	}
	if uint64(len(data)) != uint64(h.raw) {
		return nil, corrupt(name, offset, "section has %d bytes instead of %d", len(data), h.raw)
	}
	return data, nil
}

type footer struct {
	indexOffset, indexLen, keys uint64
	number, indexCRC, crc       uint32
}

func appendFooter(b []byte, f footer) []byte {
	start := len(b)
	b = le.AppendUint64(b, f.indexOffset)
	b = le.AppendUint64(b, f.indexLen)
	b = le.AppendUint64(b, f.keys)
	b = le.AppendUint32(b, f.number)
	b = le.AppendUint32(b, f.indexCRC)
	b = le.AppendUint32(b, 0)
	b = append(b, footerMagic...)
	return le.AppendUint32(b, checksum(b[start:]))
}

// parseFooter checks the last footerBytes of a file of the given size.
func parseFooter(name string, b []byte, size int64) (footer, error) {
	var f footer
	at := size - footerBytes
	if len(b) != footerBytes || at < headerBytes {
		return f, corrupt(name, 0, "file of %d bytes is too short", size)
	}
	f.crc = le.Uint32(b[44:])
	if string(b[36:44]) != footerMagic || checksum(b[:44]) != f.crc {
		return f, corrupt(name, at, "footer checksum does not match")
	}
	f.indexOffset, f.indexLen, f.keys = le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])
	f.number, f.indexCRC = le.Uint32(b[24:]), le.Uint32(b[28:])
	if f.indexOffset < headerBytes || f.indexOffset > uint64(at) ||
		f.indexLen != uint64(at)-f.indexOffset || f.keys > f.indexLen/5+1 {
		return f, corrupt(name, at, "footer does not fit the file of %d bytes", size)
	}
	return f, nil
}

func appendIndexEntry(b []byte, key []byte, e entry) []byte {
	kind := byte(kindSection)
	if e.gone {
		kind = kindDeletion
	}
	b = append(b, byte(len(key)), kind)
	b = append(b, key...)
	b = binary.AppendUvarint(b, e.position)
	b = binary.AppendUvarint(b, e.offset)
	return binary.AppendUvarint(b, uint64(e.size))
}

// parseIndex reads the index of a file into a table. Every fault names its offset in the file.
func parseIndex(name string, b []byte, f footer) (*table, error) {
	at := func(rest []byte) int64 { return int64(f.indexOffset) + int64(len(b)-len(rest)) }
	if uint64(len(b)) != f.indexLen || checksum(b) != f.indexCRC {
		return nil, corrupt(name, int64(f.indexOffset), "index checksum does not match")
	}
	t := &table{entries: make([]entry, 0, f.keys)}
	rest := b
	for len(rest) > 0 {
		keyLen := int(rest[0])
		if keyLen > KeyBytesMax || len(rest) < 2+keyLen || rest[1] > kindDeletion {
			return nil, corrupt(name, at(rest), "index entry is not valid")
		}
		e := entry{file: f.number, gone: rest[1] == kindDeletion}
		key := rest[2 : 2+keyLen]
		var numbers [3]uint64
		tail := rest[2+keyLen:]
		for i := range numbers {
			v, n := binary.Uvarint(tail)
			if n <= 0 {
				return nil, corrupt(name, at(rest), "index entry ends early")
			}
			numbers[i], tail = v, tail[n:]
		}
		e.position, e.offset = numbers[0], numbers[1]
		if !entryFits(e.gone, numbers[1], numbers[2], keyLen, f) {
			return nil, corrupt(name, at(rest), "index entry points outside the sections")
		}
		e.size = uint32(numbers[2])
		if n := t.len(); n > 0 && string(t.key(n-1)) >= string(key) {
			return nil, corrupt(name, at(rest), "index is not in order of keys")
		}
		if err := t.append(key, e); err != nil {
			return nil, corrupt(name, at(rest), "%v", err)
		}
		rest = tail
	}
	if uint64(t.len()) != f.keys {
		return nil, corrupt(name, int64(f.indexOffset), "index has %d keys instead of %d",
			t.len(), f.keys)
	}
	return t, nil
}

func entryFits(gone bool, offset, size uint64, keyLen int, f footer) bool {
	if gone {
		return offset == 0 && size == 0
	}
	return size >= uint64(sectionHeadBytes+keyLen) && size <= math.MaxUint32 &&
		offset >= headerBytes && offset <= f.indexOffset && size <= f.indexOffset-offset
}

type manifestFile struct {
	number, footerCRC uint32
	size              int64
}

type manifest struct {
	generation uint32
	position   uint64
	files      []manifestFile
}

func appendManifest(b []byte, m manifest) []byte {
	start := len(b)
	b = append(b, manifestMagic...)
	b = le.AppendUint32(b, formatVersion)
	b = le.AppendUint32(b, m.generation)
	b = le.AppendUint64(b, m.position)
	b = le.AppendUint32(b, uint32(len(m.files)))
	for _, f := range m.files {
		b = le.AppendUint32(b, f.number)
		b = le.AppendUint64(b, uint64(f.size))
		b = le.AppendUint32(b, f.footerCRC)
	}
	return le.AppendUint32(b, checksum(b[start:]))
}

func parseManifest(name string, b []byte, generation uint32) (manifest, error) {
	var m manifest
	if len(b) < manifestHeadBytes+4 {
		return m, corrupt(name, int64(len(b)), "manifest ends early")
	}
	if string(b[:8]) != manifestMagic {
		return m, corrupt(name, 0, "not a manifest")
	}
	end := len(b) - 4
	if checksum(b[:end]) != le.Uint32(b[end:]) {
		return m, corrupt(name, 0, "manifest checksum does not match")
	}
	if v := le.Uint32(b[8:]); v != formatVersion {
		return m, corrupt(name, 8, "format version %d is not known", v)
	}
	m.generation, m.position = le.Uint32(b[12:]), le.Uint64(b[16:])
	n := int64(le.Uint32(b[24:]))
	if m.generation != generation {
		return m, corrupt(name, 12, "manifest says generation %d", m.generation)
	}
	if n > manifestFilesLimit || manifestHeadBytes+n*manifestFileBytes != int64(end) {
		return m, corrupt(name, 24, "manifest length does not fit %d files", n)
	}
	for i := range n {
		at := manifestHeadBytes + i*manifestFileBytes
		f := manifestFile{number: le.Uint32(b[at:]), footerCRC: le.Uint32(b[at+12:])}
		size := le.Uint64(b[at+4:])
		f.size = int64(size)
		if size > math.MaxInt64 || f.number > generation ||
			(i > 0 && f.number <= m.files[i-1].number) {
			return m, corrupt(name, at, "manifest names file %d out of order", f.number)
		}
		m.files = append(m.files, f)
	}
	return m, nil
}
