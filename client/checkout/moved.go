package checkout

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// followRenames finds the files that were changed here and renamed on the server: what is here
// moves with them, as in a merge of the server. A rename is known by the content, so it is followed
// only where no other file has left or come with the same one, and nothing is at the new path here.
func (p *plan) followRenames() {
	type pair struct{ gone, come []string }
	pairs := map[string]*pair{}
	for name, before := range p.base {
		if _, stays := p.remote[name]; !stays && before.Hash != emptyHash {
			if pairs[before.Hash] == nil {
				pairs[before.Hash] = new(pair)
			}
			pairs[before.Hash].gone = append(pairs[before.Hash].gone, name)
		}
	}
	for name, there := range p.remote {
		if _, known := p.base[name]; !known && pairs[there.Hash] != nil {
			pairs[there.Hash].come = append(pairs[there.Hash].come, name)
		}
	}
	p.moves, p.vacated = map[string]string{}, map[string]bool{}
	for hash, one := range pairs {
		if len(one.gone) != 1 || len(one.come) != 1 {
			continue
		}
		from, to := one.gone[0], one.come[0]
		here := p.local[from]
		if here.hash == "" || here.hash == hash || p.base[from].Absent != "" ||
			p.local[to].exists() || reserved(from) != "" || reserved(to) != "" {
			continue
		}
		p.moves[to], p.vacated[from] = from, true
		p.effects = append(p.effects, effect{Path: from, Before: here.hash})
		p.done.Deleted = append(p.done.Deleted, from)
		p.done.Merged = append(p.done.Merged, to)
	}
	slices.Sort(p.done.Merged)
	slices.Sort(p.done.Deleted)
}

// moved reports whether a path is one of a rename that is followed.
func (p *plan) moved(name string) bool {
	_, to := p.moves[name]
	return to || p.vacated[name]
}

// stageMoves stages what is here for the paths to which the server has renamed it.
func (p *plan) stageMoves() error {
	t := p.tree
	for _, to := range slices.Sorted(maps.Keys(p.moves)) {
		from := p.moves[to]
		here, found, err := t.read(from)
		if err != nil {
			return err
		}
		if found.hash != p.local[from].hash {
			return fmt.Errorf("%s was changed while it was pulled: pull again", from)
		}
		e := effect{Path: to, After: found.hash, Staged: strconv.Itoa(len(p.effects))}
		p.effects = append(p.effects, e)
		if err := t.writeStaged(e.Staged, here); err != nil {
			return err
		}
		t.notice(fmt.Sprintf("%s was renamed to %s on the server: what was changed here is there now.",
			from, to))
	}
	return nil
}
