package index

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/id"
)

// The table answers as a map does, for IDs that differ in a few bits alone.
func TestOwnersAreAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		owners, model := NewOwners[int](), map[id.ID]int{}
		thing := rapid.Custom(func(t *rapid.T) id.ID {
			return id.ID{
				5:  rapid.ByteRange(0, 1).Draw(t, "time"),
				14: rapid.ByteRange(0, 3).Draw(t, "high"),
				15: rapid.Byte().Draw(t, "low"),
			}
		})
		for step := range rapid.IntRange(0, 400).Draw(t, "steps") {
			one := thing.Draw(t, "thing")
			_, known := model[one]
			if fresh := owners.Set(one, step); fresh != (!known && !one.IsZero()) {
				t.Fatalf("Set(%v) = %v, known before: %v", one, fresh, known)
			}
			if !one.IsZero() {
				model[one] = step
			}
			asked := thing.Draw(t, "asked")
			want, wantOK := model[asked]
			if got, ok := owners.Get(asked); got != want || ok != wantOK {
				t.Fatalf("Get(%v) = %v, %v, want %v, %v", asked, got, ok, want, wantOK)
			}
		}
		if owners.Len() != len(model) {
			t.Fatalf("Len = %d, want %d", owners.Len(), len(model))
		}
		for one, want := range model {
			if got, ok := owners.Get(one); !ok || got != want {
				t.Fatalf("Get(%v) = %v, %v, want %v", one, got, ok, want)
			}
		}
	})
}

// made is the nth ID of a service that makes some in each millisecond.
func made(random *rand.Rand, n int) id.ID {
	var entropy [10]byte
	binary.BigEndian.PutUint64(entropy[:], random.Uint64()>>1)
	return id.New(1_763_600_000_000+int64(n/3), entropy)
}

// TestOwnersAreSmall puts in very many, and looks at the memory at several fillings.
func TestOwnersAreSmall(t *testing.T) {
	owners, random := NewOwners[*int](), rand.New(rand.NewPCG(1, 2))
	value, before := new(int), heap()
	for n := range 400_000 {
		owners.Set(made(random, n), value)
		if n < 100_000 || n%20_000 != 0 {
			continue
		}
		if each := float64(heap()-before) / float64(n); each > 40 {
			t.Fatalf("%d things take %.1f bytes each", n, each)
		}
	}
	if owners.Len() != 400_000 {
		t.Fatalf("%d things", owners.Len())
	}
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestOwnersConcurrently(t *testing.T) {
	owners := NewOwners[int]()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 0))
			var mine []id.ID
			for n := range 5000 {
				one := made(random, n)
				mine = append(mine, one)
				owners.Set(one, worker)
				if got, ok := owners.Get(mine[random.IntN(len(mine))]); !ok || got != worker {
					t.Errorf("worker %d finds %d, %v", worker, got, ok)
					return
				}
			}
		})
	}
	all.Wait()
	if owners.Len() != 40_000 {
		t.Fatalf("%d things", owners.Len())
	}
}

func BenchmarkOwners(b *testing.B) {
	owners, random := NewOwners[int](), rand.New(rand.NewPCG(1, 2))
	things := make([]id.ID, 1_000_000)
	for n := range things {
		things[n] = made(random, n)
	}
	b.Run("set", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			owners.Set(things[n%len(things)], n)
		}
	})
	for n, thing := range things {
		owners.Set(thing, n)
	}
	b.Run("get", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			owners.Get(things[n*7919%len(things)])
		}
	})
	b.Run("miss", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			owners.Get(id.ID{byte(n), 3: byte(n >> 8), 9: byte(n >> 16)})
		}
	})
}
