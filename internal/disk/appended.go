package disk

import (
	"fmt"
	"io"
	"os"
	"time"
	"unsafe"
)

// Appended is a file that is written at its end, and synced often. Where the system can do that, it
// is written in blocks of the device and past the page cache: a sync has then one block to write
// for a few bytes, instead of a page, and none of what the file system notes about blocks that were
// zeroed before.
type Appended struct {
	*os.File
	// block is the length of what is written at once, and 1 for a file that is written through the
	// page cache.
	block int
	// buf is where blocks are put together; nil until it is needed. Its first bytes are the last
	// block of the file, as far as it is written; end is the offset after them.
	buf []byte
	end int64
}

const (
	// blockMax is the maximum of block, and what the buffers of an Appended file are aligned to.
	blockMax = 4096
	// appendBytes is the size of a buffer: a longer write goes to the disk in several pieces.
	appendBytes = 128 << 10
)

// OpenAppended opens a file to be written behind a number of bytes, which it has at least.
func OpenAppended(path string, end int64) (*Appended, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	a := &Appended{File: f, block: 1, end: end}
	if block := goDirect(f); block > 0 {
		if err := a.useBlocks(block); err != nil {
			f.Close()
			return nil, err
		}
	}
	return a, nil
}

// useBlocks reads the last block into the buffer, unless it is full.
func (a *Appended) useBlocks(block int) error {
	a.block = block
	part := a.end % int64(block)
	if part == 0 {
		return nil
	}
	a.buf = aligned(appendBytes)
	n, err := a.File.ReadAt(a.buf[:block], a.end-part)
	if int64(n) >= part {
		clear(a.buf[part:block])
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read the end of %s: %w", a.Name(), err)
}

// Block returns the number of bytes that are written at once: those up to a multiple of it may
// be zeroed by a write.
func (a *Appended) Block() int64 { return int64(a.block) }

// WriteAt implements io.WriterAt for an offset that is the end of what was written. Zeros follow up
// to the end of the block.
func (a *Appended) WriteAt(b []byte, at int64) (written int, err error) {
	if a.block == 1 {
		return a.File.WriteAt(b, at)
	}
	if at != a.end {
		return 0, fmt.Errorf("write %s at %d: its end is %d", a.Name(), at, a.end)
	}
	if a.buf == nil {
		a.buf = aligned(appendBytes)
	}
	for written < len(b) {
		part := int(a.end % int64(a.block))
		n := copy(a.buf[part:], b[written:])
		full := (part + n + a.block - 1) / a.block * a.block
		clear(a.buf[part+n : full])
		if _, err := a.File.WriteAt(a.buf[:full], a.end-int64(part)); err != nil {
			return written, err
		}
		written, a.end = written+n, a.end+int64(n)
		if rest := int(a.end % int64(a.block)); rest > 0 {
			copy(a.buf, a.buf[full-a.block:full])
		}
	}
	return written, nil
}

const (
	// fillPause is how many times as long as a write of zeros the pause behind it is.
	fillPause = 3
	// fillPauseMax bounds the pause where the disk is slow.
	fillPauseMax = 5 * time.Millisecond
)

// zeroes is what Fill writes.
var zeroes = aligned(appendBytes)

// Fill has the space from one offset to another ready for writes, with zeros in it, so that a sync
// of what is written there makes only the bytes durable, once the zeros are. Both are multiples of
// Block, and nobody else writes there. A file system that has no room leaves the file as it
// is; that is no error.
func (a *Appended) Fill(from, to int64) error {
	if from >= to {
		return nil
	}
	reserved, err := allocate(a.File, to)
	if err != nil || !reserved || a.block == 1 {
		return err
	}
	for from < to {
		started := time.Now()
		n, err := a.File.WriteAt(zeroes[:min(to-from, int64(len(zeroes)))], from)
		if err != nil {
			return err
		}
		from += int64(n)
		// In this pause the disk is free for those who wait for a sync.
		time.Sleep(min(fillPause*time.Since(started), fillPauseMax))
	}
	return nil
}

// aligned returns bytes at an address that is a multiple of blockMax.
func aligned(n int) []byte {
	b := make([]byte, n+blockMax)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (blockMax - 1)
	return b[skip : skip+n : skip+n]
}
