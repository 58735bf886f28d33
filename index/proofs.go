package index

import (
	"slices"
	"sort"
	"unique"

	"pws/internal/id"
)

// proof is the evidence of one project, as stored for its agent.
type proof struct {
	project id.ID
	trait   unique.Handle[Trait]
	at      int64
	count   uint32
}

// proofs are those of one agent, sorted by project. An agent may be active in very many projects,
// so they are in blocks: a new one moves the rest of its block, not of all.
type proofs struct {
	// blocks are not empty, and have proofBlock proofs at most.
	blocks [][]proof
}

// proofBlock is the largest number of proofs in a block, about 20 KB.
const proofBlock = 512

// place is where a proof is, or would be inserted.
type place struct{ block, at int }

// find returns the place of the proof of a project for a trait, and whether it is there.
func (p *proofs) find(project id.ID, trait unique.Handle[Trait]) (place, bool) {
	to := p.first(project)
	for ; to.block < len(p.blocks); to = (place{to.block + 1, 0}) {
		block := p.blocks[to.block]
		for ; to.at < len(block); to.at++ {
			if block[to.at].project != project {
				return to, false
			}
			if block[to.at].trait == trait {
				return to, true
			}
		}
	}
	return p.end(), false
}

// first is the place of the first proof of a project, or of the next one.
func (p *proofs) first(project id.ID) place {
	// Fast path: the project is nearly always a new one.
	if last := len(p.blocks) - 1; last < 0 || before(p.blocks[last], project) {
		return p.end()
	}
	in := sort.Search(len(p.blocks), func(nth int) bool { return !before(p.blocks[nth], project) })
	at, _ := slices.BinarySearchFunc(p.blocks[in], project, func(one proof, wanted id.ID) int {
		return one.project.Compare(wanted)
	})
	return place{in, at}
}

// before reports whether all proofs of a block are of projects before this one.
func before(block []proof, project id.ID) bool {
	return block[len(block)-1].project.Compare(project) < 0
}

// end is the place AFTER all proofs.
func (p *proofs) end() place {
	if last := len(p.blocks) - 1; last >= 0 {
		return place{last, len(p.blocks[last])}
	}
	return place{}
}

// insert inserts a proof at a place that find has returned for it.
func (p *proofs) insert(to place, more proof) {
	if len(p.blocks) == 0 {
		p.blocks = [][]proof{{more}}
		return
	}
	if block := p.blocks[to.block]; len(block) == proofBlock {
		// Sorted proofs fill their blocks; others leave both halves with room.
		half := proofBlock / 2
		if to == p.end() {
			half = proofBlock
		}
		second := append(make([]proof, 0, max(proofBlock-half, 8)), block[half:]...)
		p.blocks[to.block] = block[:half:half]
		if len(second) == 0 {
			p.blocks = append(p.blocks, append(second, more))
			return
		}
		p.blocks = slices.Insert(p.blocks, to.block+1, second)
		if to.at > half {
			to = place{to.block + 1, to.at - half}
		}
	}
	p.blocks[to.block] = slices.Insert(p.blocks[to.block], to.at, more)
}

// remove removes the proof at a place.
func (p *proofs) remove(from place) {
	block := slices.Delete(p.blocks[from.block], from.at, from.at+1)
	if p.blocks[from.block] = block; len(block) == 0 {
		p.blocks = slices.Delete(p.blocks, from.block, from.block+1)
	}
}

// all calls visit with each proof in order.
func (p *proofs) all(visit func(one *proof)) {
	for _, block := range p.blocks {
		for i := range block {
			visit(&block[i])
		}
	}
}
