package blobs

import (
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

var contents = func() (out [41][]byte) {
	for i := range out {
		out[i] = text(rand.New(rand.NewPCG(uint64(i), 0)), i*i*13%9000)
	}
	return out
}()

// model says of each of the contents what the store may answer.
type model struct {
	position uint64
	recent   map[int]uint64
	packed   map[int]bool
	dropped  map[int]bool // may be gone
}

// TestAgainstMap runs random operations against a map. A blob that is not live may be gone after a
// Drop or still be there; everything else is exact.
func TestAgainstMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "blobs")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		o := Options{Dir: dir,
			CacheBytes: rapid.SampledFrom([]int64{1, 1 << 16, 1 << 20, 1 << 24}).Draw(rt, "cache")}
		s, err := Open(o)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { s.Close() }()
		m := &model{recent: map[int]uint64{}, packed: map[int]bool{}, dropped: map[int]bool{}}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			if rapid.IntRange(0, 9).Draw(rt, "reopen") > 0 {
				m.step(rt, s)
			} else {
				s.Close()
				if s, err = Open(o); err != nil {
					rt.Fatal(err)
				}
				// The log is replayed.
				for i, p := range m.recent {
					s.Add(p, Sum(contents[i]), contents[i])
				}
			}
			m.compare(rt, s)
		}
		s.Close()
		if _, err := Verify(dir, nil); err != nil {
			rt.Fatal(err)
		}
	})
}

func (m *model) step(rt *rapid.T, s *Store) {
	switch rapid.IntRange(0, 8).Draw(rt, "step") {
	default:
		m.position++
		i := rapid.IntRange(0, len(contents)-1).Draw(rt, "blob")
		s.Add(m.position, Sum(contents[i]), contents[i])
		if _, ok := m.recent[i]; !ok && (!m.packed[i] || m.dropped[i]) {
			m.recent[i] = m.position
		}
		delete(m.dropped, i)
	case 5, 6:
		upTo := uint64(rapid.IntRange(0, int(m.position)).Draw(rt, "upTo"))
		if err := s.Pack(upTo); err != nil {
			rt.Fatal(err)
		}
		for i, p := range m.recent {
			if p <= upTo {
				m.packed[i] = true
				delete(m.recent, i)
			}
		}
	case 7:
		odd := rapid.IntRange(0, 3).Draw(rt, "live")
		live := map[Hash]bool{}
		for i, c := range contents {
			// What an entry of the log names is live.
			_, named := m.recent[i]
			live[Sum(c)] = i%4 != odd || named
		}
		if err := dropOthers(s, func(h Hash) bool { return live[h] }); err != nil {
			rt.Fatal(err)
		}
		for i := range m.packed {
			if _, ok := m.recent[i]; !ok && i%4 == odd {
				m.dropped[i] = true
			}
		}
	case 8:
		if err := s.TryMerge(); err != nil {
			rt.Fatal(err)
		}
	}
}

func (m *model) compare(rt *rapid.T, s *Store) {
	for i, c := range contents {
		_, isRecent := m.recent[i]
		got, err := s.Get(Sum(c))
		switch {
		case err == nil && Sum(got) == Sum(c) && (isRecent || m.packed[i]):
		case errors.Is(err, ErrNotFound) && !isRecent && (!m.packed[i] || m.dropped[i]):
		default:
			rt.Fatalf("blob %d: %v, recent %v, packed %v", i, err, isRecent, m.packed[i])
		}
	}
}

// dropHeld is dropOthers with a lock held while live is asked. It reports whether there was a blob
// to drop.
func dropHeld(s *Store, held sync.Locker, live func(Hash) bool) (some bool, err error) {
	err = s.Drop(func() ([]Hash, error) {
		held.Lock()
		defer held.Unlock()
		gone, err := packedBut(s, live)
		some = len(gone) > 0
		return gone, err
	})
	return some, err
}

// TestEverythingAtOnce has writers that name a blob that Has reported, or add it, while packs,
// merges and drops run. What a writer has named has to be readable until it lets go of it.
func TestEverythingAtOnce(t *testing.T) {
	s := mustOpen(t, Options{Dir: t.TempDir(), CacheBytes: 1 << 16})
	const kinds, drops = 3000, 3
	var contents [kinds][]byte
	var named [kinds]atomic.Int32
	index := map[Hash]int{}
	for i := range contents {
		contents[i] = text(rand.New(rand.NewPCG(uint64(i), 1)), 50+i*i%1000)
		index[Sum(contents[i])] = i
	}
	var position atomic.Uint64
	// inFlight is held from Has until the blob is named; a Pack begins after those in flight have
	// ended, as a snapshot covers positions whose views are published.
	var inFlight sync.RWMutex
	var dropped atomic.Int64
	done := func() bool { return dropped.Load() >= drops || t.Failed() }
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 2))
			var held [30]int
			for n := 0; !done(); n++ {
				i := r.IntN(kinds)
				h := Sum(contents[i])
				inFlight.RLock()
				if !s.Has(h) {
					s.Add(position.Add(1), h, contents[i])
				}
				named[i].Add(1)
				inFlight.RUnlock()
				held[n%len(held)], i = i, held[n%len(held)]
				if n < len(held) {
					continue
				}
				h = Sum(contents[i])
				if got, err := s.Get(h); err != nil || Sum(got) != h {
					t.Errorf("blob %d: %v", i, err)
				}
				named[i].Add(-1)
			}
		})
	}
	all.Go(func() {
		for !done() {
			inFlight.Lock()
			upTo := position.Load()
			inFlight.Unlock()
			if err := s.Pack(upTo); err != nil {
				t.Error(err)
			}
			s.Stats()
		}
	})
	all.Go(func() {
		for !done() {
			if err := s.TryMerge(); err != nil {
				t.Error(err)
			}
			some, err := dropHeld(s, &inFlight, func(h Hash) bool { return named[index[h]].Load() > 0 })
			if err != nil && !errors.Is(err, errNeeded) {
				t.Error(err)
			}
			if some {
				dropped.Add(1)
			}
		}
	})
	all.Wait()
}
