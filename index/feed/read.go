package feed

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"sync/atomic"

	"pws/internal/disk"
	"pws/internal/id"
)

// Read answers a query. The error is Expired, damage, or an I/O error.
func (l *Log) Read(q Query) (Page, error) {
	for {
		v, chains := l.view(q.Project)
		page, err := v.read(&q, chains[0])
		if !v.outdated(l, err) {
			return page, err
		}
	}
}

// view is a consistent copy of the state for one query.
type view struct {
	state
	decoded *decodedBlocks
}

// outdated reports whether an error comes from a file that was replaced or removed AFTER the view
// was taken. A new view can read what is left.
func (v *view) outdated(l *Log, err error) bool {
	return errors.Is(err, os.ErrClosed) && l.snapshot().replaced != v.replaced
}

// view returns the state and the chains of some projects, read under one lock.
func (l *Log) view(projects ...id.ID) (v *view, chains [][]uint32) {
	chains = make([][]uint32, len(projects))
	l.mu.RLock()
	defer l.mu.RUnlock()
	for i, project := range projects {
		chains[i] = l.mu.chains[project]
	}
	return &view{l.mu.state, &l.decoded}, chains
}

// number returns the full number of a record in a chain, which holds the low half. This is
// unambiguous, because the numbers of stored records differ by less than the range of the low half.
func (s *state) number(low uint32) uint64 { return s.first + uint64(low-uint32(s.first)) }

// search returns the index of the first record of a chain whose number is at least number.
func (s *state) search(chain []uint32, number uint64) int {
	return sort.Search(len(chain), func(at int) bool { return s.number(chain[at]) >= number })
}

func (v *view) read(q *Query, chain []uint32) (Page, error) {
	page := Page{Next: q.After}
	if err := v.checkKept(q, chain); err != nil {
		return page, err
	}
	number, err := v.firstAfter(q.After)
	if err == nil && q.Since > 0 {
		var since uint64
		since, err = v.firstSince(q.Since - SinceSlackMillis)
		number = max(number, since)
	}
	if err != nil {
		return page, err
	}
	var count int
	if q.Project.IsZero() {
		number = max(number, v.whole)
		count = int(v.end - number)
	} else {
		chain = chain[v.search(chain, number):]
		count = len(chain)
	}
	size := max(0, min(q.Limit, count))
	page.Records = slices.Grow(page.Records, size)
	for nth := range size {
		at := number + uint64(nth)
		if !q.Project.IsZero() {
			at = v.number(chain[nth])
		}
		record, err := v.record(at)
		if err != nil {
			return page, err
		}
		page.Records, page.Next = append(page.Records, *record), record.Position
	}
	if page.More = size < count; !page.More {
		// All records up to the end have been read.
		page.Next = latest(latest(page.Next, v.last), Start)
	}
	return page, nil
}

// checkKept returns Expired if records that follow a query may have been removed. Those of one
// project are whole from its oldest one on, those of all from the floor on.
func (v *view) checkKept(q *Query, chain []uint32) error {
	if q.After.IsZero() || q.After.Compare(v.floor) >= 0 {
		return nil
	}
	oldest := v.floor
	if len(chain) > 0 && v.number(chain[0]) < v.whole {
		record, err := v.record(v.number(chain[0]))
		if err != nil {
			return err
		}
		oldest = record.before()
	}
	if q.After.Compare(oldest) >= 0 {
		return nil
	}
	return Expired{Oldest: oldest}
}

// firstAfter returns the number of the first record after a position.
func (v *view) firstAfter(at Position) (uint64, error) {
	behind := func(record *Record) bool { return record.Compare(at) > 0 }
	if v.recent.end() > v.recent.first && !behind(v.recent.at(v.recent.first)) {
		return v.recent.search(behind), nil
	}
	nth := sort.Search(len(v.blocks), func(nth int) bool { return v.blocks[nth].to.Compare(at) > 0 })
	if nth == len(v.blocks) {
		return max(v.recent.first, v.first), nil
	}
	found := &v.blocks[nth]
	if found.from.Compare(at) > 0 {
		return found.first, nil
	}
	records, err := v.decoded.get(found)
	nth = sort.Search(len(records), func(nth int) bool { return behind(&records[nth]) })
	return found.first + uint64(nth), err
}

// firstSince returns the number of the first record that is not older than a time.
func (v *view) firstSince(millis int64) (uint64, error) {
	nth := sort.Search(len(v.blocks), func(nth int) bool { return v.blocks[nth].lastAt >= millis })
	if nth == len(v.blocks) {
		for number := v.recent.first; number < v.recent.end(); number++ {
			if v.recent.at(number).At >= millis {
				return number, nil
			}
		}
		return v.end, nil
	}
	records, err := v.decoded.get(&v.blocks[nth])
	if err != nil {
		return 0, err
	}
	for i := range records {
		if records[i].At >= millis {
			return v.blocks[nth].first + uint64(i), nil
		}
	}
	return v.end, nil
}

// record returns the record with a number.
func (v *view) record(number uint64) (*Record, error) {
	if number >= v.recent.first {
		return v.recent.at(number), nil
	}
	nth := sort.Search(len(v.blocks), func(nth int) bool {
		return v.blocks[nth].first+uint64(v.blocks[nth].count) > number
	})
	records, err := v.decoded.get(&v.blocks[nth])
	if err != nil {
		return nil, err
	}
	return &records[number-v.blocks[nth].first], nil
}

// decodedBits is the binary logarithm of the number of decoded blocks in the cache.
const decodedBits = 6

// decodedBlocks caches decoded blocks. Its place determines the slot of a block; a new block
// replaces the previous one in its slot.
type decodedBlocks [1 << decodedBits]atomic.Pointer[decodedBlock]

type decodedBlock struct {
	file    *feedFile
	offset  int64
	records []Record
}

func (d *decodedBlocks) get(b *block) ([]Record, error) {
	const spread = 0x9E3779B97F4A7C15
	at := uint64(b.file.number)<<32 + uint64(b.offset)
	place := &d[at*spread>>(64-decodedBits)]
	if known := place.Load(); known != nil && known.file == b.file && known.offset == b.offset {
		return known.records, nil
	}
	records, err := b.read()
	if err != nil {
		return nil, err
	}
	place.Store(&decodedBlock{b.file, b.offset, records})
	return records, nil
}

// read reads the records of a block from its file.
func (b *block) read() ([]Record, error) {
	content := make([]byte, b.length())
	err := disk.ReadRange(b.file.file, b.file.path, b.offset, content)
	var records []Record
	if err == nil {
		records, err = decodeBlock(b.file.path, b.offset, content)
	}
	if err == nil && len(records) != b.count {
		err = disk.Corrupt(b.file.path, b.offset, "the block has changed since the start")
	}
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	return records, nil
}
