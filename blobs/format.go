package blobs

import (
	"bytes"
	"encoding/binary"

	"pws/internal/disk"
)

const (
	formatVersion = 1

	headerMagic   = "PWSPACK1"
	footerMagic   = "PWSPACKF"
	manifestMagic = "PWSBLOBS"
	manifestName  = "manifest"
	packPrefix    = "pack-"

	headerBytes       = disk.HeaderBytes
	blockHeadBytes    = 16
	entryBytes        = 52
	pageBytes         = 4096
	pageEntries       = 78
	footerBytes       = disk.FooterBytes
	manifestHeadBytes = 20

	// BlobBytesMax bounds one blob.
	BlobBytesMax = disk.ContentBytesMax
	// smallBytes is the size below which blobs share a block of about blockBytes.
	smallBytes = 4 << 10
	blockBytes = 32 << 10
)

var le = binary.LittleEndian

func packName(number uint32) string { return disk.NumberedName(packPrefix, number) }

func parsePackName(name string) (uint32, bool) { return disk.ParseName(name, packPrefix) }

func appendHeader(b []byte, number uint32) []byte {
	return disk.AppendHeader(b, headerMagic, formatVersion, number)
}

func checkHeader(name string, b []byte, number uint32) error {
	return disk.CheckHeader(name, b, headerMagic, formatVersion, number)
}

// appendBlock appends a complete block of raw content.
func appendBlock(b, raw []byte) []byte {
	start := len(b)
	b = append(b, make([]byte, blockHeadBytes)...)
	b, codec := disk.Encode(b, raw)
	head := b[start:]
	le.PutUint32(head[4:], uint32(len(head)-blockHeadBytes))
	le.PutUint32(head[8:], uint32(len(raw)))
	head[12] = codec
	le.PutUint32(head, disk.Checksum(head[4:]))
	return b
}

// parseBlock returns a checked block; what it stores aliases b.
func parseBlock(name string, offset int64, b []byte) (disk.Content, error) {
	var k disk.Content
	if len(b) < blockHeadBytes {
		return k, disk.Corrupt(name, offset, "block is shorter than its head")
	}
	if disk.Checksum(b[4:]) != le.Uint32(b) {
		return k, disk.Corrupt(name, offset, "block checksum does not match")
	}
	k.Raw, k.Codec, k.Stored = le.Uint32(b[8:]), b[12], b[blockHeadBytes:]
	if uint64(le.Uint32(b[4:])) != uint64(len(k.Stored)) || !k.Fits() {
		return k, disk.Corrupt(name, offset, "block head is not valid")
	}
	return k, nil
}

// entry says where a blob lies in its pack.
type entry struct {
	hash     Hash
	block    uint64 // offset of the block in the file
	at       uint32 // offset of the blob in the raw block
	size     uint32
	blockLen uint32 // of the block with its head
	dead     bool   // left out by a merge, Purge or Drop; not stored
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
	return le.AppendUint32(b, disk.Checksum(b[start:]))
}

// page is a checked page of the index.
type page struct {
	b []byte
	n int
}

func parsePage(name string, offset int64, b []byte) (page, error) {
	if len(b) != pageBytes || disk.Checksum(b[:pageBytes-4]) != le.Uint32(b[pageBytes-4:]) {
		return page{}, disk.Corrupt(name, offset, "index page checksum does not match")
	}
	n := int(le.Uint16(b[pageBytes-6:]))
	if n == 0 || n > pageEntries {
		return page{}, disk.Corrupt(name, offset, "index page has %d entries", n)
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
	return disk.AppendFooter(b, footerMagic, disk.Footer{
		Words:  [3]uint64{f.index, f.blobs, f.content},
		Number: f.number, IndexCRC: f.indexCRC,
	})
}

// parseFooter checks the last footerBytes of a pack of the given size.
func parseFooter(name string, b []byte, size int64) (footer, error) {
	g, err := disk.ParseFooter(name, b, size, footerMagic)
	if err != nil {
		return footer{}, err
	}
	f := footer{index: g.Words[0], blobs: g.Words[1], content: g.Words[2],
		number: g.Number, indexCRC: g.IndexCRC, crc: g.CRC}
	at := size - footerBytes
	if f.index < headerBytes || f.index > uint64(at) || f.blobs == 0 ||
		f.blobs > uint64(at)/entryBytes || int64(f.index)+f.pages()*pageBytes != at {
		return f, disk.Corrupt(name, at, "footer does not fit the file of %d bytes", size)
	}
	return f, nil
}

type manifest struct {
	next  uint32 // the number after the highest ever named
	packs []disk.FileRef
}

func appendManifest(b []byte, m manifest) []byte {
	start := len(b)
	b = append(b, manifestMagic...)
	b = le.AppendUint32(b, formatVersion)
	b = le.AppendUint32(b, m.next)
	return disk.AppendFileRefs(b, start, m.packs)
}

func parseManifest(name string, b []byte) (manifest, error) {
	var m manifest
	err := disk.CheckManifest(name, b, manifestMagic, formatVersion, manifestHeadBytes)
	if err != nil {
		return m, err
	}
	m.next = le.Uint32(b[12:])
	m.packs, err = disk.ParseFileRefs(name, b, manifestHeadBytes, uint64(m.next))
	return m, err
}
