package work

import (
	"errors"
	"fmt"
	"slices"

	"pws/internal/id"
)

// shelf holds the things of one kind that a project has, in the order of their IDs. Nothing is ever
// taken out; a thing changes by putting another version of it. They stand in blocks, which are the
// chunks of a saved project. What older states read is never written.
type shelf[T shelved] struct{ blocks []*shelfBlock[T] }

// shelved is a thing with an ID of its own; sound says whether it is one that the rules know.
type shelved interface {
	ident() id.ID
	sound() bool
}

// shelfBlockLen is how many things stand in a full block.
const shelfBlockLen = 128

// shelfBlock is a chunk of things in the order of their IDs.
type shelfBlock[T shelved] struct {
	things []T
	// changed is the revision of the project that last changed one of them.
	changed uint64
}

func (s *shelf[T]) len() int {
	if len(s.blocks) == 0 {
		return 0
	}
	return (len(s.blocks)-1)*shelfBlockLen + len(s.blocks[len(s.blocks)-1].things)
}

// at is the nth thing, from 0.
func (s *shelf[T]) at(nth int) T { return s.blocks[nth/shelfBlockLen].things[nth%shelfBlockLen] }

// find is the place of a thing, or where one with this ID would stand.
func (s *shelf[T]) find(wanted id.ID) (nth int, found bool) {
	low, high := 0, s.len()
	for low < high {
		middle := (low + high) / 2
		switch s.at(middle).ident().Compare(wanted) {
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

func (s *shelf[T]) get(wanted id.ID) (T, bool) {
	nth, found := s.find(wanted)
	if !found {
		var none T
		return none, false
	}
	return s.at(nth), true
}

// next is an ID for a new thing: the candidate, or the one above all that are there.
func (s *shelf[T]) next(candidate id.ID) id.ID {
	if count := s.len(); count > 0 {
		return above(s.at(count-1).ident(), candidate)
	}
	return candidate
}

// newest yields the things that are older than one, the newest first; zero stands for the start.
func (s *shelf[T]) newest(before id.ID, yield func(T) bool) {
	end := s.len()
	if !before.IsZero() {
		end, _ = s.find(before)
	}
	for nth := end - 1; nth >= 0; nth-- {
		if !yield(s.at(nth)) {
			return
		}
	}
}

// put stores a new thing, which is behind all others, or another version of one. It returns the
// version before.
func (s *shelf[T]) put(next T, revision uint64) (old T, stood bool) {
	nth, found := s.find(next.ident())
	at, place := nth/shelfBlockLen, nth%shelfBlockLen
	block := &shelfBlock[T]{changed: revision}
	s.blocks = slices.Clone(s.blocks)
	switch {
	case found:
		block.things = slices.Clone(s.blocks[at].things)
		old, block.things[place] = block.things[place], next
	case at < len(s.blocks):
		block.things = append(slices.Clip(s.blocks[at].things), next)
	default:
		block.things = []T{next}
		s.blocks = append(s.blocks, nil)
	}
	s.blocks[at] = block
	return old, found
}

// chunks, changedAt and encode are what saving a shelf takes.
func (s *shelf[T]) chunks() int { return len(s.blocks) }

func (s *shelf[T]) changedAt(n int) uint64 { return s.blocks[n].changed }

func (s *shelf[T]) encode(n int) ([]byte, error) { return encoding.Marshal(s.blocks[n].things) }

// restore reads the chunks of a saved shelf with so many things; keep is told of each.
func (s *shelf[T]) restore(
	kind ChunkKind, count int, chunk func(Chunk) ([]byte, error), keep func(T),
) error {
	var last id.ID
	for n := range (count + shelfBlockLen - 1) / shelfBlockLen {
		var saved []T
		if err := readChunk(chunk, Chunk{kind, n}, &saved); err != nil {
			return err
		}
		if len(saved) != min(shelfBlockLen, count-n*shelfBlockLen) {
			return fmt.Errorf("chunk %c %d: %d things", kind, n, len(saved))
		}
		for _, one := range saved {
			if !one.sound() || one.ident().Compare(last) <= 0 {
				return fmt.Errorf("chunk %c %d: %w", kind, n, errMisplaced)
			}
			last = one.ident()
			keep(one)
		}
		s.blocks = append(s.blocks, &shelfBlock[T]{things: saved})
	}
	return nil
}

var errMisplaced = errors.New("a thing that is none, or in another's place")
