package index

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unique"

	"pws/identity"
	"pws/internal/id"
)

func traitOf(nth int) unique.Handle[Trait] {
	return unique.Make(Trait{Observed, identity.ProfileCategory(1), fmt.Sprint("trait ", nth)})
}

// TestProofsStaySorted inserts and removes proofs by chance, in ascending and in random order, and
// compares with a map.
func TestProofsStaySorted(t *testing.T) {
	type key struct {
		project id.ID
		trait   unique.Handle[Trait]
	}
	const projects, traits = 3000, 3
	for seed := range uint64(8) {
		dice := rand.New(rand.NewPCG(seed, 1))
		var p proofs
		want := map[key]uint32{}
		for nth := range 20_000 {
			project := dice.IntN(projects)
			if seed%2 == 0 {
				project = nth * projects / 20_000
			}
			k := key{idOf(2, project), traitOf(dice.IntN(traits))}
			to, there := p.find(k.project, k.trait)
			if _, known := want[k]; known != there {
				t.Fatalf("seed %d, step %d: found %v, want %v", seed, nth, there, known)
			}
			switch {
			case there && dice.IntN(3) == 0:
				p.remove(to)
				delete(want, k)
			case there:
				p.blocks[to.block][to.at].count++
				want[k]++
			default:
				p.insert(to, proof{project: k.project, trait: k.trait})
				want[k] = 0
			}
		}
		var last id.ID
		p.all(func(one *proof) {
			if one.project.Compare(last) < 0 {
				t.Fatalf("seed %d: not sorted", seed)
			}
			last = one.project
			k := key{one.project, one.trait}
			if count, known := want[k]; !known || count != one.count {
				t.Fatalf("seed %d: %v has %d, want %d (%v)", seed, k, one.count, count, known)
			}
			delete(want, k)
		})
		if len(want) > 0 {
			t.Fatalf("seed %d: %d proofs are lost", seed, len(want))
		}
		longest := slices.MaxFunc(p.blocks, func(a, b []proof) int {
			return cmp.Compare(len(a), len(b))
		})
		if len(longest) > proofBlock || slices.ContainsFunc(p.blocks, func(b []proof) bool {
			return len(b) == 0
		}) {
			t.Errorf("seed %d: a block has %d proofs, or none", seed, len(longest))
		}
	}
}

// BenchmarkProfilesAdd adds evidence of projects by chance to an agent that is active in many.
func BenchmarkProfilesAdd(b *testing.B) {
	for _, projects := range []int{100, 10_000, 200_000} {
		b.Run(fmt.Sprint(projects), func(b *testing.B) {
			agent := idOf(1, 1)
			one := []Evidence{{Agent: agent, Trait: traitOf(1).Value(), Count: 1}}
			p := NewProfiles()
			for nth := range projects {
				p.Add(idOf(2, 2*nth), true, one)
			}
			dice := rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				project := idOf(2, 2*dice.IntN(projects)+1)
				p.Add(project, true, one)
				p.Remove(project, one)
			}
		})
	}
}
