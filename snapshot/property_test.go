package snapshot

import (
	"fmt"
	"maps"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// TestAgainstMap runs random commits, aborts and reopenings against a map, with settings that make
// every run compact, and verifies the directory at the end.
func TestAgainstMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "snapshot")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		o := Options{Dir: dir, FilesMax: rapid.IntRange(2, 5).Draw(rt, "files"),
			CompactionBytes: int64(rapid.SampledFrom([]int{1, 300, 100000}).Draw(rt, "budget"))}
		s, err := Open(o)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { s.Close() }()
		model := map[string]string{}
		position := uint64(0)
		for range rapid.IntRange(1, 25).Draw(rt, "runs") {
			position += uint64(rapid.IntRange(0, 5).Draw(rt, "advance"))
			w, err := s.Begin()
			if err != nil {
				rt.Fatal(err)
			}
			next := maps.Clone(model)
			for range rapid.IntRange(0, 6).Draw(rt, "changes") {
				key := fmt.Sprintf("k%02d", rapid.IntRange(0, 15).Draw(rt, "key"))
				if rapid.IntRange(0, 3).Draw(rt, "kind") == 0 {
					w.Delete(key)
					delete(next, key)
					continue
				}
				value := rapid.StringN(0, 200, 400).Draw(rt, "value")
				if err := w.Put(key, position, []byte(value)); err != nil {
					rt.Fatal(err)
				}
				next[key] = value
			}
			if rapid.IntRange(0, 5).Draw(rt, "end") == 0 {
				w.Abort()
			} else if err := w.Commit(position); err != nil {
				rt.Fatal(err)
			} else {
				model = next
			}
			if rapid.Bool().Draw(rt, "reopen") {
				s.Close()
				if s, err = Open(o); err != nil {
					rt.Fatal(err)
				}
			}
			same(rt, s, model)
			if n := s.Stats().Files; n > o.FilesMax {
				rt.Fatalf("%d files", n)
			}
		}
		s.Close()
		if _, err := Verify(dir); err != nil {
			rt.Fatal(err)
		}
	})
}

func same(rt *rapid.T, s *Store, model map[string]string) {
	n := 0
	var live int64
	s.Keys("", func(key string, _ uint64) bool {
		n++
		data, _, ok, err := s.Read(key)
		if want, has := model[key]; err != nil || !ok || !has || want != string(data) {
			rt.Fatalf("section %q: %q (%v, %v), want %q (%v)", key, data, ok, err, want, has)
		}
		e, _ := s.state.Load().find(key)
		live += int64(e.size)
		return true
	})
	if st := s.Stats(); n != len(model) || st.Sections != n || st.liveBytes != live {
		rt.Fatalf("%d keys for %d, stats %+v, live %d", n, len(model), st, live)
	}
}
