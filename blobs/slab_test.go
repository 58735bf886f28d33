package blobs

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// check fails unless the counts of the slabs are what the slabs have, and all can be found.
func (l *slabs) check(t rapid.TB) {
	t.Helper()
	var bytes, all int64
	var counts [3]int
	for i, s := range l.slots {
		if s == nil {
			continue
		}
		if s.slot != uint32(i) {
			t.Fatalf("slab %d has the number %d", i, s.slot)
		}
		all += int64(cap(s.bytes))
		recents := 0
		for nth := range s.records {
			r := &s.records[nth]
			counts[r.state]++
			if r.state == isRecent {
				recents++
			}
			if _, found := l.find(&r.hash); r.state != isGone && found != r {
				t.Fatalf("record %d of slab %d is not found", nth, i)
			}
			if r.state != isGone && Sum(s.content(r)) != r.hash {
				t.Fatalf("record %d of slab %d has another content", nth, i)
			}
		}
		if recents != s.recent || s.cached && recents > 0 {
			t.Fatalf("slab %d has %d recent blobs and counts %d", i, recents, s.recent)
		}
	}
	for s := l.first; s != nil; s = s.next {
		bytes += s.cost()
		if l.slots[s.slot] != s || !s.cached {
			t.Fatalf("slab %d is in the queue and gone", s.slot)
		}
	}
	if bytes != l.bytes || all != l.all {
		t.Fatalf("slabs have %d and %d bytes and count %d and %d", bytes, all, l.bytes, l.all)
	}
	if counts[isRecent] != l.recentBlobs || counts[isPacked] != l.packedBlobs ||
		l.table.used != l.recentBlobs+l.packedBlobs {
		t.Fatalf("%v blobs, and %d, %d and %d are counted", counts, l.recentBlobs, l.packedBlobs,
			l.table.used)
	}
}

// TestShardAgainstMap runs random operations on a shard and compares it with a map.
func TestShardAgainstMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var sh shard
		sh.init(rapid.SampledFrom([]int64{0, 1, 3000, 20_000, 200_000}).Draw(rt, "limit"))
		many := rapid.SampledFrom([]int{3, 40, 3000}).Draw(rt, "kinds")
		size := rapid.SampledFrom([]int{10, 300, 9000}).Draw(rt, "size")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		content := func(kind int) []byte {
			c := text(rand.New(rand.NewPCG(uint64(kind), 2)), kind*7919%size)
			return strconv.AppendInt(c, int64(kind), 10)
		}
		position, recents := uint64(0), map[int]uint64{}
		for range rapid.IntRange(1, 2000).Draw(rt, "steps") {
			kind := r.IntN(many)
			c := content(kind)
			h := Sum(c)
			switch r.IntN(100) {
			default:
				position++
				_, known := recents[kind]
				if sh.addRecent(position, h, c, r.IntN(2) > 0) == known {
					rt.Fatal("a recent blob is new")
				}
				if !known {
					recents[kind] = position
				}
			case 0, 1:
				upTo := position - uint64(r.IntN(int(min(position, 50)+1)))
				for _, one := range sh.collect(nil, 0, upTo) {
					if _, at := sh.at(one.place); !startsWith(at, one.prefix) {
						rt.Fatal("a place has another content")
					}
					sh.packed(one.place)
				}
				for kind, at := range recents {
					if at <= upTo {
						delete(recents, kind)
					}
				}
			case 2, 3, 4:
				forgotten := sh.forget(&h)
				if _, known := recents[kind]; known && forgotten != int64(len(c)) {
					rt.Fatalf("%d bytes of %d are forgotten", forgotten, len(c))
				}
				delete(recents, kind)
				if _, found := sh.get(&h); found {
					rt.Fatal("a forgotten blob is there")
				}
			case 5, 6, 7, 8, 9, 10, 11, 12, 13:
				sh.keep(h, c, r.IntN(2) > 0)
			case 14, 15, 16, 17, 18, 19, 20, 21, 22:
				_, known := recents[kind]
				if got, found := sh.get(&h); found && !bytes.Equal(got, c) || !found && known {
					rt.Fatalf("a blob is not there, or another: %v", found)
				}
			}
			if sh.mu.bytes > sh.mu.limit {
				rt.Fatalf("the cache has %d bytes, and %d is its limit", sh.mu.bytes, sh.mu.limit)
			}
		}
		sh.mu.check(rt)
		if sh.mu.recentBlobs != len(recents) {
			rt.Fatalf("%d recent blobs instead of %d", sh.mu.recentBlobs, len(recents))
		}
	})
}

func startsWith(content []byte, prefixOfHash uint64) bool {
	h := Sum(content)
	return prefix(&h) == prefixOfHash
}

