package feed

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"sync"

	"pws/internal/disk"
)

// Read answers a query. The error is Expired, damage, or what kept it from reading.
func (l *Log) Read(q Query) (Page, error) {
	for {
		v := l.view(&q)
		if !q.After.IsZero() && q.After.Compare(v.floor) < 0 {
			return Page{}, Expired{Oldest: v.floor}
		}
		page, err := v.read(&q)
		// A file may have gone since the view was taken.
		if !errors.Is(err, os.ErrClosed) || l.view(&q).first == v.first {
			return page, err
		}
	}
}

// view is the log as one query sees it.
type view struct {
	state
	decoded *decodedBlocks
	// chain are the numbers of the records of a project, counted from base; whole is without one.
	whole bool
	chain []uint32
	base  uint64
}

func (l *Log) view(q *Query) *view {
	l.mu.RLock()
	defer l.mu.RUnlock()
	v := &view{state: l.mu.state, decoded: &l.decoded, base: l.mu.base, whole: q.Project.IsZero()}
	if !v.whole {
		v.chain = l.mu.chains[q.Project]
	}
	return v
}

// count is how many records the view is of, and number gives the nth of them.
func (v *view) count() int {
	if v.whole {
		return int(v.end - v.first)
	}
	return len(v.chain)
}

func (v *view) number(nth int) uint64 {
	if v.whole {
		return v.first + uint64(nth)
	}
	return v.base + uint64(v.chain[nth])
}

// from is which of them is the first with a number or a higher one.
func (v *view) from(number uint64) int {
	if v.whole {
		return int(min(max(number, v.first), v.end) - v.first)
	}
	return sort.Search(len(v.chain), func(at int) bool { return v.number(at) >= number })
}

func (v *view) read(q *Query) (Page, error) {
	page := Page{Next: q.After}
	number, err := v.behind(q.After)
	if err != nil {
		return page, err
	}
	first, count := v.from(number), v.count()
	size := max(0, min(q.Limit, count-first))
	page.Records = slices.Grow(page.Records, size)
	for nth := first; nth < first+size; nth++ {
		record, err := v.record(v.number(nth))
		if err != nil {
			return page, err
		}
		page.Records, page.Next = append(page.Records, *record), record.Position
	}
	if page.More = first+size < count; !page.More {
		// All up to the end was looked at.
		page.Next = latest(latest(page.Next, v.last), Start)
	}
	return page, nil
}

// behind is the number of the first record behind a position.
func (v *view) behind(at Position) (uint64, error) {
	search := func(records []Record) uint64 {
		return uint64(sort.Search(len(records), func(nth int) bool {
			return records[nth].Compare(at) > 0
		}))
	}
	if len(v.recent) > 0 && at.Compare(v.recent[0].Position) >= 0 {
		return v.recentFirst + search(v.recent), nil
	}
	nth := sort.Search(len(v.blocks), func(nth int) bool { return v.blocks[nth].to.Compare(at) > 0 })
	if nth == len(v.blocks) {
		return max(v.recentFirst, v.first), nil
	}
	found := &v.blocks[nth]
	if found.from.Compare(at) > 0 {
		return found.first, nil
	}
	records, err := v.decoded.get(found)
	return found.first + search(records), err
}

// record is the one with a number.
func (v *view) record(number uint64) (*Record, error) {
	if number >= v.recentFirst {
		return &v.recent[number-v.recentFirst], nil
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

// decodedMax is how many blocks stay in memory after they were read.
const decodedMax = 64

// decodedBlocks are blocks that were read lately.
type decodedBlocks struct {
	sync.Mutex
	blocks map[blockName][]Record
	order  []blockName
}

type blockName struct {
	file   *feedFile
	offset int64
}

func (d *decodedBlocks) get(b *block) ([]Record, error) {
	name := blockName{b.file, b.offset}
	d.Lock()
	records, known := d.blocks[name]
	d.Unlock()
	if known {
		return records, nil
	}
	content := make([]byte, b.length)
	err := disk.ReadRange(b.file.file, b.file.path, b.offset, content)
	if err == nil {
		records, err = decodeBlock(b.file.path, b.offset, content)
	}
	if err == nil && len(records) != b.count {
		err = disk.Corrupt(b.file.path, b.offset, "the block has become another")
	}
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	d.Lock()
	defer d.Unlock()
	if d.blocks == nil {
		d.blocks = map[blockName][]Record{}
	}
	if _, known := d.blocks[name]; !known {
		if len(d.order) >= decodedMax {
			delete(d.blocks, d.order[0])
			d.order = d.order[1:]
		}
		d.order = append(d.order, name)
		d.blocks[name] = records
	}
	return records, nil
}

// forget lets go of the blocks of a file.
func (d *decodedBlocks) forget(f *feedFile) {
	d.Lock()
	defer d.Unlock()
	of := func(name blockName) bool { return name.file == f }
	d.order = slices.DeleteFunc(d.order, of)
	for name := range d.blocks {
		if of(name) {
			delete(d.blocks, name)
		}
	}
}
