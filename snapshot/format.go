package snapshot

import (
	"encoding/binary"
	"math"

	"pws/internal/disk"
)

const (
	// formatVersion is that of section files, manifestVersion that of manifests.
	formatVersion   = 2
	manifestVersion = 1

	sectionsPrefix = "sections-"
	manifestPrefix = "manifest-"

	headerMagic   = "PWSSECT1"
	footerMagic   = "PWSSECTF"
	manifestMagic = "PWSMANI1"

	headerBytes       = disk.HeaderBytes
	sectionHeadBytes  = 24
	footerBytes       = disk.FooterBytes
	manifestHeadBytes = 28

	kindSection  = 0
	kindDeletion = 1

	// KeyBytesMax bounds a key.
	KeyBytesMax = 64
	// SectionBytesMax bounds the content of one section; larger state is cut into chunks with a
	// key each.
	SectionBytesMax = disk.ContentBytesMax
)

var le = binary.LittleEndian

func sectionsName(number uint32) string { return disk.NumberedName(sectionsPrefix, number) }

func manifestName(generation uint32) string {
	return disk.NumberedName(manifestPrefix, generation)
}

func appendHeader(b []byte, number uint32) []byte {
	return disk.AppendHeader(b, headerMagic, formatVersion, number)
}

// checkHeader also says which version a file has.
func checkHeader(name string, b []byte, number uint32) (version uint32, err error) {
	version = formatVersion
	if len(b) >= headerBytes && le.Uint32(b[8:]) == 1 {
		version = 1
	}
	return version, disk.CheckHeader(name, b, headerMagic, version, number)
}

// seedOf is what the checksums of the sections of a file begin with: in version 1 nothing. The salt
// is drawn for each file, so that a section of another file, or of a file that had the same number
// in another history of the directory, does not pass.
func seedOf(version, number, salt uint32) uint32 {
	if version == 1 {
		return 0
	}
	return disk.Checksum(le.AppendUint32(le.AppendUint32(nil, number), salt))
}

// sectionHead is the fixed front of a section as stored.
type sectionHead struct {
	stored, raw uint32
	position    uint64
	codec       byte
	key         []byte
}

// appendSection appends one complete section. The caller has checked the limits.
func appendSection(b []byte, seed uint32, key string, position uint64, data []byte) []byte {
	start := len(b)
	b = append(b, make([]byte, sectionHeadBytes)...)
	b = append(b, key...)
	b, codec := disk.Encode(b, data)
	head := b[start:]
	le.PutUint32(head[4:], uint32(len(head)-sectionHeadBytes-len(key)))
	le.PutUint32(head[8:], uint32(len(data)))
	le.PutUint64(head[12:], position)
	head[20] = codec
	head[21] = byte(len(key))
	checksumSection(head, seed)
	return b
}

// checksumSection puts the checksum in front of a section.
func checksumSection(b []byte, seed uint32) { le.PutUint32(b, disk.UpdateChecksum(seed, b[4:])) }

// parseSection checks the bytes of one section and returns its parts; both alias b.
func parseSection(name string, offset int64, seed uint32, b []byte) (sectionHead, []byte, error) {
	var h sectionHead
	if len(b) < sectionHeadBytes {
		return h, nil, disk.Corrupt(name, offset, "section is shorter than its head")
	}
	if disk.UpdateChecksum(seed, b[4:]) != le.Uint32(b) {
		return h, nil, disk.Corrupt(name, offset, "section checksum does not match")
	}
	h.stored, h.raw = le.Uint32(b[4:]), le.Uint32(b[8:])
	h.position = le.Uint64(b[12:])
	h.codec = b[20]
	keyLen := int(b[21])
	if keyLen > KeyBytesMax || uint64(sectionHeadBytes+keyLen)+uint64(h.stored) != uint64(len(b)) {
		return h, nil, disk.Corrupt(name, offset, "section lengths do not add up")
	}
	stored := b[sectionHeadBytes+keyLen:]
	if !h.content(stored).Fits() {
		return h, nil, disk.Corrupt(name, offset, "section head is not valid")
	}
	h.key = b[sectionHeadBytes : sectionHeadBytes+keyLen]
	return h, stored, nil
}