// TestCacheKeepsWhatIsRead keeps more than fits and reads some of it all the time: these stay.
func TestCacheKeepsWhatIsRead(t *testing.T) {
	var sh shard
	sh.init(256 << 10)
	var read, other []Hash
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 20_000 {
		c := noise(r, 300)
		h := Sum(c)
		sh.keep(h, c, true)
		if n%200 == 0 && len(read) < 100 {
			read = append(read, h)
		} else {
			other = append(other, h)
		}
		for i := range read {
			if n%10 == 0 {
				sh.get(&read[i])
			}
		}
	}
	sh.mu.check(t)
	there := func(hashes []Hash) (found int) {
		for i := range hashes {
			if _, ok := sh.get(&hashes[i]); ok {
				found++
			}
		}
		return found
	}
	if found := there(read); found != len(read) {
		t.Errorf("%d of %d blobs that were read stayed", found, len(read))
	}
	if found := there(other); found < 400 || found > 900 {
		t.Errorf("%d other blobs are in a cache of 256 KiB", found)
	}
}

// TestContentsStayValidAfterEviction holds contents while the cache is filled many times over.
func TestContentsStayValidAfterEviction(t *testing.T) {
	var sh shard
	sh.init(64 << 10)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 3))
			var held [50][]byte
			var hashes [50]Hash
			for n := range 4000 {
				c := text(r, r.IntN(1500))
				h := Sum(c)
				if n%2 == 0 {
					sh.keep(h, c, false)
				} else if sh.addRecent(1, h, c, false) {
					_, record := sh.mustFind(&h)
					sh.packed(record)
				}
				if got, ok := sh.get(&h); ok {
					held[n%50], hashes[n%50] = got, h
				}
				for i := range held {
					if n%50 == 0 && held[i] != nil && Sum(held[i]) != hashes[i] {
						t.Error("a content changed while it was read")
					}
				}
			}
		})
	}
	all.Wait()
	sh.mu.check(t)
}

func (sh *shard) mustFind(h *Hash) (*slab, place) {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	s, r := sh.mu.find(h)
	return s, placeOf(s.slot, s.number(r))
}

// TestForgetLeavesNoBytes looks for a content in all slabs AFTER it was dropped.
func TestForgetLeavesNoBytes(t *testing.T) {
	var sh shard
	sh.init(1 << 20)
	r := rand.New(rand.NewPCG(4, 4))
	var dropped [][]byte
	for n := range 3000 {
		c := noise(r, 300)
		if n%2 == 0 {
			sh.addRecent(1, Sum(c), c, false)
		} else {
			sh.keep(Sum(c), c, false)
		}
		if n%500 < 2 {
			dropped = append(dropped, c)
		}
	}
	for _, c := range dropped {
		h := Sum(c)
		sh.forget(&h)
	}
	sh.mu.check(t)
	if sh.mu.recentBlobs+sh.mu.packedBlobs != 3000-len(dropped) {
		t.Errorf("%d and %d blobs are left", sh.mu.recentBlobs, sh.mu.packedBlobs)
	}
	for _, s := range sh.mu.slots {
		for _, c := range dropped {
			if s != nil && bytes.Contains(s.bytes, c) {
				t.Fatal("a dropped content is in a slab")
			}
		}
	}
}

// TestRecordsHavePointersNowhere keeps the garbage collector from following each blob.
func TestRecordsHavePointersNowhere(t *testing.T) {
	var pointers func(of reflect.Type) bool
	pointers = func(of reflect.Type) bool {
		switch of.Kind() {
		case reflect.Struct:
			for i := range of.NumField() {
				if pointers(of.Field(i).Type) {
					return true
				}
			}
			return false
		case reflect.Array:
			return pointers(of.Elem())
		default:
			return of.Kind() > reflect.Complex128
		}
	}
	for _, one := range []any{record{}, packing{}, entry{}} {
		if pointers(reflect.TypeOf(one)) {
			t.Errorf("%T has pointers", one)
		}
	}
}

// TestMemoryPerHeldBlob bounds what a recent blob of 300 bytes takes, in bytes and in objects.
func TestMemoryPerHeldBlob(t *testing.T) {
	if testing.Short() || stride > 1 {
		t.Skip("measures memory")
	}
	const blobs = 200_000
	s := mustOpen(t, Options{Dir: t.TempDir()})
	heap := func() (bytes, objects float64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc), float64(m.HeapObjects)
	}
	r := rand.New(rand.NewPCG(6, 6))
	bytesBefore, objectsBefore := heap()
	for n := range blobs {
		c := noise(r, 300)
		s.Add(uint64(n), Sum(c), c)
	}
	measure := func(what string, bound float64) {
		bytes, objects := heap()
		bytes, objects = (bytes-bytesBefore)/blobs, (objects-objectsBefore)/blobs
		t.Logf("%s: %.0f bytes and %.3f objects for each blob", what, bytes, objects)
		if bytes > bound || objects > 0.05 {
			t.Errorf("%s: %.0f bytes and %.3f objects for each blob", what, bytes, objects)
		}
	}
	measure("recent", 400)
	mustPack(t, s, blobs)
	if st := s.Stats(); st.cachedBlobs != blobs {
		t.Fatalf("%d of %d blobs are in the cache", st.cachedBlobs, blobs)
	}
	measure("in the cache", 410)
	runtime.KeepAlive(s)
}
