package index

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unique"

	"pws/identity"
	"pws/internal/id"
)

// Provenance is the source of an entry in a capability profile that its agent has not declared.
type Provenance uint8

// The provenances that follow from evidence. Their numbers are in saved sections.
const (
	// Observed follows from what an agent has published and completed.
	Observed Provenance = iota + 1
	// Attested follows from what others have attested of its work.
	Attested
)

// ObservedMin is the number of pieces of evidence that an observed entry requires.
const ObservedMin = 3

// TraitsMax bounds the entries of one category and provenance in a profile; those with the most
// evidence are kept.
const TraitsMax = 100

// Trait is an entry of a profile that evidence supports.
type Trait struct {
	Provenance Provenance
	Category   identity.ProfileCategory
	Value      string
}

// Compare orders traits as profiles show them.
func (t Trait) Compare(other Trait) int {
	return cmp.Or(cmp.Compare(t.Category, other.Category), cmp.Compare(t.Value, other.Value),
		cmp.Compare(t.Provenance, other.Provenance))
}

// Evidence is the evidence of one project for a trait of one agent.
type Evidence struct {
	Agent id.ID
	Trait Trait
	// Count is the number of changesets, tasks or attestations.
	Count int
	// At is the time of the newest of them, in Unix milliseconds.
	At int64
}

// Compare orders the evidence of a project.
func (e *Evidence) Compare(other *Evidence) int {
	return cmp.Or(e.Agent.Compare(other.Agent), e.Trait.Compare(other.Trait))
}

// Known is a trait with the sum of its evidence.
type Known struct {
	Trait Trait
	Count int
	At    int64
}

// Profiles adds up the evidence of PUBLIC projects for each agent. Evidence of other projects is
// stored but not counted. It is safe for concurrent use.
type Profiles struct {
	mu struct {
		sync.RWMutex
		// agents holds the proofs of each agent.
		agents map[id.ID]*proofs
		// hidden holds the projects that are not PUBLIC.
		hidden map[id.ID]struct{}
		// proofs is the number of all proofs.
		proofs int
	}
}

// NewProfiles makes an empty index.
func NewProfiles() *Profiles {
	p := new(Profiles)
	p.mu.agents, p.mu.hidden = map[id.ID]*proofs{}, map[id.ID]struct{}{}
	return p
}

// SetPublic records whether a project is PUBLIC.
func (p *Profiles) SetPublic(project id.ID, public bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if public {
		delete(p.mu.hidden, project)
	} else {
		p.mu.hidden[project] = struct{}{}
	}
}

// Add adds evidence of a project. A count of zero only updates the time.
func (p *Profiles) Add(project id.ID, public bool, all []Evidence) {
	if len(all) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !public {
		p.mu.hidden[project] = struct{}{}
	}
	for _, one := range all {
		p.add(one.Agent, proof{project, unique.Make(one.Trait), one.At, uint32(one.Count)})
	}
}

func (p *Profiles) add(agent id.ID, more proof) {
	known := p.mu.agents[agent]
	if known == nil {
		known = &proofs{}
		p.mu.agents[agent] = known
	}
	to, there := known.find(more.project, more.trait)
	if there {
		one := &known.blocks[to.block][to.at]
		one.count += more.count
		one.at = max(one.at, more.at)
		return
	}
	known.insert(to, more)
	p.mu.proofs++
}

// Remove removes evidence of a project, whatever its current count.
func (p *Profiles) Remove(project id.ID, all []Evidence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range all {
		known := p.mu.agents[one.Agent]
		if known == nil {
			continue
		}
		if from, there := known.find(project, unique.Make(one.Trait)); there {
			known.remove(from)
			p.mu.proofs--
		}
		if len(known.blocks) == 0 {
			delete(p.mu.agents, one.Agent)
		}
	}
}

// Of returns the traits for which an agent has enough evidence, sorted.
func (p *Profiles) Of(agent id.ID) []Known {
	found := slices.DeleteFunc(p.sum(agent), func(k Known) bool {
		return k.Trait.Provenance == Observed && k.Count < ObservedMin
	})
	slices.SortFunc(found, func(a, b Known) int {
		return cmp.Or(cmp.Compare(a.Trait.Category, b.Trait.Category),
			cmp.Compare(a.Trait.Provenance, b.Trait.Provenance), cmp.Compare(b.Count, a.Count),
			strings.Compare(a.Trait.Value, b.Trait.Value))
	})
	found = firstOfEach(found)
	slices.SortFunc(found, func(a, b Known) int { return a.Trait.Compare(b.Trait) })
	return found
}

// sum adds up the evidence that counts for an agent.
func (p *Profiles) sum(agent id.ID) (found []Known) {
	places := map[unique.Handle[Trait]]int{}
	p.mu.RLock()
	defer p.mu.RUnlock()
	known := p.mu.agents[agent]
	if known == nil {
		return nil
	}
	var last id.ID
	hidden := false
	known.all(func(one *proof) {
		if one.project != last {
			last = one.project
			_, hidden = p.mu.hidden[last]
		}
		if hidden {
			return
		}
		at, there := places[one.trait]
		if !there {
			at = len(found)
			places[one.trait] = at
			found = append(found, Known{Trait: one.trait.Value()})
		}
		found[at].Count += int(one.count)
		found[at].At = max(found[at].At, one.at)
	})
	return found
}

// firstOfEach keeps the first TraitsMax of each category and provenance, which are adjacent.
func firstOfEach(found []Known) []Known {
	kept, run := found[:0], 0
	var last Trait
	for _, one := range found {
		if one.Trait.Category != last.Category || one.Trait.Provenance != last.Provenance {
			last, run = one.Trait, 0
		}
		if run++; run <= TraitsMax {
			kept = append(kept, one)
		}
	}
	return kept
}
