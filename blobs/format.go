package blobs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

const (
	formatVersion = 1

	headerMagic   = "PWSPACK1"
	footerMagic   = "PWSPACKF"
	manifestMagic = "PWSBLOBS"
	manifestName  = "manifest"

	headerBytes       = 24
	blockHeadBytes    = 16
	entryBytes        = 52
	pageBytes         = 4096
	pageEntries       = 78
	footerBytes       = 48
	manifestHeadBytes = 20
	manifestPackBytes = 16
	manifestPacksMax  = 1 << 16

	// BlobBytesMax bounds one blob.
	BlobBytesMax = 256 << 20
	// smallBytes is the size below which blobs share a block of about blockBytes.
	smallBytes = 4 << 10
	blockBytes = 32 << 10
)

var le = binary.LittleEndian

func packName(number uint32) string { return fmt.Sprintf("pack-%08x", number) }

// parsePackName reads the number out of a name that packName has made.
func parsePackName(name string) (uint32, bool) {
	digits, ok := strings.CutPrefix(name, "pack-")
	var n uint32
	if !ok || len(digits) != 8 {
		return 0, false
	}
	if _, err := fmt.Sscanf(digits, "%08x", &n); err != nil {
		return 0, false
	}
	return n, packName(n) == name
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
		return corrupt(name, 0, "not a pack")
	case checksum(b[:20]) != le.Uint32(b[20:]):
		return corrupt(name, 0, "header checksum does not match")
	case le.Uint32(b[8:]) != formatVersion:
		return corrupt(name, 8, "format version %d is not known", le.Uint32(b[8:]))
	case le.Uint32(b[12:]) != number:
		return corrupt(name, 12, "header says pack %d", le.Uint32(b[12:]))
	}
	return nil
}

// appendBlock appends a complete block of raw content.
func appendBlock(b, raw []byte) []byte {
	start := len(b)
	b = append(b, make([]byte, blockHeadBytes)...)
	b, codec := compress(b, raw)
	head := b[start:]
	le.PutUint32(head[4:], uint32(len(head)-blockHeadBytes))
	le.PutUint32(head[8:], uint32(len(raw)))
	head[12] = codec
	le.PutUint32(head, checksum(head[4:]))
	return b
}

// block is a checked block as stored; stored aliases the bytes it was read into.
type block struct {
	raw    uint32
	codec  byte
	stored []byte
}

func parseBlock(name string, offset int64, b []byte) (block, error) {
	var k block
	if len(b) < blockHeadBytes {
		return k, corrupt(name, offset, "block is shorter than its head")
	}
	if checksum(b[4:]) != le.Uint32(b) {
		return k, corrupt(name, offset, "block checksum does not match")
	}
	k.raw, k.codec, k.stored = le.Uint32(b[8:]), b[12], b[blockHeadBytes:]
	if uint64(le.Uint32(b[4:])) != uint64(len(k.stored)) || k.codec > codecZstd ||
		k.raw > BlobBytesMax || (k.codec == codecRaw && int(k.raw) != len(k.stored)) {
		return k, corrupt(name, offset, "block head is not valid")
	}
	return k, nil
}

// decode returns the raw content: of a raw block the stored bytes themselves, otherwise in dst's
// space where that is large enough.
func (k block) decode(name string, offset int64, dst []byte) ([]byte, error) {
	if k.codec == codecRaw {
		return k.stored, nil
	}
	if cap(dst) < int(k.raw) {
		dst = make([]byte, 0, k.raw)
	}
	raw, err := decoder().DecodeAll(k.stored, dst[:0:k.raw])
	if err != nil {
		return nil, corrupt(name, offset, "block does not decompress: %v", err)
	}
	if len(raw) != int(k.raw) {
		return nil, corrupt(name, offset, "block has %d bytes instead of %d", len(raw), k.raw)
	}
	return raw, nil
}

// entry says where a blob lies in its pack.
type entry struct {
	hash     Hash
	block    uint64 // offset of the block in the file
	at       uint32 // offset of the blob in the raw block
	size     uint32
	blockLen uint32 // of the block with its head
	dead     bool   // used by Merge; not stored
}

func appendEntry(b []byte, e entry) []byte {
	b = append(b, e.hash[:]...)
	b = le.AppendUint64(b, e.block)
	b = le.AppendUint32(b, e.at)
	b = le.AppendUint32(b, e.size)
	return le.AppendUint32(b, e.blockLen)
}