func (h sectionHead) content(stored []byte) disk.Content {
	return disk.Content{Codec: h.codec, Raw: h.raw, Stored: stored}
}

// decodeSection returns the content of a parsed section; raw content aliases stored.
func decodeSection(name string, offset int64, h sectionHead, stored []byte) ([]byte, error) {
	return h.content(stored).Decode(name, offset, nil)
}

type footer struct {
	indexOffset, indexLen, keys uint64
	number, indexCRC, salt, crc uint32
}

func appendFooter(b []byte, f footer) []byte {
	return disk.AppendFooter(b, footerMagic, disk.Footer{
		Words:  [3]uint64{f.indexOffset, f.indexLen, f.keys},
		Number: f.number, IndexCRC: f.indexCRC, Salt: f.salt,
	})
}

// parseFooter checks the last footerBytes of a file of the given size.
func parseFooter(name string, b []byte, size int64) (footer, error) {
	g, err := disk.ParseFooter(name, b, size, footerMagic)
	if err != nil {
		return footer{}, err
	}
	f := footer{indexOffset: g.Words[0], indexLen: g.Words[1], keys: g.Words[2],
		number: g.Number, indexCRC: g.IndexCRC, salt: g.Salt, crc: g.CRC}
	at := size - footerBytes
	if f.indexOffset < headerBytes || f.indexOffset > uint64(at) ||
		f.indexLen != uint64(at)-f.indexOffset || f.keys > f.indexLen/5+1 {
		return f, disk.Corrupt(name, at, "footer does not fit the file of %d bytes", size)
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
	if uint64(len(b)) != f.indexLen || disk.Checksum(b) != f.indexCRC {
		return nil, disk.Corrupt(name, int64(f.indexOffset), "index checksum does not match")
	}
	t := &table{entries: make([]entry, 0, f.keys)}
	rest := b
	for len(rest) > 0 {
		keyLen := int(rest[0])
		if keyLen > KeyBytesMax || len(rest) < 2+keyLen || rest[1] > kindDeletion {
			return nil, disk.Corrupt(name, at(rest), "index entry is not valid")
		}
		e := entry{file: f.number, gone: rest[1] == kindDeletion}
		key := rest[2 : 2+keyLen]
		var numbers [3]uint64
		tail := rest[2+keyLen:]
		for i := range numbers {
			v, n := binary.Uvarint(tail)
			if n <= 0 {
				return nil, disk.Corrupt(name, at(rest), "index entry ends early")
			}
			numbers[i], tail = v, tail[n:]
		}
		e.position, e.offset = numbers[0], numbers[1]
		if !entryFits(e.gone, numbers[1], numbers[2], keyLen, f) {
			return nil, disk.Corrupt(name, at(rest), "index entry points outside the sections")
		}
		e.size = uint32(numbers[2])
		if n := t.len(); n > 0 && string(t.key(n-1)) >= string(key) {
			return nil, disk.Corrupt(name, at(rest), "index is not in order of keys")
		}
		if err := t.append(key, e); err != nil {
			return nil, disk.Corrupt(name, at(rest), "%v", err)
		}
		rest = tail
	}
	if uint64(t.len()) != f.keys {
		return nil, disk.Corrupt(name, int64(f.indexOffset), "index has %d keys instead of %d",
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

type manifest struct {
	generation uint32
	position   uint64
	files      []disk.FileRef
}

func appendManifest(b []byte, m manifest) []byte {
	start := len(b)
	b = append(b, manifestMagic...)
	b = le.AppendUint32(b, manifestVersion)
	b = le.AppendUint32(b, m.generation)
	b = le.AppendUint64(b, m.position)
	return disk.AppendFileRefs(b, start, m.files)
}

func parseManifest(name string, b []byte, generation uint32) (manifest, error) {
	var m manifest
	err := disk.CheckManifest(name, b, manifestMagic, manifestVersion, manifestHeadBytes)
	if err != nil {
		return m, err
	}
	m.generation, m.position = le.Uint32(b[12:]), le.Uint64(b[16:])
	if m.generation != generation {
		return m, disk.Corrupt(name, 12, "manifest says generation %d", m.generation)
	}
	m.files, err = disk.ParseFileRefs(name, b, manifestHeadBytes, uint64(generation)+1)
	return m, err
}
