package index

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pws/identity"
	"pws/internal/id"
)

func trait(provenance Provenance, value string) Trait {
	return Trait{Provenance: provenance, Category: identity.ProfileLanguages, Value: value}
}

// TestProfilesAddUp compares profiles with a walk over all evidence of PUBLIC projects.
func TestProfilesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		profiles := NewProfiles()
		type place struct {
			project id.ID
			agent   id.ID
			trait   Trait
		}
		kept, hidden := map[place]Known{}, map[id.ID]bool{}
		draw := func(name string, most int) byte {
			return byte(rapid.IntRange(0, most).Draw(t, name))
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at := place{
				project: id.ID{0: 1, 15: draw("project", 3)}, agent: id.ID{0: 3, 15: draw("agent", 2)},
				trait: trait(Provenance(1+draw("provenance", 1)), string('a'+rune(draw("value", 2)))),
			}
			switch known := kept[at]; draw("step", 4) {
			case 0:
				hidden[at.project] = !hidden[at.project]
				profiles.SetPublic(at.project, !hidden[at.project])
			case 1:
				profiles.Remove(at.project, []Evidence{{Agent: at.agent, Trait: at.trait}})
				delete(kept, at)
			default:
				more := Evidence{
					Agent: at.agent, Trait: at.trait, Count: 1 + int(draw("count", 3)),
					At: int64(draw("at", 100)),
				}
				profiles.Add(at.project, !hidden[at.project], []Evidence{more})
				kept[at] = Known{at.trait, known.Count + more.Count, max(known.At, more.At)}
			}
		}
		for agent := range byte(3) {
			agent := id.ID{0: 3, 15: agent}
			sums := map[Trait]Known{}
			for at, one := range kept {
				if at.agent == agent && !hidden[at.project] {
					sum := sums[at.trait]
					sums[at.trait] = Known{at.trait, sum.Count + one.Count, max(sum.At, one.At)}
				}
			}
			var want []Known
			for _, sum := range sums {
				if sum.Trait.Provenance == Attested || sum.Count >= ObservedMin {
					want = append(want, sum)
				}
			}
			slices.SortFunc(want, func(a, b Known) int { return a.Trait.Compare(b.Trait) })
			if got := profiles.Of(agent); !slices.Equal(got, want) {
				t.Fatalf("%v is known for %+v, want %+v", agent, got, want)
			}
		}
	})
}

// TestProfilesAreBounded checks that of too many traits those with the most evidence are shown.
func TestProfilesAreBounded(t *testing.T) {
	profiles, agent := NewProfiles(), id.ID{0: 3}
	for n := range 3 * TraitsMax {
		profiles.Add(id.ID{0: 1}, true, []Evidence{
			{Agent: agent, Trait: trait(Observed, fmt.Sprintf("%03d", n)), Count: ObservedMin + n},
		})
	}
	profiles.Add(id.ID{0: 1}, true, []Evidence{
		{Agent: agent, Trait: trait(Attested, "000"), Count: 1},
	})
	known := profiles.Of(agent)
	if len(known) != TraitsMax+1 || known[0].Trait.Provenance != Attested ||
		known[1].Trait.Value != "200" {
		t.Fatalf("%d traits, the first %+v", len(known), known[0])
	}
}

// TestProfilesAreSmall bounds the memory of a project with one agent and one language.
func TestProfilesAreSmall(t *testing.T) {
	const projects = 20_000
	profiles, before := NewProfiles(), heap()
	for n := range projects {
		project := id.ID{0: 1, 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}
		agent := id.ID{0: 3, 15: byte(n)}
		profiles.Add(project, true, []Evidence{{Agent: agent, Trait: trait(Observed, "go"), Count: 1}})
	}
	if size := float64(heap()-before) / projects; size > 80 {
		t.Fatalf("a project takes %.1f bytes", size)
	}
	if got := profiles.Of(id.ID{0: 3}); len(got) != 1 {
		t.Fatalf("known for %v", got)
	}
}
