package feed

import (
	"errors"
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

// keepNewest replaces the files at the front by kept files, which have the newest records of each
// project. Damaged records are removed, with all that are older.
func (l *Log) keepNewest(oldestAt int64) (err error) {
	for from := uint64(0); ; {
		s, chosen, failed := l.choose(oldestAt, from)
		if failed == nil {
			from, failed = l.keep(&s, chosen)
		}
		err = errors.Join(err, failed)
		if !errors.Is(failed, ErrCorrupt) {
			return err
		}
	}
}

// choose returns the state, and what is to be kept of the front from a number on.
func (l *Log) choose(oldestAt int64, from uint64) (state, *selection, error) {
	l.write.Lock()
	defer l.write.Unlock()
	if err := l.beginChange(); err != nil {
		return state{}, nil, err
	}
	s := l.snapshot()
	front := max(s.behind(l.opts.Events), s.kept())
	return s, l.newestEach(&s, s.files[front-1].end(), max(from, s.youngest(oldestAt))), nil
}

// youngest returns the number of the first record that is not older than a time. A block that
// cannot be read is older.
func (s *state) youngest(millis int64) uint64 {
	for i := range s.blocks {
		b := &s.blocks[i]
		if b.lastAt < millis {
			continue
		}
		if b.firstAt >= millis {
			return b.first
		}
		records, err := b.read()
		if err != nil {
			continue
		}
		return b.first + uint64(slices.IndexFunc(records, func(one Record) bool {
			return one.At >= millis
		}))
	}
	return s.end
}

// newestEach selects the newest records of each project among those from a number on and before
// another. Callers hold l.write, so that the chains do not change.
func (l *Log) newestEach(s *state, end, from uint64) *selection {
	// depths are the numbers of records that have so many newer ones in their project.
	depths := make([]int, l.opts.Each)
	eachOf := func(yield func(number uint64, depth int)) {
		for _, chain := range l.mu.chains {
			behind := s.search(chain, end)
			for i := max(0, len(chain)-l.opts.Each); i < behind; i++ {
				if number := s.number(chain[i]); number >= from {
					yield(number, len(chain)-1-i)
				}
			}
		}
	}
	eachOf(func(_ uint64, depth int) { depths[depth]++ })
	// The other half is room for whole files that wait.
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

// keep writes the kept files of a selection. The oldest come first, also on disk: a project never
// loses a record that is newer than one that it keeps. A damage error comes with the number after
// the file.
func (l *Log) keep(s *state, chosen *selection) (damaged uint64, err error) {
	var made []replacement
	for _, old := range l.groups(s, chosen) {
		one, failed := keptFile(s, old, chosen)
		if err = failed; errors.Is(err, ErrCorrupt) {
			damaged = old[len(old)-1].end()
		}
		if err == nil {
			err = l.prepare(&one)
		}
		if err != nil {
			l.discard(made)
			return damaged, err
		}
		made = append(made, one)
	}
	return 0, l.replace(made, chosen)
}

// groups returns adjacent files each of which are to be one. A kept file that is half full, and has
// nothing to lose, stays.
func (l *Log) groups(s *state, chosen *selection) (groups [][]*feedFile) {
	most, count := l.opts.fileRecords(), 0
	var group []*feedFile
	end := func() {
		if len(group) > 0 {
			groups = append(groups, group)
		}
		group, count = nil, 0
	}
	for _, f := range s.files {
		if f.end() > chosen.end {
			break
		}
		stay := chosen.in(f)
		if f.kept && stay == f.count && stay >= most/2 {
			end()
			continue
		}
		if count+stay > most {
			end()
		}
		group, count = append(group, f), count+stay
	}
	end()
	return groups
}

// keptFile encodes the selected records of adjacent files as one file with the number of the last.
func keptFile(s *state, old []*feedFile, chosen *selection) (replacement, error) {
	first, last := old[0], old[len(old)-1]
	next := &feedFile{number: last.number, path: last.path, kept: true, from: first.from}
	made := replacement{old: old, next: next}
	made.content = appendFileHead(nil, next.number, &fileHeader{
		version: fileVersionKept, from: next.from, covered: last.covered, last: last.last,
		count: uint32(chosen.between(first.first, last.end())),
	})
	next.size = int64(len(made.content))
	var encoder blockEncoder
	var records []Record
	flush := func() {
		if len(records) > 0 {
			encoded, info := encoder.encode(records, 0)
			made.blocks = append(made.blocks, block{next, next.size, 0, info})
			made.content = append(made.content, encoded...)
			next.add(&info)
			records = records[:0]
		}
	}
	for i := range s.blocks {
		b := &s.blocks[i]
		if b.first < first.first || b.first >= last.end() || !chosen.any(b) {
			continue
		}
		decoded, err := b.read()
		if err != nil {
			// A disk that cannot read it does not do so later.
			return made, errors.Join(ErrCorrupt, err)
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
	return made, nil
}

// renumbered returns the chains without the records before a number that are not selected. The
// numbers of those that are end there. Callers hold l.write, so that the chains do not change.
func (l *Log) renumbered(end uint64, chosen *selection) (chains map[id.ID][]uint32, slots int) {
	m := &l.mu
	chains = make(map[id.ID][]uint32, len(m.chains))
	for project, chain := range m.chains {
		behind := m.search(chain, end)
		if behind > 0 {
			stay := slices.IndexFunc(chain[:behind], func(low uint32) bool {
				return chosen.has(m.number(low))
			})
			if stay < 0 {
				stay = behind
			}
			next := make([]uint32, 0, len(chain)-stay)
			for _, low := range chain[stay:behind] {
				next = append(next, uint32(end-uint64(chosen.between(m.number(low), end))))
			}
			chain = append(next, chain[behind:]...)
		}
		if len(chain) > 0 {
			chains[project] = chain
			slots += cap(chain)
		}
	}
	return chains, slots
}

// selection is a set of numbers of records from one on and before another.
type selection struct {
	first, end uint64
	words      []uint64
	// before counts the numbers in front of each word, AFTER sum.
	before []int
}

const wordBits = 64

func newSelection(first, end uint64) *selection {
	return &selection{first: first, end: end, words: make([]uint64, (end-first)/wordBits+1)}
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
	for i := 0; count > 0; {
		word := &s.words[i]
		if *word == 0 {
			i++
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
	for i, word := range s.words {
		s.before[i] = count
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

// any reports whether some records of a block are in it.
func (s *selection) any(b *block) bool {
	return s.between(b.first, b.first+uint64(b.count)) > 0
}

// in counts the records of a file.
func (s *selection) in(f *feedFile) int { return s.between(f.first, f.end()) }
