package feed

import (
	"math/bits"
	"slices"
	"sort"

	"pws/internal/id"
)

// fileRecords is the number of records of a full file.
func (o *Options) fileRecords() int { return max(blockRecords, o.Events/parts) }

// kept is the number of files at the front that have only the newest records of projects.
func (s *state) kept() int {
	return sort.Search(len(s.files), func(at int) bool { return !s.files[at].kept })
}

// trimmedMax is the number of kept files that are written again AFTER one was added. The records
// that they lose are more than those that were added when the kept files have Events records.
const trimmedMax = 2

// keepNewest leaves of the oldest whole file the newest records of each project, and removes from
// kept files what is no longer among them.
func (l *Log) keepNewest(oldestAt int64) error {
	s, chosen, err := l.choose(1, oldestAt)
	if err != nil {
		return err
	}
	if err := l.keepFile(&s, s.kept(), chosen); err != nil {
		return err
	}
	for range trimmedMax {
		if s, chosen, err = l.choose(0, oldestAt); err != nil {
			return err
		}
		at, most := 0, 0
		for nth, f := range s.files[:s.kept()] {
			if gone := f.count - chosen.in(f); gone > most {
				at, most = nth, gone
			}
		}
		const worthPart = 8
		if most < max(1, l.opts.fileRecords()/worthPart) {
			return nil
		}
		if err := l.keepFile(&s, at, chosen); err != nil {
			return err
		}
	}
	return nil
}

// choose returns the state, and what is to be kept of the kept files and of some whole ones behind
// them.
func (l *Log) choose(whole int, oldestAt int64) (state, *selection, error) {
	l.write.Lock()
	defer l.write.Unlock()
	err := l.beginChange()
	s := l.snapshot()
	if err != nil || s.kept()+whole == 0 {
		return s, newSelection(s.first, s.first), err
	}
	return s, l.newestEach(&s, s.files[s.kept()+whole-1].end(), oldestAt), nil
}

// newestEach selects the newest records of each project among those before a number, without
// blocks that are too old. Callers hold l.write, so that the chains do not change.
func (l *Log) newestEach(s *state, end uint64, oldestAt int64) *selection {
	first := s.first
	young := sort.Search(len(s.blocks), func(at int) bool { return s.blocks[at].lastAt >= oldestAt })
	if young > 0 {
		last := &s.blocks[young-1]
		first = last.first + uint64(last.count)
	}
	// depths are the numbers of records that have so many newer ones in their project.
	depths := make([]int, l.opts.Each)
	eachOf := func(yield func(number uint64, depth int)) {
		for _, chain := range l.mu.chains {
			behind := s.search(chain, end)
			for at := max(0, len(chain)-l.opts.Each); at < behind; at++ {
				if number := s.number(chain[at]); number >= first {
					yield(number, len(chain)-1-at)
				}
			}
		}
	}
	eachOf(func(_ uint64, depth int) { depths[depth]++ })
	// Half of the records are room for those that are no longer among the newest.
	room := l.opts.Events / 2
	deepest, count := 1, depths[0]
	for deepest < len(depths) && count+depths[deepest] <= room {
		count += depths[deepest]
		deepest++
	}
	chosen := newSelection(s.first, end)
	eachOf(func(number uint64, depth int) {
		if depth < deepest {
			chosen.add(number)
		}
	})
	chosen.removeOldest(count - room)
	chosen.sum()
	return chosen
}

// keepFile replaces a file by one of its selected records, together with the file before it if both
// fit into one.
func (l *Log) keepFile(s *state, at int, chosen *selection) error {
	from := at
	if at > 0 && chosen.in(s.files[at-1])+chosen.in(s.files[at]) <= l.opts.fileRecords() {
		from--
	}
	old := s.files[from : at+1]
	next, content, blocks, err := keptFile(s, old, chosen)
	if err != nil {
		return err
	}
	return l.replace(old, next, content, blocks, chosen)
}