func parseEntry(b []byte) entry {
	return entry{hash: Hash(b[:32]), block: le.Uint64(b[32:]), at: le.Uint32(b[40:]),
		size: le.Uint32(b[44:]), blockLen: le.Uint32(b[48:])}
}

// appendPage appends a page of at most pageEntries entries.
func appendPage(b []byte, entries []entry) []byte {
	start := len(b)
	for _, e := range entries {
		b = appendEntry(b, e)
	}
	b = append(b, make([]byte, pageBytes-6-(len(b)-start))...)
	b = le.AppendUint16(b, uint16(len(entries)))
	return le.AppendUint32(b, checksum(b[start:]))
}

// page is a checked page of the index.
type page struct {
	b []byte
	n int
}

func parsePage(name string, offset int64, b []byte) (page, error) {
	if len(b) != pageBytes || checksum(b[:pageBytes-4]) != le.Uint32(b[pageBytes-4:]) {
		return page{}, corrupt(name, offset, "index page checksum does not match")
	}
	n := int(le.Uint16(b[pageBytes-6:]))
	if n == 0 || n > pageEntries {
		return page{}, corrupt(name, offset, "index page has %d entries", n)
	}
	return page{b, n}, nil
}

func (p page) hash(i int) []byte { return p.b[i*entryBytes : i*entryBytes+32] }

func (p page) entry(i int) entry { return parseEntry(p.b[i*entryBytes:]) }

func (p page) find(h *Hash) (entry, bool) {
	lo, hi := 0, p.n
	for lo < hi {
		mid := (lo + hi) / 2
		switch bytes.Compare(p.hash(mid), h[:]) {
		case 0:
			return p.entry(mid), true
		case -1:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return entry{}, false
}

type footer struct {
	index         uint64 // offset of the first page
	blobs         uint64
	content       uint64 // bytes of all blobs
	number        uint32
	indexCRC, crc uint32
}

func (f footer) pages() int64 { return (int64(f.blobs) + pageEntries - 1) / pageEntries }

func appendFooter(b []byte, f footer) []byte {
	start := len(b)
	b = le.AppendUint64(b, f.index)
	b = le.AppendUint64(b, f.blobs)
	b = le.AppendUint64(b, f.content)
	b = le.AppendUint32(b, f.number)
	b = le.AppendUint32(b, f.indexCRC)
	b = le.AppendUint32(b, 0)
	b = append(b, footerMagic...)
	return le.AppendUint32(b, checksum(b[start:]))
}

// parseFooter checks the last footerBytes of a pack of the given size.
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
	f.index, f.blobs, f.content = le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])
	f.number, f.indexCRC = le.Uint32(b[24:]), le.Uint32(b[28:])
	if f.index < headerBytes || f.index > uint64(at) || f.blobs == 0 ||
		f.blobs > uint64(at)/entryBytes || int64(f.index)+f.pages()*pageBytes != at {
		return f, corrupt(name, at, "footer does not fit the file of %d bytes", size)
	}
	return f, nil
}

type manifestPack struct {
	number, footerCRC uint32
	size              int64
}

type manifest struct {
	next  uint32 // the number after the highest ever named
	packs []manifestPack
}

func appendManifest(b []byte, m manifest) []byte {
	start := len(b)
	b = append(b, manifestMagic...)
	b = le.AppendUint32(b, formatVersion)
	b = le.AppendUint32(b, m.next)
	b = le.AppendUint32(b, uint32(len(m.packs)))
	for _, p := range m.packs {
		b = le.AppendUint32(b, p.number)
		b = le.AppendUint64(b, uint64(p.size))
		b = le.AppendUint32(b, p.footerCRC)
	}
	return le.AppendUint32(b, checksum(b[start:]))
}

func parseManifest(name string, b []byte) (manifest, error) {
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
	m.next = le.Uint32(b[12:])
	n := int64(le.Uint32(b[16:]))
	if n > manifestPacksMax || manifestHeadBytes+n*manifestPackBytes != int64(end) {
		return m, corrupt(name, 16, "manifest length does not fit %d packs", n)
	}
	for i := range n {
		at := manifestHeadBytes + i*manifestPackBytes
		p := manifestPack{number: le.Uint32(b[at:]), footerCRC: le.Uint32(b[at+12:])}
		size := le.Uint64(b[at+4:])
		p.size = int64(size)
		if size > math.MaxInt64 || p.number >= m.next ||
			(i > 0 && p.number <= m.packs[i-1].number) {
			return m, corrupt(name, at, "manifest names pack %d out of order", p.number)
		}
		m.packs = append(m.packs, p)
	}
	return m, nil
}
