package work

import (
	"slices"

	"pws/internal/id"
)

// sessionTable holds the open work sessions in the order of their agents. Nearly every write
// replaces one of them, so the blocks are small. A block is copied before a write, because older
// states read it.
type sessionTable struct{ blocks [][]*WorkSession }

// sessionBlockMax is the maximum number of sessions in a block.
const sessionBlockMax = 32

func (s *sessionTable) len() (count int) {
	for _, block := range s.blocks {
		count += len(block)
	}
	return count
}

// scan yields all sessions in order.
func (s *sessionTable) scan(yield func(*WorkSession) bool) {
	for _, block := range s.blocks {
		for _, one := range block {
			if !yield(one) {
				return
			}
		}
	}
}

// find returns the place of an agent's session, or the place to insert it. The table must not be
// empty.
func (s *sessionTable) find(agent id.ID) (block, place int, found bool) {
	block, _ = slices.BinarySearchFunc(s.blocks, agent, func(b []*WorkSession, a id.ID) int {
		return b[len(b)-1].Agent.Compare(a)
	})
	block = min(block, len(s.blocks)-1)
	place, found = slices.BinarySearchFunc(s.blocks[block], agent,
		func(one *WorkSession, a id.ID) int { return one.Agent.Compare(a) })
	return block, place, found
}

func (s *sessionTable) get(agent id.ID) (*WorkSession, bool) {
	if len(s.blocks) == 0 {
		return nil, false
	}
	block, place, found := s.find(agent)
	if !found {
		return nil, false
	}
	return s.blocks[block][place], true
}

// set adds a session, or replaces the session of the same agent.
func (s *sessionTable) set(one *WorkSession) {
	if len(s.blocks) == 0 {
		s.blocks = [][]*WorkSession{{one}}
		return
	}
	at, place, found := s.find(one.Agent)
	s.blocks = slices.Clone(s.blocks)
	if found {
		block := slices.Clone(s.blocks[at])
		block[place] = one
		s.blocks[at] = block
		return
	}
	block := slices.Insert(slices.Clip(s.blocks[at]), place, one)
	if len(block) <= sessionBlockMax {
		s.blocks[at] = block
		return
	}
	half := len(block) / 2
	s.blocks[at] = block[:half]
	s.blocks = slices.Insert(s.blocks, at+1, block[half:])
}

// remove removes the session of an agent, if there is one.
func (s *sessionTable) remove(agent id.ID) {
	if _, there := s.get(agent); !there {
		return
	}
	at, place, _ := s.find(agent)
	s.blocks = slices.Clone(s.blocks)
	if len(s.blocks[at]) == 1 {
		s.blocks = slices.Delete(s.blocks, at, at+1)
		return
	}
	s.blocks[at] = slices.Concat(s.blocks[at][:place], s.blocks[at][place+1:])
}
