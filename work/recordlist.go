package work

import (
	"errors"
	"fmt"
	"slices"

	"pws/internal/id"
)

// recordList holds the records of one kind in a project, in the order of their IDs. Records are
// never removed; put replaces one with a new version. Its blocks are the chunks of a saved
// project. Blocks are copied before a write, because older states read them.
type recordList[T listed] struct{ blocks []*recordBlock[T] }

// listed is a record with its own ID; sound reports whether its fields are valid.
type listed interface {
	ident() id.ID
	sound() bool
}

// recordBlockLen is the number of records in a full block.
const recordBlockLen = 128

// recordBlock is a chunk of records in the order of their IDs.
type recordBlock[T listed] struct {
	records []T
	// changed is the revision of the project that last changed a record of the block.
	changed uint64
}

func (l *recordList[T]) len() int {
	if len(l.blocks) == 0 {
		return 0
	}
	return (len(l.blocks)-1)*recordBlockLen + len(l.blocks[len(l.blocks)-1].records)
}

// at returns the nth record, from 0.
func (l *recordList[T]) at(nth int) T {
	return l.blocks[nth/recordBlockLen].records[nth%recordBlockLen]
}

// find returns the index of a record, or the index at which it would be inserted.
func (l *recordList[T]) find(wanted id.ID) (nth int, found bool) {
	low, high := 0, l.len()
	for low < high {
		middle := (low + high) / 2
		switch l.at(middle).ident().Compare(wanted) {
		case 0:
			return middle, true
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

func (l *recordList[T]) get(wanted id.ID) (T, bool) {
	nth, found := l.find(wanted)
	if !found {
		var none T
		return none, false
	}
	return l.at(nth), true
}

// next returns an ID for a new record: the candidate, or one above all IDs in the list.
func (l *recordList[T]) next(candidate id.ID) id.ID {
	if count := l.len(); count > 0 {
		return above(l.at(count-1).ident(), candidate)
	}
	return candidate
}

// newest yields the records before an ID, the newest first. A zero ID yields all of them.
func (l *recordList[T]) newest(before id.ID, yield func(T) bool) {
	end := l.len()
	if !before.IsZero() {
		end, _ = l.find(before)
	}
	for nth := end - 1; nth >= 0; nth-- {
		if !yield(l.at(nth)) {
			return
		}
	}
}

// put appends a new record, or replaces one with a new version. It returns the previous version.
func (l *recordList[T]) put(next T, revision uint64) (old T, existed bool) {
	nth, found := l.find(next.ident())
	at, place := nth/recordBlockLen, nth%recordBlockLen
	block := &recordBlock[T]{changed: revision}
	l.blocks = slices.Clone(l.blocks)
	switch {
	case found:
		block.records = slices.Clone(l.blocks[at].records)
		old, block.records[place] = block.records[place], next
	case at < len(l.blocks):
		block.records = append(slices.Clip(l.blocks[at].records), next)
	default:
		block.records = []T{next}
		l.blocks = append(l.blocks, nil)
	}
	l.blocks[at] = block
	return old, found
}

// chunks, changedAt and encode implement savedList.
func (l *recordList[T]) chunks() int { return len(l.blocks) }

func (l *recordList[T]) changedAt(n int) uint64 { return l.blocks[n].changed }

func (l *recordList[T]) encode(n int) ([]byte, error) {
	return encoding.Marshal(l.blocks[n].records)
}

// restore reads the chunks of a saved list of count records and calls keep for each record.
func (l *recordList[T]) restore(
	kind ChunkKind, count int, chunk func(Chunk) ([]byte, error), keep func(T),
) error {
	var last id.ID
	for n := range (count + recordBlockLen - 1) / recordBlockLen {
		var saved []T
		if err := readChunk(chunk, Chunk{kind, n}, &saved); err != nil {
			return err
		}
		if len(saved) != min(recordBlockLen, count-n*recordBlockLen) {
			return fmt.Errorf("chunk %c %d: %d records", kind, n, len(saved))
		}
		for _, one := range saved {
			if !one.sound() || one.ident().Compare(last) <= 0 {
				return fmt.Errorf("chunk %c %d: %w", kind, n, errMisplaced)
			}
			last = one.ident()
			keep(one)
		}
		l.blocks = append(l.blocks, &recordBlock[T]{records: saved})
	}
	return nil
}

var errMisplaced = errors.New("a record is invalid or out of order")
