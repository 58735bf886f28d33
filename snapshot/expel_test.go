package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pws/internal/disk"
	"pws/internal/disk/disktest"
)

// TestExpelledSectionsLeaveTheFiles has earlier versions and deleted sections leave the files with
// the run AFTER the next one, and all others stay.
func TestExpelledSectionsLeaveTheFiles(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, Options{Dir: dir})
	want := map[string]string{}
	put := map[string]string{}
	for n := range 50 {
		put[fmt.Sprint("k", n)] = fmt.Sprint("value ", n)
	}
	put["x1"], put["x2"] = "xylophone one", "xylophone two"
	mustRun(t, s, 1, put)
	mustRun(t, s, 2, map[string]string{"k1": "changed", "x1": "quartz"})
	mustRun(t, s, 3, map[string]string{"k2": "changed"}, "x2")
	for key, value := range put {
		want[key] = value
	}
	want["k1"], want["k2"], want["x1"] = "changed", "changed", "quartz"
	delete(want, "x2")
	match := func(key string) bool { return strings.HasPrefix(key, "x") }
	holds := func() bool {
		t.Helper()
		name, err := disktest.Holding(dir, "xylophone")
		if err != nil {
			t.Fatal(err)
		}
		return name != ""
	}
	if !holds() {
		t.Fatal("nothing is there to leave")
	}
	w, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	w.Expel(match)
	if err := w.Commit(3); err != nil {
		t.Fatal(err)
	}
	mustRun(t, s, 3, nil)
	if holds() {
		t.Error("it is still there")
	}
	check := func(s *Store) {
		t.Helper()
		got := contents(t, s)
		if len(got) != len(want) {
			t.Errorf("%d sections instead of %d", len(got), len(want))
		}
		for key, value := range want {
			if got[key] != value {
				t.Errorf("%s is %q", key, got[key])
			}
		}
	}
	check(s)
	s.Close()
	check(mustOpen(t, Options{Dir: dir}))
}

// TestExpelCarriesDamage has a deleted section leave a file in which another one is damaged. That
// one stays damaged, the others stay readable.
func TestExpelCarriesDamage(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, Options{Dir: dir})
	mustRun(t, s, 1, map[string]string{"x": "xylophone", "y": "damaged", "z": "sound"})
	name := s.state.Load().files[0].name
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[bytes.Index(content, []byte("damaged"))] ^= 1
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	w.Expel(func(key string) bool { return key == "x" })
	if err := w.Delete("x"); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(2); err != nil {
		t.Fatal(err)
	}
	mustRun(t, s, 3, nil)
	if name, err := disktest.Holding(dir, "xylophone"); err != nil || name != "" {
		t.Errorf("it is still in %s, %v", name, err)
	}
	s.Close()
	if r, err := Verify(dir); !errors.Is(err, ErrCorrupt) || len(r.Damage) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	s = mustOpen(t, Options{Dir: dir})
	if _, _, _, err := s.Read("y"); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if data, _, _, err := s.Read("z"); err != nil || string(data) != "sound" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestExpelNeedsRoom returns an error where there is no space to write files again, and changes
// nothing.
func TestExpelNeedsRoom(t *testing.T) {
	var asked int64
	full := false
	room := func(bytes int64) error {
		if asked = bytes; full {
			return disk.ErrNoRoom
		}
		return nil
	}
	s := mustOpen(t, Options{
		Dir: t.TempDir(), Room: room, MayCompact: func(int64) bool { return false },
	})
	var long []byte
	for n := range 1000 {
		long = fmt.Appendf(long, "%x", n*n*7919)
	}
	mustRun(t, s, 1, map[string]string{"x": "one", "y": string(long)})
	mustRun(t, s, 2, map[string]string{"x": "three"})
	full = true
	w, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	w.Expel(func(key string) bool { return key == "x" })
	if err := w.Commit(2); !disk.IsFull(err) || asked < int64(len(long))/4 {
		t.Errorf("%d bytes, %v", asked, err)
	}
	if got := contents(t, s); got["x"] != "three" || got["y"] != string(long) {
		t.Errorf("%v", got)
	}
	// Where it fits it need not leave the space that a compaction leaves.
	full = false
	if w, err = s.Begin(); err != nil {
		t.Fatal(err)
	}
	w.Expel(func(key string) bool { return key == "x" })
	if err := w.Commit(2); err != nil {
		t.Error(err)
	}
}
