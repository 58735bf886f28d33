package blobs

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"

	"pws/internal/disk"
)

// pack is an open pack file. It is immutable; reading from it after it was closed gives
// os.ErrClosed, and the reader looks at the newer list of packs.
type pack struct {
	name   string
	number uint32
	size   int64
	footer footer
	f      disk.File
	first  []uint64 // per page, the first eight bytes of its first hash
	bloom  bloom
	stuck  atomic.Bool // damaged: TryMerge leaves it alone
	held   atomic.Pointer[heldIndex]
}

// openPack opens a pack and checks all but its blocks. Where footerCRC is given the footer has to
// be that one: a well-formed file from another time does not pass.
func openPack(
	d disk.Disk, dir string, number uint32, size int64, footerCRC *uint32,
) (*pack, error) {
	path := filepath.Join(dir, packName(number))
	f, err := d.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, disk.Corrupt(path, 0, "pack is named by the manifest and missing")
	}
	if err != nil {
		return nil, err
	}
	p := &pack{name: path, number: number, size: size, f: f}
	if err := p.load(footerCRC); err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

func (p *pack) load(footerCRC *uint32) error {
	size, err := p.f.Size()
	if err != nil {
		return err
	}
	if size != p.size || size < headerBytes+footerBytes {
		return disk.Corrupt(p.name, min(size, p.size), "file has %d bytes instead of %d", size, p.size)
	}
	head := make([]byte, headerBytes)
	if err := disk.ReadRange(p.f, p.name, 0, head); err != nil {
		return err
	}
	if err := checkHeader(p.name, head, p.number); err != nil {
		return err
	}
	tail := make([]byte, footerBytes)
	if err := disk.ReadRange(p.f, p.name, size-footerBytes, tail); err != nil {
		return err
	}
	if p.footer, err = parseFooter(p.name, tail, size); err != nil {
		return err
	}
	if p.footer.number != p.number || (footerCRC != nil && p.footer.crc != *footerCRC) {
		return disk.Corrupt(p.name, size-footerBytes, "footer is not the one of the manifest")
	}
	return p.loadIndex()
}

