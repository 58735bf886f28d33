package work

import (
	"slices"

	"pws/internal/id"
)

// roster is the open work sessions in the order of their agents. Nearly every write puts another
// version of one of them: they stand in blocks that are small enough to be copied for it. What
// older states read is never written.
type roster struct{ blocks [][]*WorkSession }

// rosterBlockMax is how many sessions stand in one block.
const rosterBlockMax = 32

func (r *roster) len() (count int) {
	for _, block := range r.blocks {
		count += len(block)
	}
	return count
}

// scan yields all in their order.
func (r *roster) scan(yield func(*WorkSession) bool) {
	for _, block := range r.blocks {
		for _, one := range block {
			if !yield(one) {
				return
			}
		}
	}
}

// find is the place of an agent's session, or where it would stand. There is a block at least.
func (r *roster) find(agent id.ID) (block, place int, found bool) {
	block, _ = slices.BinarySearchFunc(r.blocks, agent, func(b []*WorkSession, a id.ID) int {
		return b[len(b)-1].Agent.Compare(a)
	})
	block = min(block, len(r.blocks)-1)
	place, found = slices.BinarySearchFunc(r.blocks[block], agent,
		func(one *WorkSession, a id.ID) int { return one.Agent.Compare(a) })
	return block, place, found
}

func (r *roster) get(agent id.ID) (*WorkSession, bool) {
	if len(r.blocks) == 0 {
		return nil, false
	}
	block, place, found := r.find(agent)
	if !found {
		return nil, false
	}
	return r.blocks[block][place], true
}

// set puts a session in, or replaces that of the same agent.
func (r *roster) set(one *WorkSession) {
	if len(r.blocks) == 0 {
		r.blocks = [][]*WorkSession{{one}}
		return
	}
	at, place, found := r.find(one.Agent)
	r.blocks = slices.Clone(r.blocks)
	if found {
		block := slices.Clone(r.blocks[at])
		block[place] = one
		r.blocks[at] = block
		return
	}
	block := slices.Insert(slices.Clip(r.blocks[at]), place, one)
	if len(block) <= rosterBlockMax {
		r.blocks[at] = block
		return
	}
	half := len(block) / 2
	r.blocks[at] = block[:half]
	r.blocks = slices.Insert(r.blocks, at+1, block[half:])
}

// remove takes the session of an agent out where there is one.
func (r *roster) remove(agent id.ID) {
	if _, there := r.get(agent); !there {
		return
	}
	at, place, _ := r.find(agent)
	r.blocks = slices.Clone(r.blocks)
	if len(r.blocks[at]) == 1 {
		r.blocks = slices.Delete(r.blocks, at, at+1)
		return
	}
	r.blocks[at] = slices.Concat(r.blocks[at][:place], r.blocks[at][place+1:])
}
