package snapshot

import (
	"fmt"
	"runtime"
	"testing"
)

func sectionText(i int) []byte {
	b := make([]byte, 0, 1100)
	for j := 0; len(b) < 1024; j++ {
		b = fmt.Appendf(b, "task-%d status OPEN assignee agent-%d;", i*31+j, (i*7+j)%97)
	}
	return b[:1024]
}

func BenchmarkCommit10kSections(b *testing.B) {
	s := mustOpen(b, Options{Dir: b.TempDir()})
	data := sectionText(1)
	position := uint64(0)
	b.SetBytes(10_000 << 10)
	for b.Loop() {
		position++
		w, err := s.Begin()
		if err != nil {
			b.Fatal(err)
		}
		for i := range 10_000 {
			if err := w.Put(fmt.Sprintf("p%016d", i), position, data); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Commit(position); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommitOneOf1M is what a run costs when one section of a million has changed.
func BenchmarkCommitOneOf1M(b *testing.B) {
	s, _ := millionSections(b)
	position := s.Position()
	for b.Loop() {
		position++
		mustRun(b, s, position, map[string]string{"p0000000000000007": "new"})
	}
}

func BenchmarkOpen1M(b *testing.B) {
	s, o := millionSections(b)
	s.Close()
	for b.Loop() {
		s, err := Open(o)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(s.Stats().IndexBytes)/1e6, "index-bytes/section")
		s.Close()
	}
}

func BenchmarkRead(b *testing.B) {
	s := mustOpen(b, Options{Dir: b.TempDir()})
	put := map[string]string{}
	for i := range 10_000 {
		put[fmt.Sprintf("p%016d", i)] = string(sectionText(i))
	}
	mustRun(b, s, 1, put)
	keys := make([]string, 0, len(put))
	for k := range put {
		keys = append(keys, k)
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok, err := s.Read(keys[i%len(keys)]); !ok || err != nil {
			b.Fatal(ok, err)
		}
		i++
	}
}

func BenchmarkSectionPosition1M(b *testing.B) {
	s, _ := millionSections(b)
	i := 0
	for b.Loop() {
		if _, ok := s.SectionPosition(fmt.Sprintf("p%016d", i*7919%1_000_000)); !ok {
			b.Fatal("missing")
		}
		i++
	}
}

func millionSections(b *testing.B) (*Store, Options) {
	o := Options{Dir: b.TempDir()}
	s := mustOpen(b, o)
	w, err := s.Begin()
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1_000_000 {
		if err := w.Put(fmt.Sprintf("p%016d", i), 1, []byte("small")); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Commit(1); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	return s, o
}