// loadIndex checks every entry and makes the parts that stay in memory.
func (p *pack) loadIndex() error {
	p.bloom = newBloom(p.footer.blobs)
	p.first = make([]uint64, 0, p.footer.pages())
	var crc uint32
	var n, content uint64
	var last Hash
	err := p.eachPage(func(at int64, b []byte, g page) error {
		crc = disk.UpdateChecksum(crc, b)
		for i := range g.n {
			e := g.entry(i)
			if n > 0 && string(last[:]) >= string(e.hash[:]) {
				return disk.Corrupt(p.name, at, "index is not in order of hashes")
			}
			if !p.fits(e) {
				return disk.Corrupt(p.name, at, "index entry points outside the blocks")
			}
			if i == 0 {
				p.first = append(p.first, prefix(&e.hash))
			}
			p.bloom.add(&e.hash)
			last = e.hash
			content += uint64(e.size)
			n++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if crc != p.footer.indexCRC || n != p.footer.blobs || content != p.footer.content {
		return disk.Corrupt(p.name, int64(p.footer.index), "index is not the one of the footer")
	}
	return nil
}

// prefix orders like the hash itself.
func prefix(h *Hash) uint64 {
	var x uint64
	for _, b := range h[:8] {
		x = x<<8 | uint64(b)
	}
	return x
}

func (p *pack) fits(e entry) bool {
	return e.blockLen >= blockHeadBytes && e.block >= headerBytes && e.block < p.footer.index &&
		uint64(e.blockLen) <= p.footer.index-e.block &&
		uint64(e.at)+uint64(e.size) <= BlobBytesMax
}

// eachPage goes through the index with large reads. b is the page's bytes.
func (p *pack) eachPage(visit func(at int64, b []byte, g page) error) error {
	const chunkPages = 64
	pages := p.footer.pages()
	buf := make([]byte, min(pages, chunkPages)*pageBytes)
	for i := int64(0); i < pages; i += chunkPages {
		b := buf[:min(chunkPages, pages-i)*pageBytes]
		at := int64(p.footer.index) + i*pageBytes
		if err := disk.ReadRange(p.f, p.name, at, b); err != nil {
			return err
		}
		for ; len(b) > 0; b, at = b[pageBytes:], at+pageBytes {
			g, err := parsePage(p.name, at, b[:pageBytes])
			if err != nil {
				return err
			}
			if full := len(b) > pageBytes || i+chunkPages < pages; full && g.n != pageEntries {
				return disk.Corrupt(p.name, at, "index page is not full")
			}
			if err := visit(at, b[:pageBytes], g); err != nil {
				return err
			}
		}
	}
	return nil
}

var pageBuffers = sync.Pool{New: func() any { return new([pageBytes]byte) }}

// find looks a hash up: filter, then the page that would hold it. Several pages are read only if
// hashes share their first eight bytes.
func (p *pack) find(h *Hash) (entry, bool, error) {
	if !p.bloom.mayHave(h) {
		return entry{}, false, nil
	}
	x := prefix(h)
	i := max(sort.Search(len(p.first), func(i int) bool { return p.first[i] >= x })-1, 0)
	held := p.held.Load()
	var b *[pageBytes]byte
	if held == nil {
		b = pageBuffers.Get().(*[pageBytes]byte)
		defer pageBuffers.Put(b)
	}
	for ; i < len(p.first) && p.first[i] <= x; i++ {
		var g page
		if held != nil {
			g = held.page(i)
		} else {
			var err error
			if g, err = p.readPage(i, b); err != nil {
				return entry{}, false, err
			}
		}
		if e, ok := g.find(h); ok {
			if !p.fits(e) {
				return entry{}, false, disk.Corrupt(p.name, p.pageOffset(i),
					"index entry points outside the blocks")
			}
			return e, true, nil
		}
	}
	return entry{}, false, nil
}

func (p *pack) pageOffset(number int) int64 {
	return int64(p.footer.index) + int64(number)*pageBytes
}

// readPage reads a page of the index into b.
func (p *pack) readPage(number int, b *[pageBytes]byte) (page, error) {
	at := p.pageOffset(number)
	if err := disk.ReadRange(p.f, p.name, at, b[:]); err != nil {
		return page{}, err
	}
	return parsePage(p.name, at, b[:])
}

var blockBuffers = sync.Pool{New: func() any { return new(blockBuffer) }}

type blockBuffer struct{ stored, raw []byte }

// read returns the content of a blob in memory of its own, hash checked.
func (p *pack) read(e entry) ([]byte, error) {
	bb := blockBuffers.Get().(*blockBuffer)
	defer blockBuffers.Put(bb)
	stored := bb.stored
	if shared := e.blockLen <= 2*blockBytes; !shared || cap(stored) < int(e.blockLen) {
		stored = make([]byte, e.blockLen)
		if shared {
			bb.stored = stored
		}
	}
	stored = stored[:e.blockLen]
	if err := disk.ReadRange(p.f, p.name, int64(e.block), stored); err != nil {
		return nil, err
	}
	k, err := parseBlock(p.name, int64(e.block), stored)
	if err != nil {
		return nil, err
	}
	dst := bb.raw
	if k.Raw > 2*blockBytes {
		dst = nil
	} else if cap(dst) < int(k.Raw) {
		dst = make([]byte, 0, 2*blockBytes)
		bb.raw = dst
	}
	raw, err := k.Decode(p.name, int64(e.block), dst)
	if err != nil {
		return nil, err
	}
	content, err := p.cut(e, raw)
	if err != nil {
		return nil, err
	}
	// Only a block of the blob alone, in a buffer that is not pooled, is handed out as it is.
	pooled := k.Raw <= 2*blockBytes
	if k.Codec == disk.CodecRaw {
		pooled = e.blockLen <= 2*blockBytes
	}
	if pooled || len(content) != len(raw) {
		content = append(make([]byte, 0, len(content)), content...)
	}
	return content, nil
}

// cut takes a blob out of its raw block and checks its hash.
func (p *pack) cut(e entry, raw []byte) ([]byte, error) {
	if uint64(e.at)+uint64(e.size) > uint64(len(raw)) {
		return nil, disk.Corrupt(p.name, int64(e.block), "blob %v lies outside its block", e.hash)
	}
	content := raw[e.at : e.at+e.size : e.at+e.size]
	if Sum(content) != e.hash {
		return nil, disk.Corrupt(p.name, int64(e.block), "content does not have the hash %v", e.hash)
	}
	return content, nil
}

// walkBlobs is about how many entries a walk has in memory at a time.
const walkBlobs = 1 << 17

// walk goes through the blocks in order of the file, with the entries of each. whole is the block
// as stored with its head, not yet checked. mark, unless it is nil, is called BEFORE for each
// entry, with its number in the order of hashes. yield is called between small steps.
//
// The index is read once for each part of the file, so that memory does not grow with the pack.
func (p *pack) walk(
	mark func(nth int, e *entry), yield func(), visit func(whole []byte, entries []entry) error,
) error {
	parts := p.footer.blobs/walkBlobs + 1
	width := p.footer.index/parts + 1
	all := make([]entry, 0, p.footer.blobs/parts*9/8)
	var buf []byte
	for part := range parts {
		first, last := part*width, part*width+width-1
		if part == parts-1 {
			last = math.MaxUint64
		}
		var err error
		if all, err = p.entriesOf(all[:0], first, last, mark, yield); err != nil {
			return err
		}
		sortByBlock(all, yield)
		for rest := all; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].block == rest[0].block {
				n++
			}
			if buf, err = p.readBlock(buf, &rest[0]); err != nil {
				return err
			}
			if err := visit(buf, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	return nil
}

// entriesOf appends the entries whose blocks begin in a range.
func (p *pack) entriesOf(
	all []entry, first, last uint64, mark func(nth int, e *entry), yield func(),
) ([]entry, error) {
	nth := 0
	err := p.eachPage(func(_ int64, _ []byte, g page) error {
		yield()
		for i := range g.n {
			if e := g.entry(i); first <= e.block && e.block <= last {
				all = append(all, e)
				if mark != nil {
					mark(nth, &all[len(all)-1])
				}
			}
			nth++
		}
		return nil
	})
	return all, err
}

// readBlock reads the block of an entry as it is stored, into buf or into a longer one.
func (p *pack) readBlock(buf []byte, e *entry) ([]byte, error) {
	size := int(e.blockLen)
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	return buf[:size], disk.ReadRange(p.f, p.name, int64(e.block), buf[:size])
}

// check reads every block and checks every hash. each is called for the sound blobs, note for each
// fault with the blobs that it spoils; without note the first fault ends the pass. yield is called
// between small steps.
func (p *pack) check(
	yield func(), each func(Hash, int64), note func(err error, of []entry) error,
) error {
	if note == nil {
		note = func(err error, _ []entry) error { return err }
	}
	var dst []byte
	return p.walk(nil, yield, func(whole []byte, entries []entry) error {
		offset := int64(entries[0].block)
		k, err := parseBlock(p.name, offset, whole)
		if err != nil {
			return note(err, entries)
		}
		raw, err := k.Decode(p.name, offset, dst)
		if err != nil {
			return note(err, entries)
		}
		if k.Codec == disk.CodecZstd {
			dst = raw
		}
		for i, e := range entries {
			content, err := p.cut(e, raw)
			if err == nil && each != nil {
				each(e.hash, int64(len(content)))
			}
			if err != nil {
				if err := note(err, entries[i:i+1]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
