package snapshot

import (
	"cmp"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"pws/internal/disk"
)

const (
	// scanPieceBytes is what one read of a scan takes in at most, unless one section is larger.
	scanPieceBytes = 256 << 10
	// scanGapBytes is how much of other sections a read takes in rather than end before them: copying
	// so much costs less than another read.
	scanGapBytes = 4 << 10
)

// Section is a section that a scan has read. Key and Data are valid until the call returns.
type Section struct {
	Key      []byte
	Position uint64
	Data     []byte
}

// place is where a scan finds a section.
type place struct {
	entry
	name []byte
}

// Scan gives all sections whose keys begin with prefix and have a length, as of one generation, to
// do, which runs on all processors at the same time. Files are read from front to back in large
// pieces, so that a section costs a fraction of a Read. The first error ends the scan; damage is a
// *CorruptError as of Read.
func (s *Store) Scan(prefix string, keyLen int, do func(Section) error) error {
	return s.ScanAround(prefix, keyLen, do, func(_ []byte, err error) error { return err })
}

// ScanAround is Scan. Sections that are damaged go to spoiled, with their keys and a *CorruptError.
// An error that it returns ends the scan.
func (s *Store) ScanAround(
	prefix string, keyLen int, do func(Section) error, spoiled func(key []byte, err error) error,
) error {
	st := s.state.Load()
	places := st.places(prefix, keyLen)
	var mu sync.Mutex
	take := func() (piece []place) {
		mu.Lock()
		defer mu.Unlock()
		n := pieceLength(places)
		piece, places = places[:n], places[n:]
		return piece
	}
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			var buffer []byte
			for failed.Load() == nil {
				piece := take()
				if len(piece) == 0 {
					return
				}
				var err error
				if buffer, err = s.scanPiece(st, piece, buffer, do, spoiled); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// places finds the sections whose keys begin with prefix and have a length, in the order of the
// files. Where a run has put them in the order of their keys nothing is left to sort.
func (st *state) places(prefix string, keyLen int) []place {
	each := func(yield func(file int, one place)) {
		st.each(prefix, func(key []byte, e entry) bool {
			if len(key) == keyLen {
				yield(st.fileIndex(e.file), place{e, key})
			}
			return true
		})
	}
	ends := make([]int, len(st.files)+1)
	each(func(file int, _ place) { ends[file+1]++ })
	for file := range st.files {
		ends[file+1] += ends[file]
	}
	all, next := make([]place, ends[len(st.files)]), slices.Clone(ends)
	each(func(file int, one place) {
		all[next[file]] = one
		next[file]++
	})
	for file := range st.files {
		slices.SortFunc(all[ends[file]:ends[file+1]],
			func(a, b place) int { return cmp.Compare(a.offset, b.offset) })
	}
	return all
}

// pieceLength is how many of the next places one read takes in.
func pieceLength(places []place) int {
	for i := 1; i < len(places); i++ {
		last, next := &places[i-1], &places[i]
		end := next.offset + uint64(next.size)
		if next.file != last.file || next.offset > last.offset+uint64(last.size)+scanGapBytes ||
			end-places[0].offset > scanPieceBytes {
			return i
		}
	}
	return len(places)
}

// scanPiece reads the sections of one piece into the buffer, which it returns to be used again.
func (s *Store) scanPiece(
	st *state, piece []place, buffer []byte, do func(Section) error,
	spoiled func(key []byte, err error) error,
) ([]byte, error) {
	first, last := &piece[0], &piece[len(piece)-1]
	n := int(last.offset + uint64(last.size) - first.offset)
	buffer = slices.Grow(buffer[:0], n)[:n]
	file := st.file(first.file)
	err := disk.ReadRange(file.f, file.name, int64(first.offset), buffer)
	if errors.Is(err, os.ErrClosed) {
		// Two commits have passed since the scan began.
		return buffer, s.scanEach(piece, do)
	}
	for i := range piece {
		if err != nil {
			break
		}
		one := &piece[i]
		from := one.offset - first.offset
		var data []byte
		data, err = file.decode(one.name, one.entry, buffer[from:from+uint64(one.size)])
		if err == nil {
			err = do(Section{one.name, one.position, data})
		} else if errors.Is(err, ErrCorrupt) {
			err = spoiled(one.name, err)
		}
	}
	return buffer, err
}

// scanEach reads the sections of a piece one by one, from the generation that is committed now.
func (s *Store) scanEach(piece []place, do func(Section) error) error {
	for i := range piece {
		one := &piece[i]
		data, position, there, err := s.Read(string(one.name))
		if err == nil && there {
			err = do(Section{one.name, position, data})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
