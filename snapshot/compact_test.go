package snapshot

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pws/internal/disk/disktest"
)

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestCompactionBounds overwrites a few of many sections per run: the disk stays within a multiple
// of what is live, the files stay few, and moving costs a small multiple of what was put. Where the
// budget is smaller than the largest file, that file is drained over several runs and takes room
// until it is empty.
func TestCompactionBounds(t *testing.T) {
	t.Run("budget for all", func(t *testing.T) { boundDisk(t, 0, 1.8) })
	t.Run("smallest budget", func(t *testing.T) { boundDisk(t, 1, 2.6) })
}

func boundDisk(t *testing.T, budget int64, factor float64) {
	s := mustOpen(t, Options{Dir: "d", CompactionBytes: budget, disk: disktest.New()})
	r := rand.New(rand.NewPCG(1, 1))
	const sections, perRun, size = 1000, 20, 500
	var put, moved int64
	for run := range 600 {
		w, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		n := perRun
		if run == 0 {
			n = sections
		}
		for i := range n {
			if run > 0 {
				i = r.IntN(sections)
			}
			if err := w.Put(fmt.Sprintf("section-%04d", i), 1, noise(r, size)); err != nil {
				t.Fatal(err)
			}
			put += size
		}
		if err := w.Commit(uint64(run)); err != nil {
			t.Fatal(err)
		}
		st := s.Stats()
		moved += st.LastRun.movedBytes
		if st.Sections != sections || st.Files > 64 {
			t.Fatalf("run %d: %+v", run, st)
		}
		if float64(st.FileBytes) > factor*float64(st.liveBytes) {
			t.Fatalf("run %d: %d bytes on disk for %d live", run, st.FileBytes, st.liveBytes)
		}
	}
	if moved > 4*put {
		t.Fatalf("%d bytes were moved for %d that were put", moved, put)
	}
	t.Logf("put %d, moved %d, %+v", put, moved, s.Stats())
}

// TestDeletedStoreShrinks deletes everything in small runs; neither the sections nor the deletions
// may stay behind, and a reopened store does not bring anything back.
func TestDeletedStoreShrinks(t *testing.T) {
	d := disktest.New()
	o := Options{Dir: "d", FilesMax: 8, disk: d}
	s := mustOpen(t, o)
	r := rand.New(rand.NewPCG(2, 2))
	for run := range 20 {
		put := map[string]string{}
		for i := range 50 {
			put[fmt.Sprintf("section-%02d-%02d", run, i)] = string(noise(r, 300))
		}
		mustRun(t, s, uint64(run), put)
	}
	for i := range 50 {
		var gone []string
		for run := range 20 {
			gone = append(gone, fmt.Sprintf("section-%02d-%02d", run, i))
		}
		mustRun(t, s, uint64(20+i), nil, gone...)
		if i%10 == 9 {
			s.Close()
			s = mustOpen(t, o)
			if n := len(contents(t, s)); n != 20*(49-i) {
				t.Fatalf("%d sections are left after step %d", n, i)
			}
		}
	}
	mustRun(t, s, 100, map[string]string{"last": "one"})
	mustRun(t, s, 101, nil)
	if st := s.Stats(); st.Sections != 1 || st.FileBytes > 1000 {
		t.Fatalf("stats %+v", st)
	}
}
