package blobs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustOpen(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// mustPack packs, and returns how many blobs went into a pack.
func mustPack(t testing.TB, s *Store, upTo uint64) int64 {
	t.Helper()
	before := s.Stats().PackedBlobs
	if err := s.Pack(upTo); err != nil {
		t.Fatalf("pack: %v", err)
	}
	return s.Stats().PackedBlobs - before
}

// packedBut lists the packed blobs that live does not answer true for.
func packedBut(s *Store, live func(Hash) bool) (rest []Hash, err error) {
	err = s.Packed(func(some []Hash) error {
		for _, h := range some {
			if !live(h) {
				rest = append(rest, h)
			}
		}
		return nil
	})
	return rest, err
}

// dropOthers drops the packed blobs that live does not answer true for.
func dropOthers(s *Store, live func(Hash) bool) error {
	return s.Drop(func() ([]Hash, error) { return packedBut(s, live) })
}

func mustGet(t testing.TB, s *Store, content []byte) {
	t.Helper()
	got, err := s.Get(Sum(content))
	if err != nil {
		t.Fatalf("get of %d bytes: %v", len(content), err)
	}
	if got == nil || !bytes.Equal(got, content) {
		t.Fatalf("get gave %d bytes instead of %d", len(got), len(content))
	}
	if !s.Has(Sum(content)) {
		t.Fatalf("has of %d bytes is false", len(content))
	}
}

// text is content that compresses about as well as source code does.
func text(r *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+16)
	for len(b) < n {
		b = fmt.Appendf(b, "name%d := call(%d)\n", r.IntN(50), r.IntN(1000))
	}
	return b[:n]
}

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func samples() [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := [][]byte{{}, {0}, text(r, 4095), text(r, 4096), text(r, 1<<20), noise(r, 300),
		noise(r, 70<<10), text(r, 16<<20)}
	for i := range 500 {
		out = append(out, text(r, 20+i))
	}
	return out
}

func TestRoundTripAndReopen(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dir: dir, CacheBytes: 1 << 20}
	s := mustOpen(t, o)
	if _, err := s.Get(Hash{1}); !errors.Is(err, ErrNotFound) {
		t.Fatalf("get of nothing: %v", err)
	}
	all := samples()
	var total int64
	for i, c := range all {
		s.Add(uint64(i), Sum(c), c)
		s.Add(uint64(i+1), Sum(c), c)
		total += int64(len(c))
	}
	if s.RecentBytes() != total {
		t.Fatalf("%d recent bytes instead of %d", s.RecentBytes(), total)
	}
	half := uint64(len(all)/2 - 1)
	if packed := mustPack(t, s, half); packed != int64(len(all)/2) {
		t.Fatalf("%d are packed", packed)
	}
	for _, c := range all {
		mustGet(t, s, c)
	}
	mustPack(t, s, 1<<60)
	if st := s.Stats(); st.RecentBytes != 0 || st.recentBlobs != 0 ||
		st.PackedBlobs != int64(len(all)) || st.PackedBytes != total {
		t.Fatalf("stats %+v", st)
	}
	s.Close()
	seen := map[Hash]int64{}
	r, err := Verify(dir, func(h Hash, n int64) { seen[h] = n })
	if err != nil || len(seen) != len(all) || r.Blobs != int64(len(all)) || r.Packs != 2 {
		t.Fatalf("verify: %v, %+v, %d blobs", err, r, len(seen))
	}
	s = mustOpen(t, o)
	for _, c := range all {
		s.Add(1, Sum(c), c)
		mustGet(t, s, c)
	}
	if s.RecentBytes() != 0 {
		t.Fatal("adding what is packed made it recent")
	}
	if st := s.Stats(); st.CachedBytes > 1<<20 {
		t.Fatalf("the cache holds %d bytes", st.CachedBytes)
	}
}

func TestMergeKeepsAndDrops(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, Options{Dir: dir})
	all := samples()
	per := len(all) / 8
	for i, c := range all {
		s.Add(uint64(i), Sum(c), c)
		if i%per == per-1 {
			mustPack(t, s, uint64(i))
		}
	}
	mustPack(t, s, 1<<60)
	if !s.NeedsMerge() {
		t.Fatal("many packs, and no merge is needed")
	}
	if err := s.TryMerge(); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		mustGet(t, s, c)
	}
	s.Close()

	// Reopened, nothing is touched but what the test touches.
	s = mustOpen(t, Options{Dir: dir, CacheBytes: 1})
	if s.NeedsMerge() {
		t.Fatalf("a merge is needed after a merge: %+v", s.Stats())
	}
	live := map[Hash]bool{}
	for i, c := range all {
		live[Sum(c)] = i%5 == 0
	}
	again := Sum(all[501])
	err := dropOthers(s, func(h Hash) bool {
		s.Has(again)
		return live[h]
	})
	if err != nil {
		t.Fatalf("drop: %v", err)
	}
	live[again] = true
	for _, c := range all {
		if h := Sum(c); s.Has(h) != live[h] {
			t.Fatalf("has of %d bytes is %v", len(c), s.Has(h))
		} else if live[h] {
			mustGet(t, s, c)
		}
	}
	s.Close()
	if _, err := Verify(dir, nil); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, Options{Dir: dir})
	if err := dropOthers(s, none); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Packs != 0 || s.Has(again) {
		t.Fatalf("nothing is live, and the store has %+v", st)
	}
}
