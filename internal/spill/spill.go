// Package spill keeps bytes that are seldom read outside of the memory of the process, in a
// temporary file that is mapped into it. The file has no name and ends with the process: what it
// holds must be made again from elsewhere AFTER a start.
//
// The file consists of extents of one size, with several parts each. An extent is freed once
// nothing refers to it. The pages that were read leave the memory of the process when there are
// many; the system may have them in its page cache. The checksum of a part is compared when it is
// read for the first time, and again AFTER its pages have left. A failure of the disk ends the
// process (SIGBUS).
package spill

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// ErrDamaged reports that the file does not have what was written.
var ErrDamaged = errors.New("the spill file is damaged")

// Config is how a file is opened.
type Config struct {
	// Path is the name of the file while it is opened. A file with that name is replaced.
	Path string
	// ExtentBytes is the size of an extent, a multiple of 4 KiB.
	ExtentBytes int
	// ReadBytesMax is how many bytes that were read, or are next to them, stay in the memory of the
	// process.
	ReadBytesMax int64
	// Roomy says whether so many bytes can be written to the disk; it may be nil.
	Roomy func(bytes int64) bool
	// OnDamage is called BEFORE a read panics, with an error that wraps ErrDamaged; it may be nil.
	OnDamage func(error)
}

// File is a spill file. All methods are safe for concurrent use.
type File struct {
	config Config
	file   *os.File
	// round counts how often pages have left memory. readBytes is the size of what was read since.
	round     atomic.Uint32
	readBytes atomic.Int64

	mu struct {
		sync.Mutex
		closed bool
		// maps are parts of the file, one behind the other, with mapBytes each.
		maps [][]byte
		// end is the number of extents of the file, free are those in it that nothing refers to.
		end  int
		free []int
	}
}

// extent is a piece of the file in use.
type extent struct {
	in    *File
	data  []byte
	parts []part
	// touched is the round in which it was read last.
	touched atomic.Uint32
}

type part struct {
	end, sum uint32
	// checked is the round in which the checksum was compared last.
	checked atomic.Uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	// mapBytes is about how much of the file is mapped at a time. Only pages that are read take
	// memory.
	mapBytes = 64 << 20
	// aroundBytes is how much of the page cache the system maps where one page is read.
	aroundBytes = 64 << 10
)

// Open makes a file. Where the system does not map files, it is one that takes nothing.
func Open(c Config) (*File, error) {
	if !supported {
		f := new(File)
		f.mu.closed = true
		return f, nil
	}
	file, err := os.OpenFile(c.Path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	f := &File{config: c, file: file}
	f.round.Store(1)
	if err := os.Remove(c.Path); err != nil {
		return nil, errors.Join(fmt.Errorf("spill: %w", err), file.Close())
	}
	return f, nil
}

// Put writes parts behind one another. read returns the nth of them, as long as read itself is
// reachable; the result must not be changed, and not be used AFTER read is unreachable. read is nil
// where the parts are longer than an extent, or where the file cannot take them, which is no
// failure.
func (f *File) Put(parts [][]byte) (read func(nth int) []byte) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if size == 0 || size > f.config.ExtentBytes {
		return nil
	}
	if f.config.Roomy != nil && !f.config.Roomy(int64(f.config.ExtentBytes)) {
		return nil
	}
	number, whole, ok := f.take()
	if !ok {
		return nil
	}
	if err := writeParts(f.file, parts, int64(number)*int64(f.config.ExtentBytes)); err != nil {
		f.release(number)
		return nil
	}
	e := &extent{in: f, data: whole[:size:size], parts: make([]part, len(parts))}
	end := 0
	for nth, data := range parts {
		end += len(data)
		e.parts[nth].end, e.parts[nth].sum = uint32(end), crc32.Checksum(data, castagnoli)
	}
	runtime.AddCleanup(e, f.release, number)
	return e.read
}

// take returns an extent that is free, mapped.
func (f *File) take() (nth int, data []byte, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.closed {
		return 0, nil, false
	}
	perMap := mapBytes / f.config.ExtentBytes
	if last := len(f.mu.free) - 1; last >= 0 {
		nth, f.mu.free = f.mu.free[last], f.mu.free[:last]
	} else {
		if f.mu.end == len(f.mu.maps)*perMap {
			from := int64(f.mu.end) * int64(f.config.ExtentBytes)
			added, err := mapPart(f.file, from, perMap*f.config.ExtentBytes)
			if err != nil {
				return 0, nil, false
			}
			f.mu.maps = append(f.mu.maps, added)
		}
		nth = f.mu.end
		f.mu.end++
	}
	at := nth % perMap * f.config.ExtentBytes
	return nth, f.mu.maps[nth/perMap][at : at+f.config.ExtentBytes], true
}

// release frees an extent that nothing refers to, with its space on the disk.
func (f *File) release(nth int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.mu.closed {
		punch(f.file, int64(nth)*int64(f.config.ExtentBytes), int64(f.config.ExtentBytes))
	}
	f.mu.free = append(f.mu.free, nth)
	f.unmapUnused()
}

// read returns the nth part.
func (e *extent) read(nth int) []byte {
	p, begin := &e.parts[nth], uint32(0)
	if nth > 0 {
		begin = e.parts[nth-1].end
	}
	data := e.data[begin:p.end:p.end]
	if round := e.in.round.Load(); p.checked.Load() != round {
		e.check(data, p, round)
	}
	return data
}

// check compares the checksum of a part. If much was read, all pages leave memory BEFORE.
func (e *extent) check(data []byte, p *part, round uint32) {
	f := e.in
	if e.touched.Swap(round) != round && f.readBytes.Add(aroundBytes) > f.config.ReadBytesMax {
		f.forget(round)
	}
	if sum := crc32.Checksum(data, castagnoli); sum != p.sum {
		err := fmt.Errorf("%w: checksum %08x, written with %08x", ErrDamaged, sum, p.sum)
		if f.config.OnDamage != nil {
			f.config.OnDamage(err)
		}
		panic(err)
	}
	p.checked.Store(round)
}

// forget has the pages of all extents leave the memory of the process, once for a round.
func (f *File) forget(round uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.round.CompareAndSwap(round, round+1) {
		return
	}
	f.readBytes.Store(0)
	for _, part := range f.mu.maps {
		leave(part)
	}
}

// Stats are the sizes of a file.
type Stats struct {
	// UsedBytes is the size of the extents in use.
	UsedBytes int64
	// FileBytes is how far extents were ever used. What is not used of it takes no space.
	FileBytes int64
}

// Stats returns the current sizes.
func (f *File) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	size := int64(f.config.ExtentBytes)
	return Stats{
		UsedBytes: int64(f.mu.end-len(f.mu.free)) * size, FileBytes: int64(f.mu.end) * size,
	}
}

// Close closes the file. What refers to its extents may go on to read them.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.closed {
		return nil
	}
	f.mu.closed = true
	f.unmapUnused()
	return f.file.Close()
}

// unmapUnused ends the maps of a closed file that nothing refers to. The lock is held.
func (f *File) unmapUnused() {
	if !f.mu.closed || len(f.mu.free) < f.mu.end {
		return
	}
	for _, part := range f.mu.maps {
		unmap(part)
	}
	f.mu.maps = nil
}
