package blobs

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

const benchBlobs = 100_000

func benchContent(i int) []byte {
	return fmt.Appendf(make([]byte, 0, 320), "%0300d", i)
}

// packedStore has 100,000 blobs of 300 bytes in one pack.
func packedStore(b *testing.B, cacheBytes int64) (*Store, []Hash) {
	s := mustOpen(b, Options{Dir: b.TempDir(), CacheBytes: cacheBytes})
	r := rand.New(rand.NewPCG(5, 6))
	hashes := make([]Hash, benchBlobs)
	for i := range hashes {
		c := text(r, 300)
		hashes[i] = Sum(c)
		s.Add(1, hashes[i], c)
	}
	mustPack(b, s, 1)
	return s, hashes
}

func BenchmarkGetHot(b *testing.B) {
	s, hashes := packedStore(b, 256<<20)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(hashes[i%1000]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkGetCold(b *testing.B) {
	s, hashes := packedStore(b, 1)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(hashes[i*7919%benchBlobs]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkHasMiss(b *testing.B) {
	s, _ := packedStore(b, 1)
	h := Sum(nil)
	i := uint64(0)
	for b.Loop() {
		i++
		le.PutUint64(h[8:], i*0x9E3779B97F4A7C15)
		le.PutUint64(h[16:], i*0xBF58476D1CE4E5B9)
		if s.Has(h) {
			b.Fatal("found")
		}
	}
}

func BenchmarkHasPacked(b *testing.B) {
	s, hashes := packedStore(b, 1)
	i := 0
	for b.Loop() {
		if !s.Has(hashes[i*7919%benchBlobs]) {
			b.Fatal("missing")
		}
		i++
	}
}

func BenchmarkPack100k(b *testing.B) {
	s := mustOpen(b, Options{Dir: b.TempDir(), CacheBytes: 1})
	n := 0
	b.SetBytes(benchBlobs * 300)
	for b.Loop() {
		b.StopTimer()
		for range benchBlobs {
			c := benchContent(n)
			s.Add(1, Sum(c), c)
			n++
		}
		b.StartTimer()
		if packed := mustPack(b, s, 1); packed != benchBlobs {
			b.Fatal(packed)
		}
	}
}

func BenchmarkMerge400k(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := mustOpen(b, Options{Dir: b.TempDir(), CacheBytes: 1})
		for n := range 4 * benchBlobs {
			c := benchContent(n)
			s.Add(uint64(n), Sum(c), c)
			if n%benchBlobs == benchBlobs-1 {
				mustPack(b, s, uint64(n))
			}
		}
		b.StartTimer()
		if err := s.TryMerge(); err != nil || s.Stats().Packs != 1 {
			b.Fatal(s.Stats(), err)
		}
		b.StopTimer()
		s.Close()
		b.StartTimer()
	}
}

// TestMemoryPerPackedBlob bounds the heap that a packed blob takes once the cache is full.
func TestMemoryPerPackedBlob(t *testing.T) {
	if testing.Short() || stride > 1 {
		t.Skip("measures memory")
	}
	const blobs = 300_000
	dir := t.TempDir()
	s := mustOpen(t, Options{Dir: dir, CacheBytes: 1})
	for n := range blobs {
		c := fmt.Append(nil, n)
		s.Add(1, Sum(c), c)
	}
	mustPack(t, s, 1)
	s.Close()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	s = nil
	before := heap()
	s = mustOpen(t, Options{Dir: dir, CacheBytes: 1})
	after := heap()
	perBlob := float64(int64(after)-int64(before)-touchedWords*8) / blobs
	if perBlob > 2 {
		t.Fatalf("%.2f bytes of heap per packed blob", perBlob)
	}
	t.Logf("%.2f bytes of heap per packed blob, %d in the index", perBlob, s.Stats().IndexBytes)
}
