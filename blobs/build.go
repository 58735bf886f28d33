package blobs

import (
	"errors"
	"path/filepath"
	"slices"

	"pws/internal/disk"
)

const writeBufferBytes = 1 << 20

// builder writes one pack.
type builder struct {
	d      disk.Disk
	dir    string
	number uint32
	f      disk.File
	tmp    string

	buf     []byte
	offset  uint64 // of the next block
	small   []byte // content of the block being collected
	open    int    // entries of that block: the last ones
	entries []entry
	// damaged has the offsets of the blocks that were damaged when they were taken over.
	damaged map[int64]bool
	// yield is called between small steps.
	yield func()
}

func newBuilder(d disk.Disk, dir string, number uint32) (*builder, error) {
	b := &builder{d: d, dir: dir, number: number, offset: headerBytes, yield: func() {},
		tmp: filepath.Join(dir, packName(number)+".tmp")}
	f, err := d.Create(b.tmp)
	if err != nil {
		return nil, err
	}
	b.f = f
	b.buf = appendHeader(b.buf, number)
	return b, nil
}

// add writes one blob; small ones wait for their block to fill.
func (b *builder) add(h Hash, content []byte) error {
	b.yield()
	if len(content) < smallBytes {
		e := entry{hash: h, at: uint32(len(b.small)), size: uint32(len(content))}
		b.entries = append(b.entries, e)
		b.open++
		b.small = append(b.small, content...)
		if len(b.small) >= blockBytes {
			return b.closeBlock()
		}
		return nil
	}
	start := len(b.buf)
	b.buf = appendBlock(b.buf, content)
	e := entry{hash: h, size: uint32(len(content)), block: b.offset,
		blockLen: uint32(len(b.buf) - start)}
	// The entries of the open block stay the last ones.
	b.entries = slices.Insert(b.entries, len(b.entries)-b.open, e)
	b.offset += uint64(e.blockLen)
	return b.maybeFlush()
}

// addBlock copies a block as it is stored; the entries are those of its pack.
func (b *builder) addBlock(whole []byte, entries []entry) error {
	b.yield()
	at := len(b.entries) - b.open
	b.entries = slices.Insert(b.entries, at, entries...)
	for i := range entries {
		b.entries[at+i].block = b.offset
	}
	b.buf = append(b.buf, whole...)
	b.offset += uint64(len(whole))
	return b.maybeFlush()
}

// addDamaged is addBlock for a block that nobody can read. What is written is not proven by it.
func (b *builder) addDamaged(whole []byte, entries []entry) error {
	if b.damaged == nil {
		b.damaged = map[int64]bool{}
	}
	b.damaged[int64(b.offset)] = true
	return b.addBlock(whole, entries)
}

func (b *builder) closeBlock() error {
	if b.open == 0 {
		return nil
	}
	start := len(b.buf)
	b.buf = appendBlock(b.buf, b.small)
	for i := len(b.entries) - b.open; i < len(b.entries); i++ {
		b.entries[i].block = b.offset
		b.entries[i].blockLen = uint32(len(b.buf) - start)
	}
	b.offset += uint64(len(b.buf) - start)
	b.small, b.open = b.small[:0], 0
	return b.maybeFlush()
}

func (b *builder) maybeFlush() error {
	if len(b.buf) < writeBufferBytes {
		return nil
	}
	return b.flush()
}

func (b *builder) flush() error {
	_, err := b.f.Write(b.buf)
	b.buf = b.buf[:0]
	return err
}

// finish completes the pack and brings it under its name: written and synced BEFORE renamed,
// renamed and directory synced BEFORE read back, every hash checked but those of damaged blocks.
// There has to be at least one blob.
func (b *builder) finish() (*pack, error) {
	size, err := b.writeIndex()
	if err != nil {
		return nil, err
	}
	if err := b.f.Sync(); err != nil {
		return nil, err
	}
	err = b.f.Close()
	b.f = nil
	final := filepath.Join(b.dir, packName(b.number))
	if err == nil {
		err = b.d.Rename(b.tmp, final)
	}
	if err != nil {
		_ = b.d.Remove(b.tmp)
		return nil, err
	}
	p, err := b.readBack(size)
	if err != nil {
		// No manifest names the pack, so it does not count whether or not this succeeds.
		_ = b.d.Remove(final)
	}
	return p, err
}

func (b *builder) writeIndex() (int64, error) {
	if err := b.closeBlock(); err != nil {
		return 0, err
	}
	sortByHash(b.entries, b.yield)
	b.entries = slices.CompactFunc(b.entries, func(x, y entry) bool { return x.hash == y.hash })
	f := footer{index: b.offset, blobs: uint64(len(b.entries)), number: b.number}
	for _, e := range b.entries {
		f.content += uint64(e.size)
	}
	for part := range slices.Chunk(b.entries, pageEntries) {
		b.yield()
		start := len(b.buf)
		b.buf = appendPage(b.buf, part)
		f.indexCRC = disk.UpdateChecksum(f.indexCRC, b.buf[start:])
		if err := b.maybeFlush(); err != nil {
			return 0, err
		}
	}
	b.entries = nil
	b.buf = appendFooter(b.buf, f)
	return int64(f.index) + f.pages()*pageBytes + footerBytes, b.flush()
}

func (b *builder) readBack(size int64) (*pack, error) {
	if err := b.d.SyncDir(b.dir); err != nil {
		return nil, err
	}
	p, err := openPack(b.d, b.dir, b.number, size, nil)
	if err != nil {
		return nil, err
	}
	known := func(err error, _ []entry) error {
		var found *CorruptError
		if errors.As(err, &found) && b.damaged[found.Offset] {
			return nil
		}
		return err
	}
	if err := p.check(b.yield, func(Hash, int64) { b.yield() }, known); err != nil {
		p.f.Close()
		return nil, err
	}
	return p, nil
}

// abort gives the unfinished pack up. After finish it does nothing.
func (b *builder) abort() {
	if b.f == nil {
		return
	}
	b.f.Close()
	b.f = nil
	// What cannot be removed now is removed by the next Open.
	_ = b.d.Remove(b.tmp)
}