// keptFile encodes the selected records of adjacent files as one file with the number of the last.
func keptFile(s *state, old []*feedFile, chosen *selection) (
	next *feedFile, content []byte, blocks []block, err error,
) {
	first, last := old[0], old[len(old)-1]
	next = &feedFile{number: last.number, path: last.path, kept: true, from: first.from}
	count := 0
	for _, one := range old {
		count += chosen.in(one)
	}
	next.first = last.end() - uint64(count)
	content = appendFileHead(nil, next.number, &fileHeader{
		version: fileVersionKept, from: next.from, count: uint32(count),
		covered: last.covered, last: last.last,
	})
	next.size = int64(len(content))
	var encoder blockEncoder
	var records []Record
	flush := func() {
		if len(records) > 0 {
			encoded, info := encoder.encode(records, 0)
			blocks = append(blocks, block{next, next.size, next.end(), info})
			content = append(content, encoded...)
			next.add(&info)
			records = records[:0]
		}
	}
	for at := range s.blocks {
		b := &s.blocks[at]
		if b.first < first.first || b.first >= last.end() {
			continue
		}
		decoded, err := b.read()
		if err != nil {
			return nil, nil, nil, err
		}
		for nth := range decoded {
			if !chosen.has(b.first + uint64(nth)) {
				continue
			}
			if records = append(records, decoded[nth]); len(records) == blockRecords {
				flush()
			}
		}
	}
	flush()
	next.covered, next.last = last.covered, last.last
	return next, content, blocks, nil
}

// renumbered returns the chains that change when files are replaced by their selected records. The
// numbers of these end where those of the files end. Callers hold l.write, so that the chains do
// not change.
func (l *Log) renumbered(first, end uint64, chosen *selection) map[id.ID][]uint32 {
	m := &l.mu
	gone := end - first - uint64(chosen.between(first, end))
	changed := map[id.ID][]uint32{}
	if gone == 0 {
		return changed
	}
	for project, chain := range m.chains {
		behind := m.search(chain, end)
		if behind == 0 {
			continue
		}
		next := make([]uint32, 0, len(chain))
		for _, low := range chain[:behind] {
			switch number := m.number(low); {
			case number < first:
				next = append(next, uint32(number+gone))
			case chosen.has(number):
				next = append(next, uint32(end-uint64(chosen.between(number, end))))
			}
		}
		next = append(next, chain[behind:]...)
		if cap(next) > 2*len(next) {
			next = slices.Clone(next)
		}
		changed[project] = next
	}
	return changed
}

// selection is a set of numbers of records.
type selection struct {
	first uint64
	words []uint64
	// before counts the numbers in front of each word, AFTER sum.
	before []int
}

const wordBits = 64

func newSelection(first, end uint64) *selection {
	return &selection{first: first, words: make([]uint64, (end-first)/wordBits+1)}
}

func (s *selection) add(number uint64) {
	at := number - s.first
	s.words[at/wordBits] |= 1 << (at % wordBits)
}

func (s *selection) has(number uint64) bool {
	at := number - s.first
	return s.words[at/wordBits]>>(at%wordBits)&1 != 0
}

// removeOldest removes the lowest numbers, count of them.
func (s *selection) removeOldest(count int) {
	for at := 0; count > 0; {
		word := &s.words[at]
		if *word == 0 {
			at++
			continue
		}
		*word &= *word - 1
		count--
	}
}

// sum prepares between and in, AFTER the last change.
func (s *selection) sum() {
	s.before = make([]int, len(s.words))
	count := 0
	for at, word := range s.words {
		s.before[at] = count
		count += bits.OnesCount64(word)
	}
}

// below counts the numbers below one.
func (s *selection) below(number uint64) int {
	at := number - s.first
	word := s.words[at/wordBits] & (1<<(at%wordBits) - 1)
	return s.before[at/wordBits] + bits.OnesCount64(word)
}

// between counts the numbers from one on and below another.
func (s *selection) between(first, end uint64) int { return s.below(end) - s.below(first) }

// in counts the records of a file.
func (s *selection) in(f *feedFile) int { return s.between(f.first, f.end()) }
